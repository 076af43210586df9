package reduce_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// TestLossesWhileFinalising checks that what is lost between the root's end and the
// owner's answer is not forgotten. If the target does not become final, the Reduce goes
// on without the places that have ended, and ends well.
func TestLossesWhileFinalising(t *testing.T) {
	lost := func(r reduce.Reason) func(*world, reduce.PlaceInfo) reduce.Event {
		return func(w *world, p reduce.PlaceInfo) reduce.Event {
			delete(w.node(p.Node).places, p.Place)
			return reduce.PlaceLost{Place: p.Place, Gen: p.Gen, Reason: r}
		}
	}
	cases := map[string]func(*world, reduce.PlaceInfo) reduce.Event{
		"panic":       lost(reduce.LostPanic),
		"source lost": lost(reduce.LostSource),
		"suspected": func(_ *world, p reduce.PlaceInfo) reduce.Event {
			return reduce.NodeGone{Node: p.Node}
		},
		"down": func(w *world, p reduce.PlaceInfo) reduce.Event {
			w.kill(w.node(p.Node))
			return reduce.NodeGone{Node: p.Node, Down: true}
		},
		"deleted": func(w *world, p reduce.PlaceInfo) reduce.Event {
			o := w.src[p.Source]
			o.holders, o.gone, o.was = nil, phalanx.ErrDeleted, o.gen
			return reduce.SourceGone{Source: o.id, Gen: o.gen, Kind: phalanx.ErrDeleted}
		},
	}
	for name, lose := range cases {
		for _, ring := range []bool{false, true} {
			for pos := range 4 {
				w := finalising(t, ring)
				p := w.c.Places()[pos]
				w.step(lose(w, p))
				if name == "down" { // it comes again elsewhere
					w.src[p.Source].holders = []phalanx.NodeID{"N9"}
					w.push(w.announcements(w.src[p.Source])[0])
				}
				root := w.c.Places()[0]
				delete(w.node(root.Node).places, 0)
				w.rootGone = true // so the owner hears, before the coordinator does
				for w.c.Finalising() {
					w.deliver()
				}
				if q := w.c.Places(); len(q) > 0 && q[pos].State == "live" && q[pos].Since == p.Since {
					t.Errorf("%s of place %d, in a ring: %v: it counts as one that runs", name, pos, ring)
				}
				w.heal()
				if failed, is := w.answer.(reduce.Fail); ring && name == "deleted" && is && failed.Err.Kind == phalanx.ErrDeleted {
					continue // all sources are needed
				}
				res, ok := w.answer.(reduce.Result)
				if !ok {
					t.Errorf("%s of place %d, in a ring: %v: the answer is %v\n%s", name, pos, ring, w.answer, w.values())
					continue
				}
				want := int64(0)
				for _, id := range res.In {
					want += w.src[id].value
				}
				if got := sumOf(res.Digest); got != want {
					t.Errorf("%s of place %d, in a ring: %v: the result of %v is %x, want %x", name, pos, ring, res.In, got, want)
				}
			}
		}
	}
}

// finalising returns a Reduce of four sources, a spare one unless it is a ring, whose
// Finalise is on its way.
func finalising(t *testing.T, ring bool) *world {
	t.Helper()
	cfg := reduce.Config{Target: "T", Num: 4, Op: phalanx.Sum, Node: "C", Attempt: 1, Degree: 2}
	size := int64(4096)
	for i := range 5 {
		cfg.Sources = append(cfg.Sources, phalanx.ObjectID(fmt.Sprintf("R%d", i+1)))
	}
	if ring {
		cfg.Sources, cfg.Shared, cfg.Degree, size = cfg.Sources[:4], true, 0, 4*reduce.RingGrain
		cfg.Latency, cfg.Bandwidth = 100*time.Microsecond, 1e9
	}
	w := newWorld(t, cfg)
	w.step(reduce.Start{})
	w.pump()
	for i, id := range cfg.Sources {
		n := phalanx.NodeID(fmt.Sprintf("N%d", i+1))
		o := &object{id: id, value: 1 << (4 * i), size: size, gen: gen(1), holders: []phalanx.NodeID{n}, whole: true, final: true}
		w.src[id] = o
		w.step(reduce.Joined{Node: n, Has: w.announcements(o)})
	}
	for w.stream(); !w.c.Finalising(); {
		if !w.deliver() {
			t.Fatalf("it does not become final, in a ring: %v: %v\n%s", ring, w.answer, w.values())
		}
	}
	if w.c.Places()[0].Ring != ring {
		t.Fatalf("a ring: %v", !ring)
	}
	return w
}

// heal delivers all messages until there is an answer.
func (w *world) heal() {
	for range 100 {
		w.stream()
		w.pump()
		if w.answer != nil {
			return
		}
		w.now += 300 * time.Millisecond
		w.step(reduce.Tick{Now: w.now})
		for _, r := range w.runs() {
			w.place(r, reduce.PlaceTick{Now: w.now})
		}
	}
}
