// Etl runs an ETL workflow on worker processes: one task makes 64 MB of rows, and 1 to 50 others each read them all
// (thesis on Hoplite and ExoFlow, sections 3.2 and B.3, figures 3.2b and B.2b).
//
// By Ref, the rows are an object in the store, which consumers read where it is: those on one node share its memory, and
// nothing is saved, as the producer is deterministic. By value, as in workflow systems of today, the rows are an output,
// which is saved on disks before the consumers begin, and each gets a copy of its own. A table shows how long
// that takes, how much goes over the network, and how much is copied.
//
// Then one consumer kills its process with SIGKILL, half of the rows read, and the run goes on. Each result is compared
// with one that this process computes by itself.
package main

import (
	"context"
	"flag"
	"os"

	"github.com/phalanx-go/phalanx/examples/internal/example"
	"github.com/phalanx-go/phalanx/examples/internal/workers"
)

// options say what to do.
type options struct {
	workers   int
	megabytes int
	consumers []int  // how many, one run after the other
	runs      int    // of each; the table has the median
	dir       string // for folders of workers
}

// child is the program as one of its workers.
func child() {
	example.Child("etl", workers.Is(), func() error { return workers.Be(outside.tasks) })
}

func main() {
	child()
	o := options{consumers: []int{1, 2, 5, 10, 20, 50}}
	flag.IntVar(&o.workers, "workers", 4, "how many worker processes; three of them have folders")
	flag.IntVar(&o.megabytes, "mb", 64, "how many MB the producer makes")
	flag.IntVar(&o.runs, "runs", 3, "runs of each size; the table has the median")
	quick := flag.Bool("quick", false, "fewer MB, consumers and runs")
	flag.Parse()
	if *quick {
		o.megabytes, o.runs, o.consumers = 8, 1, []int{1, 10}
	}
	example.Main("etl", "", func(ctx context.Context, dir string) error {
		o.dir = dir
		return run(ctx, os.Stdout, o)
	})
}
