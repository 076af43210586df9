// Detect measures, between real processes, how long it takes from the failure of
// a node until it is out of the view of all others: killed (SIGKILL) or hung
// (SIGSTOP), a plain member, a voter, or the leader of the voters.
//
//	go run ./bench/detect --trials 100 --fault kill --victim leader --load
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
	load          bool
	settle        time.Duration
}

func main() {
	var o options
	flag.IntVar(&o.nodes, "nodes", 5, "processes")
	flag.IntVar(&o.trials, "trials", 100, "failures")
	flag.StringVar(&o.fault, "fault", "kill", "kill (SIGKILL) or stop (SIGSTOP)")
	flag.StringVar(&o.victim, "victim", "member", "member, voter or leader")
	flag.BoolVar(&o.load, "load", false, "keep two more processes than there are cores busy")
	flag.DurationVar(&o.settle, "settle", 300*time.Millisecond, "pause before each failure")
	asJSON := flag.Bool("json", false, "print one JSON object")
	seed := flag.String("node", "", "be a node, started by the benchmark")
	first := flag.Bool("first", false, "be the first node")
	flag.Parse()
	if *seed != "" || *first {
		if err := runNode(*seed); err != nil {
			log.Fatal(err)
		}
		return
	}
	r, err := measure(o)
	if err != nil {
		log.Fatal(err)
	}
	if *asJSON {
		_ = json.NewEncoder(os.Stdout).Encode(r)
		return
	}
	fmt.Println(r)
}

// result is what is printed; times in milliseconds.
type result struct {
	Fault   string  `json:"fault"`
	Victim  string  `json:"victim"`
	Load    bool    `json:"load"`
	Nodes   int     `json:"nodes"`
	Trials  int     `json:"trials"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	Max     float64 `json:"max_ms"`
	Suspect float64 `json:"suspected_p50_ms"` // by the first
	False   int     `json:"false_down"`       // nodes that were removed and had not failed
}

func (r result) String() string {
	load := "idle"
	if r.Load {
		load = "loaded"
	}
	return fmt.Sprintf("%s of a %s among %d, %s: out of all views after p50 %.1f, p99 %.1f, max %.1f ms (%d trials; first suspicion p50 %.1f ms; %d others removed)",
		r.Fault, r.Victim, r.Nodes, load, r.P50, r.P99, r.Max, r.Trials, r.Suspect, r.False)
}

func quantile(all []time.Duration, q float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return float64(all[min(int(q*float64(len(all))), len(all)-1)]) / 1e6
}
