// Hashdag runs a workflow of 100 tasks on worker processes, of which every fourth attempt of a task kills its own.
// Each task hashes what the tasks before it have made, and has an effect outside of the cluster: it creates a
// file. Dead workers are started again over their folders. In the end the hash is that of a plain run in
// one process, and each effect is there once.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/phalanx-go/phalanx/examples/internal/example"
	"github.com/phalanx-go/phalanx/examples/internal/workers"
)

// options say what to do.
type options struct {
	tasks   int
	workers int
	every   int    // the how manieth attempt kills its process; 0: none does
	seed    uint64 // of the graph
	dir     string // has the workers' folders and the effects
}

// child is the program as one of its workers.
func child() {
	example.Child("hashdag", workers.Is(), func() error { return workers.Be(tasks) })
}

func main() {
	child()
	o := options{}
	flag.IntVar(&o.tasks, "tasks", 100, "how many tasks")
	flag.IntVar(&o.workers, "workers", 5, "how many worker processes; three of them have folders")
	flag.IntVar(&o.every, "every", 4, "each attempt of that number kills its process; 0: none does")
	flag.Uint64Var(&o.seed, "seed", 1, "of the graph")
	flag.StringVar(&o.dir, "dir", "", "for the workers' folders (default: a temporary one)")
	quick := flag.Bool("quick", false, "fewer tasks")
	output := flag.String("o", "text", "how to print: text or json")
	flag.Parse()
	if *output != "text" && *output != "json" {
		fmt.Fprintf(os.Stderr, "hashdag: -o %s: it prints text or json\n", *output)
		os.Exit(2)
	}
	if *quick {
		o.tasks = 20
	}
	example.Main("hashdag", o.dir, func(ctx context.Context, dir string) error {
		o.dir = dir
		if *output == "text" {
			_, err := run(ctx, os.Stdout, o)
			return err
		}
		r, err := run(ctx, io.Discard, o)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(r)
	})
}
