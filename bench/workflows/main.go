// Workflows measures what a workflow costs: from a start to its result, a task of a chain, how many runs and
// tasks end in a second, large values from task to task, and how long a run stands still when a process is
// killed. Everything is durable: each system syncs to disk before it goes on, on the same disk.
//
// With --peers it measures the same of DBOS Transact (on PostgreSQL) and go-workflows (on SQLite), and says which
// of them are not to be had. These are a module of their own, bench/workflows/peers, so run it from the repository.
//
//	go run ./bench/workflows
//	go run ./bench/workflows --peers --parts start,chain,killed --out bench/results/workflows
//	go run ./bench/workflows --systems phalanx-3 --forgotten 10000
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx/bench/record"
	"github.com/phalanx-go/phalanx/bench/workflows/load"
)

// systems are those of this module. The number is how many nodes have a disk.
var systems = []string{"phalanx-1", "phalanx-1-effectless", "phalanx-3", "phalanx-3-effectless"}

func main() {
	log.SetFlags(0)
	if as := os.Getenv(workerVar); as != "" {
		if err := beWorker(as); err != nil {
			log.Fatal(err)
		}
		return
	}
	if text := os.Getenv(load.PointVar); text != "" {
		if err := measure(text); err != nil {
			log.Fatal(err)
		}
		return
	}
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	var names []string
	for _, p := range load.Parts {
		names = append(names, p.Name)
	}
	names = append(names, load.Killed)
	parts := flag.String("parts", strings.Join(names, ","), "parts to measure")
	which := flag.String("systems", strings.Join(systems, ","), "systems of this module to measure")
	withPeers := flag.Bool("peers", false, "measure other systems, too")
	lasts := flag.Duration("for", 10*time.Second, "about how long a part takes")
	rounds := flag.Int("rounds", 5, "kills of the part "+load.Killed)
	out := flag.String("out", "", "directory for results.json and table.md")
	forget := flag.Int("forgotten", 0, "measure instead what is left of so many runs, which have ended and were forgotten, of the first system")
	flag.Parse()
	chosen := strings.Split(*parts, ",")
	for _, c := range chosen {
		if !slices.Contains(names, c) {
			return fmt.Errorf("there is no part %q: %s", c, strings.Join(names, ", "))
		}
	}
	dir, err := os.MkdirTemp("", "phalanx-workflows")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if *forget > 0 {
		return measureForgotten(context.Background(), strings.Split(*which, ",")[0], dir, *forget)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r := newResult(chosen)
	for _, name := range strings.Split(*which, ",") {
		if !slices.Contains(systems, name) {
			return fmt.Errorf("there is no system %q: %s", name, strings.Join(systems, ", "))
		}
		r.add(system{name: name, program: self})
	}
	if *withPeers {
		program, err := buildPeers(dir)
		if err != nil {
			r.Missing = append(r.Missing, fmt.Sprint("all peers: ", err))
		} else {
			for _, name := range peers {
				r.add(system{name: name, program: program})
			}
		}
	}
	ctx := context.Background()
	for _, part := range chosen { // the systems one after the other, so that a busy minute meets all
		for _, s := range r.systems {
			if strings.HasSuffix(s.name, "-effectless") && (part == load.Killed || strings.HasPrefix(part, "pass")) {
				continue // its tasks are those of the other
			}
			p := load.Point{System: s.name, Part: part, Lasts: *lasts, Rounds: *rounds}
			if p.Dir, err = os.MkdirTemp(dir, s.name); err != nil {
				return err
			}
			p, err = s.measure(ctx, p)
			if err != nil {
				r.Missing = append(r.Missing, fmt.Sprintf("%s, %s: %v", s.name, part, err))
				continue
			}
			if err := os.RemoveAll(p.Dir); err != nil {
				return err
			}
			p.Dir = "" // is of no use to who reads the record
			r.Points = append(r.Points, p)
		}
	}
	fmt.Print(r.table())
	if *out != "" {
		return record.Write(*out, r, r.table())
	}
	return nil
}

// system is a program that measures one.
type system struct{ name, program string }

// enough is how long a point may take.
const enough = 20 * time.Minute

// measure measures p in a process of its own.
func (s system) measure(ctx context.Context, p load.Point) (load.Point, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return p, err
	}
	ctx, cancel := context.WithTimeout(ctx, enough)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program)
	cmd.Env = append(os.Environ(), load.PointVar+"="+string(text))
	said, err := cmd.Output()
	if err != nil {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return p, err
	}
	return p, json.Unmarshal(said, &p)
}

// measure is what the process of a point does.
func measure(text string) (err error) {
	var p load.Point
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	ctx := context.Background()
	c, err := open(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if p.Part == load.Killed {
		p.Samples, err = load.MeasureKilled(ctx, c, p.Dir, p.Rounds)
	} else {
		var part load.Part
		if part, err = load.Find(p.Part); err != nil {
			return err
		}
		p.Samples, err = load.Measure(ctx, c, part, p.Lasts)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(p)
}

// peers are the systems of the module bench/workflows/peers.
var peers = []string{"dbos", "go-workflows"}

// buildPeers builds the program that measures them.
func buildPeers(dir string) (string, error) {
	program := filepath.Join(dir, "peers")
	cmd := exec.Command("go", "build", "-o", program, ".")
	cmd.Dir = filepath.FromSlash("bench/workflows/peers")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build in %s: %w: %s", cmd.Dir, err, strings.TrimSpace(string(said)))
	}
	return program, nil
}
