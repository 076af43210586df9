package group_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/protocol/group"
)

// BenchmarkRevoke says how long it takes from a Revoke until the last member has left
// its call, and how many messages between members that took, next to the table of group
// specification 1. There are 8 processes; "dead" with as many killed, unnoticed, as the nodes'
// graph bears.
func BenchmarkRevoke(b *testing.B) {
	for _, n := range []int{8, 100, 1000} {
		b.Run(fmt.Sprintf("members=%d", n), func(b *testing.B) {
			processes := launch(b, 8)
			var took []time.Duration
			sent := 0
			for i := range b.N {
				name := fmt.Sprint("g", i)
				took = append(took, revoke(b, processes, processes, name, n, nil))
				processes[0].Tell(b, order{Do: "look", Group: name})
				sent += processes[0].await(b).Sent
			}
			metrics(b, took)
			b.ReportMetric(float64(sent)/float64(b.N), "messages")
			b.ReportMetric(float64(group.WaveMessages(n)), "messages-table")
		})
	}
	b.Run("members=8/dead", func(b *testing.B) {
		var took []time.Duration
		for range b.N {
			processes := launch(b, 8)
			dead := group.Neighbours(7, 8)[:group.Degree(8)-1]
			var live []*process
			for i, p := range processes {
				if !slices.Contains(dead, i) {
					live = append(live, p)
				}
			}
			took = append(took, revoke(b, processes, live, "g", 8, func() {
				for _, i := range dead {
					_ = processes[i].Kill()
				}
			}))
			for _, p := range live {
				_ = p.Kill()
			}
		}
		metrics(b, took)
	})
}

// revoke has members wait in a group, and the last live process revoke it.
func revoke(b *testing.B, processes, live []*process, name string, n int, before func()) time.Duration {
	b.Helper()
	all(b, processes, order{Do: "form", Group: name, Members: members(processes, n)})
	waitIn(b, live, name)
	if before != nil {
		before()
	}
	last := live[len(live)-1]
	last.Tell(b, order{Do: "revoke", Group: name})
	var began, end int64
	for _, p := range live {
		reports := []report{p.await(b)}
		if p == last {
			reports = append(reports, p.await(b))
		}
		for _, r := range reports {
			if len(r.Kinds) == 0 {
				began = r.At
			} else {
				end = max(end, r.At)
			}
		}
	}
	return time.Duration(end - began)
}

func metrics(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-p50")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms-longest")
}

// BenchmarkPlans is the benchmark of the paper: how long the first, second and third
// AllReduce after a revoke take, in another group, against undisturbed ones. Medians
// of the slowest member.
func BenchmarkPlans(b *testing.B) {
	for _, size := range []int{64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			processes := launch(b, 8)
			const rounds = 12
			var undisturbed, last []float64
			after := make([][]float64, 3)
			for i := range b.N {
				reports := runPlans(b, processes, rounds, size, fmt.Sprint(i))
				slowest := func(f func(report) time.Duration) float64 {
					worst := time.Duration(0)
					for _, r := range reports {
						worst = max(worst, f(r))
					}
					return float64(worst.Microseconds()) / 1000
				}
				for k := 4; k < rounds-2; k++ { // of plan A; the first ones open connections
					undisturbed = append(undisturbed, slowest(func(r report) time.Duration { return r.A[min(k, len(r.A)-1)] }))
				}
				last = append(last, slowest(func(r report) time.Duration { return r.A[len(r.A)-1] }))
				for k := range after {
					after[k] = append(after[k], slowest(func(r report) time.Duration { return r.B[k] }))
				}
			}
			median := func(all []float64) float64 { slices.Sort(all); return all[len(all)/2] }
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(undisturbed), "ms-undisturbed")
			b.ReportMetric(undisturbed[len(undisturbed)/4], "ms-undisturbed-p25")
			b.ReportMetric(undisturbed[len(undisturbed)*3/4], "ms-undisturbed-p75")
			b.ReportMetric(median(last), "ms-revoked")
			for k, name := range []string{"first", "second", "third"} {
				b.ReportMetric(median(after[k]), "ms-"+name)
			}
		})
	}
}
