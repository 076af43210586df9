package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/phalanx-go/phalanx"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

const (
	maxRing   = 4 // nodes in an AllReduce
	ringGrain = 2 // bytes of a shard, at least
)

// ringSourceID names the array of the k-th node in the i-th AllReduce.
func ringSourceID(i, k int) phalanx.ObjectID { return phalanx.ObjectID(fmt.Sprintf("s%d%d", 1+i, k)) }

// allReduce has some nodes put an array each and ask for the sum of all arrays.
func (w *world) allReduce(r *rand.Rand, i int) string {
	var on []*node
	for _, n := range w.alive() {
		if n.view.Has(n.id) && !n.host.hung && len(on) < maxRing {
			on = append(on, n)
		}
	}
	if len(on) < 2 {
		return "no node calls"
	}
	w.met["allreduce"]++
	cfg := reduce.Config{Target: targetID(targets + i), Op: phalanx.Sum, Shared: true, Num: len(on), Degree: []int{0, 0, 0, 2}[r.IntN(4)]}
	for k := range on {
		cfg.Sources = append(cfg.Sources, ringSourceID(i, k))
	}
	apart := []time.Duration{0, 5 * time.Millisecond, 500 * time.Millisecond}[r.IntN(3)]
	for k, n := range on {
		n.after(drawn(r, apart), func() {
			put := w.put(n, ringSourceID(i, k), putPlan{bytes: w.bytesOf(ringSourceID(i, k), 0), copies: 1, failAt: -1})
			w.bound(put, patience, phalanx.ErrDeadline)
			w.when(n, patience, func() bool { return put.ended }, func() {
				if put.err == nil && !put.gone {
					w.oneOfAll(n, cfg)
				}
			})
			w.step(n, "allreduce")
		})
	}
	return fmt.Sprintf("allreduce %s by %d nodes within %v", cfg.Target, len(on), apart)
}

// oneOfAll is the call of one node, which gets the target while it is made.
func (w *world) oneOfAll(n *node, cfg reduce.Config) {
	cfg.InlineLimit, cfg.Grain = w.shape.inline, ringGrain
	part, ring := rnode.PartOf(cfg, n.reduces.Whole)
	cfg.Shared = part != reduce.Leads
	got := &call{}
	has := func() bool { return got.ended && got.err == nil && !got.gone }
	run := func() {
		if c := n.whole(cfg.Target); part == reduce.Follows && has() && c != nil && c.Tag == requestOf(cfg).String() {
			w.met["allreduce: another node has made it"]++
			return
		}
		co := w.reduce(n, cfg)
		if co.run == nil { // the node leaves
			return
		}
		w.bound(co.call, patience, phalanx.ErrDeadline)
		w.when(n, patience, func() bool { return got.ended }, func() {
			if cfg.Shared && has() {
				co.step(rnode.Made{Gen: got.gen, Meta: phalanx.Meta{Size: int64(len(got.bytes))}, Digest: digestOf(got.bytes)})
			}
		})
	}
	follow, soon := time.Duration(0), time.Duration(0)
	if part == reduce.Follows {
		w.met["allreduce: a node waits for another one"]++
		follow = reduce.FollowFor
	}
	if ring {
		soon = rnode.RingSoon
	}
	w.when(n, follow, func() bool { return got.ended }, run)
	w.when(n, soon, func() bool { return n.of(cfg.Target) != nil }, func() {
		got = w.get(n, cfg.Target, true)
		w.bound(got, patience, phalanx.ErrDeadline)
	})
	w.step(n, "one of all")
}

// when has f called once is reports true, or d has passed.
func (w *world) when(n *node, d time.Duration, is func() bool, f func()) {
	if d <= 0 || is() {
		f()
		return
	}
	n.after(time.Millisecond, func() { w.when(n, d-time.Millisecond, is, f) })
}
