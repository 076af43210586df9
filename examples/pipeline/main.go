// Pipeline trains a classifier of handwritten digits as a workflow: ingest, augment anew for each epoch, train by eight
// actors, publish the model (thesis on Hoplite and ExoFlow, sections 3.2 and 3.5.1, figures 3.2d, 3.4b and 3.6).
//
// It compares what is saved: each output, before anybody reads it (SyncCkpt); each output, meanwhile (AsyncCkpt); all but
// the augmented data (Selective); nothing but the result (NoCkpt). And it brings about the five failures of the thesis by
// SIGKILL: the whole cluster fails; the ingested data is lost from memory; a process with actors dies; a process that augments
// dies; augmented data is lost from memory.
//
// The actors go from epoch to epoch as []ActorRef, on whatever node they live. The training is elastic: in an epoch they are a group;
// when some die the others shrink it and go on, and the next epoch has eight again. In the end all have the same model, each model has
// made each step once, and was published once.
package main

import (
	"context"
	"flag"
	"os"

	"github.com/phalanx-go/phalanx/examples/internal/example"
	"github.com/phalanx-go/phalanx/examples/internal/workers"
	"github.com/phalanx-go/phalanx/group"
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
		return workers.BeWith(func(o outside, name string) (*workflow.Registry, *workflow.ActorKinds) {
			p := o.program(name)
			return p.tasks(), workflow.Actors(p.trainers)
		}, group.Service())
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
