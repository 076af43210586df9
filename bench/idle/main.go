// Idle measures from outside the cost of a cluster in which nothing happens: it runs
// `phalanx dev`, which makes each node a process, waits until the nodes have settled, and
// reads the share of a core and the context switches of each process.
//
//	go run ./bench/idle
//	go run ./bench/idle --nodes 16 --for 60s -o json
//	go run ./bench/idle --folders
//
// The time on a core and the switches come from /proc and count all threads of a process.
// No client asks a node for anything during the measurement.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"
)

type options struct {
	nodes          int
	settle, length time.Duration
	program        string
	json           bool
	folders        bool
}

func main() {
	log.SetFlags(0)
	o, err := flags(flag.CommandLine, os.Args[1:])
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := measure(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	if o.json {
		_ = json.NewEncoder(os.Stdout).Encode(r)
		return
	}
	fmt.Print(r)
}

func flags(f *flag.FlagSet, args []string) (o options, err error) {
	f.IntVar(&o.nodes, "nodes", 8, "processes, each a node")
	f.DurationVar(&o.length, "for", 15*time.Second, "how long to measure")
	f.DurationVar(&o.settle, "settle", 10*time.Second, "pause before that")
	f.StringVar(&o.program, "program", "", "a compiled phalanx (default: compile this one)")
	f.BoolVar(&o.folders, "folders", false, "each node keeps runs of workflows in a folder")
	output := f.String("o", "text", "how to print: text or json")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.json = *output == "json"
	switch {
	case *output != "text" && *output != "json":
		return o, fmt.Errorf("-o %s: must be text or json", *output)
	case o.nodes < 1 || o.nodes > 256 || o.settle < 0:
		return o, errors.New("--nodes must be 1 to 256, and --settle not negative")
	case o.length < time.Second:
		return o, errors.New("--for must be a second or more")
	}
	return o, nil
}
