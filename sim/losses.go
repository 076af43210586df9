package sim

import (
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// asksToEvict returns a check of a replica's step with ev: an Evict ends no lease under which a
// receiver reads the copy, and the backup learns what it removes from the list of a final object.
func (a *audit) asksToEvict(s *directory.Shard, ev directory.Event) (check func()) {
	r, ok := ev.(directory.Request)
	if _, evicts := r.Body.(directory.Evict); !ok || !evicts {
		return func() {}
	}
	was, _ := s.Inspect(r.Object)
	return func() {
		p, _ := s.Inspect(r.Object)
		lists := func(p directory.Picture) bool {
			return slices.ContainsFunc(p.Holders, func(h directory.HolderStat) bool { return h.Node == r.From })
		}
		if p.Record.State == directory.Finished && lists(was) && !lists(p) && !p.Changing && !slices.Contains(p.Record.Evicted, r.From) {
			a.w.fail("(13) %s may evict %s, and the next owner does not know it: %+v", r.From, r.Object, was)
		}
		for _, l := range was.Leases {
			if l.Sender == r.From && !slices.Contains(p.Leases, l) {
				a.w.fail("(13) %s may evict %s, which %s reads from it: %+v", r.From, r.Object, l.Receiver, was)
			}
		}
	}
}

// evictable checks (13) for an answer that gives leave to evict.
func (a *audit) evictable(n *node, r directory.Reply) {
	if r.Result.Kind != 0 || r.Result.Waiting || r.Result.State != directory.Finished && r.Result.State != directory.Lost {
		return
	}
	to := a.w.byID[r.To]
	asked, _ := to.client.core.Request(r.Num)
	e, ok := asked.Body.(directory.Evict)
	c := to.whole(r.Object)
	if !ok || c == nil || !c.Asked() || c.Gen != e.Gen || r.Result.Gen != e.Gen || r.Result.IsInline {
		return
	}
	if slices.ContainsFunc(a.before[r.Object].Holders, func(h directory.HolderStat) bool { return h.Node == to.id && h.Pinned }) {
		a.w.fail("(13) %s may evict its pinned copy of %s", to.id, r.Object)
	}
	was := a.before[r.Object]
	shard := n.shards[r.Object.Shard(a.w.shape.shards)]
	if epoch, _ := shard.Owns(); was.epoch != epoch { // a new owner: it knows what the last one told its backup
		was.Picture, _ = shard.Inspect(r.Object)
	}
	if slices.Contains(was.Record.Evicted, to.id) {
		return // the owner gave leave when there was another copy, which may have been dropped since
	}
	if c.Pinned { // pinned since the node asked: the owner could not know, and the node keeps the copy
		return
	}
	for _, o := range a.w.nodes {
		if o == to || !n.view.Has(o.id) {
			continue
		}
		if o.has(r.Object, c.Gen) {
			return
		}
		if o.made(r.Object, r.Result.Digest) {
			return
		}
	}
	a.w.fail("(13) %s may evict the only copy of %s", to.id, r.Object)
}

// made reports whether the node has made all bytes of an object that is final with digest, even if
// they are in no table yet. The owner may list them before its answer arrives.
func (n *node) made(id phalanx.ObjectID, digest phalanx.Digest) bool {
	is := func(c *copied) bool { return c != nil && c.whole && c.sum == digest }
	return slices.ContainsFunc(n.creates.Of(id), func(cr *create) bool { return is(cr.buf) }) ||
		slices.ContainsFunc(n.makers, func(m *maker) bool { return m.object == id && is(m.buf) }) || is(n.of(id))
}

// making reports whether the node makes the object: by a Put, by a maker or at the root of a
// reduce.
func (n *node) making(id phalanx.ObjectID) bool {
	return n.creates.Has(id) ||
		slices.ContainsFunc(n.makers, func(m *maker) bool { return m.object == id }) || n.makes(id)
}

// noneStays reports whether all members leave: then nobody keeps what they have.
func (a *audit) noneStays() bool {
	return len(a.newest.Members) > 0 && !slices.ContainsFunc(a.newest.Members, func(m view.Member) bool { return !m.Leaving })
}

// lost checks an ObjectLost: the object is not inline, promised no more copies than one fault can
// take, and no member has a copy.
func (a *audit) lost(n *node, e directory.ObjectLost) {
	a.w.met["object lost"]++
	if a.noneStays() {
		return
	}
	if a.w.shape.faults == faultless && !a.comes(e) && !a.w.hasChanged(e.Object) {
		a.w.fail("(13) %s calls %s@%v lost, and no node has failed", n.id, e.Object, e.Gen)
	}
	m := a.w.oracle.model(e.Object)
	if m.gen != e.Gen || !m.final() {
		return
	}
	if m.inline {
		a.w.fail("(14) %s calls %s@%v lost, which is inline", n.id, e.Object, e.Gen)
	}
	if m.copies > 1 && a.w.shape.faults != excessive && !a.w.paired && a.w.shape.cap == 0 && !a.w.hasChanged(e.Object) {
		a.w.fail("(14) %s calls %s@%v lost, and its Puts asked for %d copies", n.id, e.Object, e.Gen, m.copies)
	}
	p, _ := n.shards[e.Object.Shard(a.w.shape.shards)].Inspect(e.Object)
	if !a.mayReplace(n, e.Object, directory.Record{Gen: e.Gen, Evicted: p.Record.Evicted}) && !a.announced(e) {
		a.w.fail("(18) %s calls %s@%v lost, of which a member has a complete copy", n.id, e.Object, e.Gen)
	}
}

// announced reports whether a node is still announcing a copy of the lost object, such as a place
// that ended unheard and began again.
func (a *audit) announced(e directory.ObjectLost) bool {
	return slices.ContainsFunc(a.w.alive(), func(n *node) bool {
		return slices.ContainsFunc(n.client.reports(e.Object), func(r directory.Request) bool {
			b, ok := r.Body.(directory.Announce)
			return ok && b.Gen == e.Gen
		})
	})
}

// comes reports whether a member has the whole lost object. The root of a reduce announces it just
// after it is final. If a member has left since the reduce began, the owner cannot know until then
// that this member was not the root.
func (a *audit) comes(e directory.ObjectLost) bool {
	return (a.newest.Left != 0 || a.w.met["left"] > 0) && slices.ContainsFunc(a.w.alive(), func(n *node) bool {
		return n.has(e.Object, e.Gen)
	})
}

// contributions checks (16): a contribution that a coordinator takes for held is there, and live
// places run on members.
func (a *audit) contributions(c *coordinator) {
	n := c.n
	if n.over || c.ended || c.core.Finalising() {
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
		key := placeKey{Target: c.target, Reduce: c.core.Reduce(), Place: above.Place}
		at := holder.reduces.places[key]
		if at == nil || !at.core.Runs() || at.core.State().Gen != above.Gen || at.missed == above.Gen || holder.reduces.forgot(key) {
			continue // it has ended, or has news on the way
		}
		held := slices.ContainsFunc(at.core.Held().Delivered, func(d reduce.Delivered) bool { return d.Child == p.Place && d.ChildGen == p.Gen })
		if !held {
			a.w.fail("(16) place %d of %s is dead, and its parent at %s does not have its output", p.Place, c.target, above.Node)
		}
	}
}
