package faults

import (
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
)

// The benchmarks measure how long recovery takes once a failure was noticed.
// Each trial is one failure:
//
//	go test ./internal/faults -run - -bench . -benchtime 100x -timeout 60m

// report gives what was measured as quantiles, in milliseconds.
func report(b *testing.B, all []time.Duration) {
	slices.Sort(all)
	at := func(q float64) float64 { return float64(all[min(int(q*float64(len(all))), len(all)-1)]) / 1e6 }
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
	b.ReportMetric(at(1), "max-ms")
	b.ReportMetric(0, "ns/op") // says nothing
}

// rounds runs trials on one cluster, whose nodes are whole again before each.
func rounds(b *testing.B, trial func(f fault, nodes []*process) (time.Duration, *process)) {
	for _, f := range faults() {
		if f.fate == kept || !f.mute {
			continue
		}
		b.Run(f.name, func(b *testing.B) {
			nodes := start(b, 6)
			b.Cleanup(func() { do(b, shared.HealAll()) })
			var all []time.Duration
			for b.Loop() {
				took, victim := trial(f, nodes)
				all = append(all, took)
				if f.fate == gone {
					i := slices.Index(nodes, victim)
					seeds := seed(b, nodes[(i+1)%len(nodes)])
					nodes[i] = launch(b, victim.host, victim.name, seeds)
					up(b, nodes[i])
				}
				settle(b, nodes)
				for _, p := range nodes { // who fails next is another
					p.forget()
				}
			}
			report(b, all)
		})
	}
}

// BenchmarkResume measures from the loss of a sender until another is found, and
// bytes flow again.
func BenchmarkResume(b *testing.B) {
	rounds(b, func(f fault, nodes []*process) (time.Duration, *process) {
		id, origin := fresh("broadcast"), nodes[1]
		must(b, tell(origin, order{Do: "put", Object: id, Size: large}))
		gets := map[*process]call{}
		for _, p := range without(nodes, origin) {
			gets[p] = tell(p, order{Do: "get", Object: id, Size: large})
		}
		victim, below := middle(b, nodes, without(nodes, origin), origin, id)
		was := victim.id(b)
		f.strike(b, victim)
		expect(b, below, func(e actors.SenderLost) bool { return e.Object == id && e.Sender == was })
		resumed := expect(b, below, func(e actors.TransferResumed) bool { return e.Object == id && e.Sender != was })
		for p, get := range gets {
			if p != victim {
				must(b, get)
			}
		}
		f.ends(b, nodes, victim, was)
		must(b, tell(origin, order{Do: "delete", Object: id}))
		return resumed.Took, victim
	})
}

// BenchmarkOwner measures how long a Put and a Get wait whose owner has just failed,
// from the failure on, so with its detection.
func BenchmarkOwner(b *testing.B) {
	rounds(b, func(f fault, nodes []*process) (time.Duration, *process) {
		id := fresh("owned")
		victim, _ := replicas(b, nodes, id)
		for victim == nodes[0] { // which asks
			id = fresh("owned")
			victim, _ = replicas(b, nodes, id)
		}
		asker := nodes[0]
		was := victim.id(b)
		f.strike(b, victim)
		began := time.Now()
		must(b, tell(asker, order{Do: "put", Object: id, Size: 1 << 10}))
		must(b, tell(without(without(nodes, victim), asker)[0], order{Do: "get", Object: id, Size: 1 << 10}))
		took := time.Since(began)
		f.ends(b, nodes, victim, was)
		must(b, tell(asker, order{Do: "delete", Object: id}))
		return took, victim
	})
}

// BenchmarkReplace measures from the loss of a place of a reduce until another
// node has it, and its repair has begun.
func BenchmarkReplace(b *testing.B) {
	rounds(b, func(f fault, nodes []*process) (time.Duration, *process) {
		before := states(b, nodes)
		id, asks := fresh("reduce"), nodes[0]
		ids := sources(id, nodes)
		var puts []call
		for i, p := range nodes {
			puts = append(puts, tell(p, order{Do: "put", Object: ids[len(ids)-1-i], Size: large}))
		}
		must(b, puts...)
		reduce := tell(asks, order{Do: "reduce", Object: id, Sources: ids, Num: len(nodes) - 1, Degree: 2})
		tree := whole(b, asks, id, len(nodes)-1)
		victim, top := leaf.with(b, nodes, tree), root.with(b, nodes, tree)
		growing(b, top, before[slices.Index(nodes, top)])
		was := victim.id(b)
		f.strike(b, victim)
		lost := expect(b, asks, func(e actors.PlaceLost) bool { return e.Target == id && e.Node == was })
		replaced := expect(b, asks, func(e actors.PlaceReplaced) bool { return e.Target == id && e.Place == lost.Place })
		must(b, reduce)
		f.ends(b, nodes, victim, was)
		for _, id := range append([]phalanx.ObjectID{id}, ids...) {
			must(b, tell(asks, order{Do: "delete", Object: id}))
		}
		return replaced.Took, victim
	})
}
