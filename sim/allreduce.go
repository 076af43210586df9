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
		return "nobody calls"
	}
	w.met["allreduce"]++
	cfg := reduce.Config{Target: targetID(targets + i), Shared: true, Num: len(on), Degree: []int{0, 0, 0, 2}[r.IntN(4)]}
	for k := range on {
		cfg.Sources = append(cfg.Sources, ringSourceID(i, k))
	}
	apart := []time.Duration{0, 5 * time.Millisecond, 500 * time.Millisecond}[r.IntN(3)]
	for k, n := range on {
		n.after(drawn(r, apart), func() {
			put := w.put(n, ringSourceID(i, k), putPlan{bytes: w.bytesOf(ringSourceID(i, k), 0), copies: 1, failAt: -1})
			w.bound(put, patience, phalanx.ErrDeadline)
			w.afterwards(put, func() { w.oneOfAll(n, cfg) })
			w.step(n, "allreduce")
		})
	}
	return fmt.Sprintf("allreduce %s by %d nodes within %v", cfg.Target, len(on), apart)
}

// oneOfAll is the call of one node. The node reduces, or waits for another node that does, and gets
// the target while it is made.
func (w *world) oneOfAll(n *node, cfg reduce.Config) {
	co := w.reduce(n, cfg)
	if co.run == nil { // the node leaves
		return
	}
	w.bound(co.call, patience, phalanx.ErrDeadline)
	got := w.get(n, cfg.Target, true)
	w.bound(got, patience, phalanx.ErrDeadline)
	w.afterwards(got, func() {
		co.step(rnode.Made{Gen: got.gen, Meta: phalanx.Meta{Size: int64(len(got.bytes))}, Digest: digestOf(got.bytes)})
	})
	w.step(n, "one of all")
}

// afterwards calls f when call c has ended well.
func (w *world) afterwards(c *call, f func()) {
	c.node.after(time.Millisecond, func() {
		switch {
		case !c.ended:
			w.afterwards(c, f)
		case c.err == nil && !c.gone:
			f()
		}
	})
}
