// Pipeline trains a classifier of handwritten digits as a workflow: ingest, augment anew for each epoch, train by eight
// actors, publish the model (thesis on Hoplite and ExoFlow, sections 3.2 and 3.5.1, figures 3.2d, 3.4b and 3.6).
//
// It compares what is saved: each output, before anybody reads it (SyncCkpt); each output, meanwhile (AsyncCkpt); all but
// the augmented data (Selective); nothing but the result (NoCkpt). And it brings about the five failures of the thesis by
// SIGKILL: the whole cluster fails; the ingested data is lost from memory; a process with actors dies; a process that augments
// dies; augmented data is lost from memory.
//
// The training is elastic: an epoch goes on with the actors that are left, and the next one has eight again. In the end
// each model has made each step once, and was published once.
//
// Nodes do not move ActorRefs yet, so the state of the training goes between tasks as an array, and each task that trains
// starts its actors.
package main

import (
	"context"
	"flag"
	"os"

	"github.com/phalanx-go/phalanx/examples/internal/example"
	"github.com/phalanx-go/phalanx/examples/internal/workers"
	"github.com/phalanx-go/phalanx/workflow"
)

// options say what to do.
type options struct {
	job    job
	epochs int
	faulty []string // modes in which faults are brought about
	wanted float64  // accuracy
	dir    string   // for folders of the nodes
}

// child is the program as one of its workers.
func child() {
	example.Child("pipeline", workers.Is(), func() error {
		return workers.BeWith(func(o outside, self *workers.Self) *workflow.Registry { return o.program(self).tasks() }, kinds())
	})
}

func main() {
	child()
	o := options{wanted: 0.85, faulty: []string{"SyncCkpt", "AsyncCkpt", "Selective", "NoCkpt"}}
	flag.IntVar(&o.epochs, "epochs", 10, "how many epochs")
	flag.IntVar(&o.job.Rounds, "rounds", 5, "steps in an epoch")
	flag.IntVar(&o.job.Hidden, "hidden", 300, "units of the classifier")
	flag.IntVar(&o.job.Copies, "copies", 2, "of the data set")
	quick := flag.Bool("quick", false, "a smaller classifier, fewer steps, and faults in one mode only")
	flag.Parse()
	if *quick {
		o.epochs, o.wanted, o.faulty = 3, 0.5, []string{"Selective"}
		o.job = job{Rounds: 4, Hidden: 100, Copies: 1}
	}
	example.Main("pipeline", "", func(ctx context.Context, dir string) error {
		o.dir = dir
		return run(ctx, os.Stdout, o)
	})
}
