// Reservation books trips: a hotel, a flight and a car, all or none, as transactions on a store with two-phase locking
// (thesis on Hoplite and ExoFlow, sections 3.2 and 3.5.2, figures 3.3 and 3.4a). The store is a process of its own, outside of
// the cluster.
//
// It shows the stages of figure 3.7b, in which the workflow says more and more of what its tasks promise: each
// task is called by the one before and logged (WAL); the graph is known from the start (-WAL); its branches run at once
// (+parallel); lock and reserve are apart, and the lock has an undo, with checkpoints that consumers wait for (-async), and with
// checkpoints that are made meanwhile (+async).
//
// Each stage runs in peace first, and then while every tenth attempt kills its process with SIGKILL, before or after it
// has taken effect. In the end the books balance: what the store has is what the clients were told, once, and
// no lock is left.
package main

import (
	"context"
	"flag"
	"os"

	"github.com/phalanx-go/phalanx/examples/internal/example"
	"github.com/phalanx-go/phalanx/examples/internal/workers"
	"github.com/phalanx-go/phalanx/internal/reservation"
)

// options say what to do.
type options struct {
	workers int
	clients int
	trips   int // in each stage, in peace
	killed  int // and while attempts are killed
	seats   int // of each hotel, flight and car
	every   int // the how manieth attempt kills its process
	seed    uint64
	dir     string // for folders of the nodes
}

// child is the program as one of its other processes.
func child() {
	example.Child("reservation store", isStore(), func() error { return beStore(os.Getenv(storeVar)) })
	example.Child("reservation", workers.Is(), func() error { return workers.Be(reservation.Outside.Tasks) })
}

func main() {
	child()
	o := options{}
	flag.IntVar(&o.workers, "workers", 3, "how many worker processes")
	flag.IntVar(&o.clients, "clients", 3, "how many clients book trips at once")
	flag.IntVar(&o.trips, "trips", 100, "trips in each stage")
	flag.IntVar(&o.killed, "killed", 20, "further trips in each stage, while attempts are killed")
	flag.IntVar(&o.seats, "seats", 150, "of each hotel, flight and car")
	flag.IntVar(&o.every, "every", 10, "each attempt of that number kills its process")
	flag.Uint64Var(&o.seed, "seed", 1, "of the trips")
	quick := flag.Bool("quick", false, "fewer trips")
	flag.Parse()
	if *quick {
		o.trips, o.killed, o.seats = 10, 3, 17
	}
	example.Main("reservation", "", func(ctx context.Context, dir string) error {
		o.dir = dir
		return run(ctx, os.Stdout, o)
	})
}
