// Detect measures, between real processes, how long it takes from the failure of a
// node until all others have removed it from their views. The node is killed
// (SIGKILL) or hung (SIGSTOP), cut off (the network drops its packets) or refused
// (the network answers them with a reset). It is a plain member, a voter, or the
// leader of the voters.
//
//	go run ./bench/detect --trials 100 --fault kill --victim leader --load
//	go run ./bench/detect --trials 100 --fault cut --bed
//	go run ./bench/detect --fault none --for 10m --busy 2
//
// With --fault none it counts the nodes that are removed although none has failed.
// With --bed each process has a host of its own, a network namespace, which needs
// root.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"time"
)

type options struct {
	nodes, trials int
	fault, victim string
	load, bed     bool
	busy          int
	settle        time.Duration
	length        time.Duration
}

func main() {
	var o options
	flag.IntVar(&o.nodes, "nodes", 5, "processes")
	flag.IntVar(&o.trials, "trials", 100, "failures")
	flag.StringVar(&o.fault, "fault", "kill", "kill (SIGKILL), stop (SIGSTOP) or none; with --bed also cut (packets dropped) or reset (refused)")
	flag.StringVar(&o.victim, "victim", "member", "member, voter or leader")
	flag.BoolVar(&o.load, "load", false, "keep all cores busy: --busy 1")
	flag.IntVar(&o.busy, "busy", 0, "processes for each core that keep it busy")
	flag.DurationVar(&o.length, "for", 10*time.Minute, "how long to watch with --fault none")
	flag.DurationVar(&o.settle, "settle", 300*time.Millisecond, "pause before each failure")
	flag.BoolVar(&o.bed, "bed", false, "put each process into a network namespace")
	asJSON := flag.Bool("json", false, "print one JSON object")
	seed := flag.String("node", "", "be a node, started by the benchmark")
	first := flag.Bool("first", false, "be the first node")
	bind := flag.String("bind", "127.0.0.1", "address of the node")
	flag.Parse()
	if *seed != "" || *first {
		if err := runNode(*bind, *seed); err != nil {
			log.Fatal(err)
		}
		return
	}
	if err := o.validate(); err != nil {
		log.Fatal(err)
	}
	if o.load {
		o.busy = max(o.busy, 1)
	}
	var r fmt.Stringer
	var err error
	if o.fault == "none" {
		r, err = watch(o)
	} else {
		r, err = measure(o)
	}
	if err != nil {
		log.Fatal(err)
	}
	if *asJSON {
		_ = json.NewEncoder(os.Stdout).Encode(r)
		return
	}
	fmt.Println(r)
}

func (o options) validate() error {
	switch {
	case !slices.Contains([]string{"kill", "stop", "cut", "reset", "none"}, o.fault):
		return fmt.Errorf("there is no fault %q", o.fault)
	case !slices.Contains([]string{"member", "voter", "leader"}, o.victim):
		return fmt.Errorf("there is no victim %q", o.victim)
	case !o.bed && (o.fault == "cut" || o.fault == "reset"):
		return fmt.Errorf("--fault %s needs --bed", o.fault)
	}
	return nil
}

// result is the output; times in milliseconds.
type result struct {
	Fault   string  `json:"fault"`
	Victim  string  `json:"victim"`
	Busy    int     `json:"busy_per_core"`
	Bed     bool    `json:"bed"`
	Nodes   int     `json:"nodes"`
	Trials  int     `json:"trials"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	Max     float64 `json:"max_ms"`
	Stolen  int     `json:"stolen_trials"`    // in which more than a tenth of the cores' time was stolen
	Own99   float64 `json:"own_p99_ms"`       // of the other trials
	Suspect float64 `json:"suspected_p50_ms"` // until the first node suspects the victim
	False   int     `json:"false_down"`       // nodes that were removed and had not failed
}

func (r result) String() string {
	load := "idle"
	if r.Busy > 0 {
		load = fmt.Sprintf("%d busy processes on each core", r.Busy)
	}
	if r.Bed {
		load += ", on a bed"
	}
	out := fmt.Sprintf("%s of a %s among %d, %s: out of all views after p50 %.1f, p99 %.1f, max %.1f ms (%d trials; first suspicion p50 %.1f ms; %d others removed)",
		r.Fault, r.Victim, r.Nodes, load, r.P50, r.P99, r.Max, r.Trials, r.Suspect, r.False)
	if r.Stolen > 0 {
		out += fmt.Sprintf("\nin %d trials the host took more than a tenth of the cores' time for others; p99 of the rest is %.1f ms", r.Stolen, r.Own99)
	}
	return out
}

func quantile(all []time.Duration, q float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return float64(all[min(int(q*float64(len(all))), len(all)-1)]) / 1e6
}
