package sim

import (
	"slices"

	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// evictable checks (13) where leave is given.
func (a *audit) evictable(n *node, r directory.Reply) {
	if r.Result.Kind != 0 || r.Result.Waiting || r.Result.State != directory.Finished && r.Result.State != directory.Lost {
		return
	}
	to := a.w.byID[r.To]
	i := slices.IndexFunc(to.client.pending, func(p *pending) bool { return p.req.Num == r.Num })
	if i < 0 {
		return
	}
	e, ok := to.client.pending[i].req.Body.(directory.Evict)
	c := to.table[r.Object]
	if !ok || c == nil || !c.evicting || c.gen != e.Gen || r.Result.Gen != e.Gen || r.Result.IsInline {
		return
	}
	if slices.ContainsFunc(a.before[r.Object].Holders, func(h directory.HolderStat) bool { return h.Node == to.id && h.Pinned }) {
		a.w.fail("(13) %s may evict its pinned copy of %s", to.id, r.Object)
	}
	was := a.before[r.Object]
	shard := n.shards[r.Object.Shard(a.w.shape.shards)]
	if epoch, _ := shard.Owns(); was.epoch != epoch { // a new owner: it knows what the one before told its backup
		was.Picture, _ = shard.Inspect(r.Object)
	}
	if slices.Contains(was.Record.Evicted, to.id) {
		return // it was granted before, when there was another: the copy may have been dropped then
	}
	if c.pinned { // since it asked: its owner could not know, and it keeps the copy
		return
	}
	for _, o := range a.w.nodes {
		if o == to || !n.view.Has(o.id) {
			continue
		}
		for _, t := range o.copies(r.Object) {
			if t.gen == c.gen && t.whole {
				return
			}
		}
	}
	a.w.fail("(13) %s may evict the only copy of %s", to.id, r.Object)
}

// lost checks what is called lost: nothing that is inline or that promised more
// copies than one fault can take, nothing of which a member has a copy.
func (a *audit) lost(n *node, e directory.ObjectLost) {
	a.w.met["object lost"]++
	if a.w.shape.faults == faultless {
		a.w.fail("(13) %s calls %s@%v lost, and no node has failed", n.id, e.Object, e.Gen)
	}
	m := a.w.oracle.model(e.Object)
	if m.gen != e.Gen || !m.final() {
		return
	}
	if m.inline {
		a.w.fail("(14) %s calls %s@%v lost, which is inline", n.id, e.Object, e.Gen)
	}
	if m.copies > 1 && a.w.shape.faults != excessive && a.w.shape.cap == 0 {
		a.w.fail("(14) %s calls %s@%v lost, of which there are to be %d copies", n.id, e.Object, e.Gen, m.copies)
	}
	p, _ := n.shards[e.Object.Shard(a.w.shape.shards)].Inspect(e.Object)
	if !a.mayReplace(n, e.Object, directory.Record{Gen: e.Gen, Evicted: p.Record.Evicted}) {
		a.w.fail("(18) %s calls %s@%v lost, of which a member has a complete copy", n.id, e.Object, e.Gen)
	}
}

// contributions checks (16): what a coordinator takes for held is there, and
// what is not held is not left for long.
func (a *audit) contributions(c *coordinator) {
	n := c.n
	if n.over || c.ended {
		return
	}
	for _, p := range c.core.Places() {
		if p.State == "live" && p.Acked && n.gone[p.Node] {
			a.w.fail("(16, 20) place %d of %s is live at %s, which is no member", p.Place, c.target, p.Node)
		}
		if p.State != "dead" || !p.Held || p.Parent < 0 {
			continue
		}
		above := c.core.Places()[p.Parent]
		if above.State != "live" {
			continue
		}
		a.w.met["delivered place is not replaced"]++
		holder := a.w.byID[above.Node]
		if holder.over || holder.host.hung {
			continue
		}
		key := placeKey{c.target, c.core.Reduce(), above.Place}
		at := holder.reduces.places[key]
		if at == nil || !at.core.Runs() || at.core.State().Gen != above.Gen || holder.reduces.forgot(key) {
			continue // it has ended, or has news on the way
		}
		held := slices.ContainsFunc(at.core.Held().Delivered, func(d reduce.Delivered) bool { return d.Child == p.Place && d.ChildGen == p.Gen })
		if !held {
			a.w.fail("(16) place %d of %s is dead, and its parent at %s does not have what it made", p.Place, c.target, above.Node)
		}
	}
}
