package barrier_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/children/nodes"
)

// BenchmarkTwoBarriers has participants on 8 processes pass two barriers in a row:
// from when the last one has passed the first until all have passed the third, as
// each starts when all have passed the one before.
//
//	ms/two           for two barriers
//	messages/primary that the barriers' primary gets for each barrier
//	messages/backup  the most that any other member gets
func BenchmarkTwoBarriers(b *testing.B) {
	for _, participants := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(participants), func(b *testing.B) {
			all := launch(b, 8)
			n := observer(b, all)
			cfg := barrier.Config{Max: participants}
			rounds := 2*b.N + 1
			name := managedByAProcess(b, n, all, "bench")
			turns(b, all, name+"/warm", cfg, participants, 3)
			name = managedByAProcess(b, n, all, "bench/again")
			before := letters(b, n, all)
			b.ResetTimer()
			took := turns(b, all, name, cfg, participants, rounds)
			b.StopTimer()
			primary := barrier.ManagersOf(n.View(), name)[0]
			after := letters(b, n, all)
			most := 0.0
			for i, p := range all {
				each := float64(after[i]-before[i]) / float64(rounds)
				if p.ID == primary {
					b.ReportMetric(each, "messages/primary")
				} else {
					most = max(most, each)
				}
			}
			b.ReportMetric(most, "messages/backup")
			b.ReportMetric(took.Seconds()*1e3/float64(b.N), "ms/two")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// turns has participants pass so many generations, and returns how long it took from
// the end of the first until the end of the last.
func turns(b *testing.B, all []*process, name string, cfg barrier.Config, participants, rounds int) time.Duration {
	b.Helper()
	hosts := names(participants)
	for i, p := range all {
		p.Tell(b, order{Name: name, Config: cfg, Rounds: rounds, Hosts: hosts[len(hosts)*i/len(all) : len(hosts)*(i+1)/len(all)]})
	}
	first, last := int64(0), int64(0)
	for _, p := range all {
		r := p.Await(b)
		if r.Err != "" || r.Late > 0 {
			b.Fatalf("%s: %d late, %s", p.ID, r.Late, r.Err)
		}
		first, last = max(first, slices.Max(r.First)), max(last, slices.Max(r.Passed))
	}
	return time.Duration(last - first)
}

func letters(b *testing.B, n *cluster.Node, all []*process) []uint64 {
	b.Helper()
	var counts []uint64
	for _, p := range all {
		k, err := barrier.Letters(within(b), n, p.ID)
		if err != nil {
			b.Fatal(err)
		}
		counts = append(counts, k)
	}
	return counts
}

// BenchmarkFailover kills the primary (SIGKILL) of a barrier in which all but one
// have entered, and lets the last one enter at once: until all have passed. The
// killed process is replaced before the next time.
func BenchmarkFailover(b *testing.B) {
	all := launch(b, 6)
	n := observer(b, all)
	cfg := barrier.Config{Max: 20}
	var took []time.Duration
	for i := range b.N {
		name := managedByAProcess(b, n, all, fmt.Sprint("failover/", i))
		primary := primaryOf(b, n, all, name, cfg)
		others := slices.DeleteFunc(slices.Clone(all), func(p *process) bool { return p == primary })
		for k, p := range others {
			p.Tell(b, order{Name: name, Config: cfg, Hosts: names(20)[k*19/len(others) : (k+1)*19/len(others)]})
		}
		managed(b, n, name, 19)
		began := time.Now()
		if err := primary.Kill(); err != nil {
			b.Fatal(err)
		}
		if _, err := open(b, n, name, cfg).Enter(within(b), barrier.Entry{Host: "last"}); err != nil {
			b.Fatal(err)
		}
		last := time.Now().UnixNano()
		for _, p := range others {
			r := p.Await(b)
			if r.Err != "" || r.Late > 0 {
				b.Fatalf("%s: %+v", p.ID, r)
			}
			last = max(last, slices.Max(r.Passed))
		}
		took = append(took, time.Duration(last-began.UnixNano()))
		all = append(others, nodes.Join[order, report](b, fmt.Sprint("q", i), n.ControlAddr()))
		eventually(b, "the new one is a member", func() bool { return len(n.View().Members) == len(all)+1 })
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds()*1e3, "ms/p50")
	b.ReportMetric(took[len(took)-1].Seconds()*1e3, "ms/max")
	b.ReportMetric(0, "ns/op")
}
