package sim

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// audit checks the invariants of specification 7, by their numbers.
type audit struct {
	w       *world
	views   map[[2]uint64]string // by how often the cluster was begun anew, and their numbers
	table   map[int]view.Shard
	number  uint64    // of the newest view
	newest  view.View // the view with this number
	entered map[phalanx.NodeID]time.Duration
	left    map[phalanx.NodeID]time.Duration
	answers map[[2]uint64]phalanx.NodeID // (shard, epoch): the node that answered
	records map[phalanx.ObjectID]seen
	before  map[phalanx.ObjectID]before
}

// before is an owner's knowledge before the step.
type before struct {
	epoch uint64
	directory.Picture
}

// had reports whether n had a complete copy that served no lease.
func (b before) had(epoch uint64, n phalanx.NodeID) bool {
	return b.epoch == epoch && slices.ContainsFunc(b.Holders, func(h directory.HolderStat) bool { return h.Node == n && h.Complete }) &&
		!slices.ContainsFunc(b.Leases, func(l directory.LeaseStat) bool { return l.Sender == n })
}

// leaseKey names a lease, whose number is unique only within a shard.
type leaseKey struct {
	object phalanx.ObjectID
	lease  uint64
}

// seen is the record of an object that its owner last had.
type seen struct {
	epoch uint64 // of the shard
	rec   directory.Record
}

func newAudit(w *world) *audit {
	return &audit{w: w, views: map[[2]uint64]string{}, table: map[int]view.Shard{}, answers: map[[2]uint64]phalanx.NodeID{}, records: map[phalanx.ObjectID]seen{},
		before: map[phalanx.ObjectID]before{}, entered: map[phalanx.NodeID]time.Duration{}, left: map[phalanx.NodeID]time.Duration{}}
}

// steady reports whether n has been a member since then, and no fault has struck it.
func (a *audit) steady(n *node, since time.Duration) bool {
	in, ok := a.entered[n.id]
	_, out := a.left[n.id]
	return ok && !out && in <= since && n.host.troubled <= since && a.w.untouched()
}

// fenced checks that the cluster removes nodes only where there are faults.
func (a *audit) fenced(n *node) {
	a.w.met["fenced"]++
	if a.w.shape.faults == faultless {
		a.w.fail("%s was fenced, and no node has failed", n.id)
	}
}

// view checks that views with equal numbers are equal, and that only the in-sync backup follows an
// owner.
func (a *audit) view(n *node, v view.View) {
	s := v.String()
	key := [2]uint64{v.Restarts, v.Number}
	if old, ok := a.views[key]; ok && old != s {
		a.w.fail("(14) %s has %s, another node %s", n.id, s, old)
	}
	if n.view.Number >= v.Number {
		a.w.fail("(14) %s goes from view %d to %d", n.id, n.view.Number, v.Number)
	}
	a.views[key] = s
	switch {
	case v.Restarts < a.newest.Restarts: // its members do not know yet that the cluster was begun anew
		return
	case v.Restarts > a.newest.Restarts:
		a.w.met["cluster begun anew"]++
		a.number, a.table = 0, map[int]view.Shard{}
	}
	if a.number != 0 && v.Number == a.number+1 {
		for i, s := range v.Shards {
			old := a.table[i]
			if s.Epoch < old.Epoch || s.Epoch == old.Epoch && (s.Owner != old.Owner || s.Backup != old.Backup) {
				a.w.fail("(14) shard %d goes from %v to %v", i, old, s)
			}
			if old.Owner != "" && s.Owner != old.Owner && s.LostAt != s.Epoch && s.Owner != old.Backup && s.Owner != old.Next {
				a.w.fail("(14) shard %d goes from %v to %v", i, old, s)
			}
		}
	}
	if v.Number > a.number {
		old := a.newest
		a.number, a.newest = v.Number, v
		a.w.trace.say(a.w.now, string(n.id), "VIEW %v", v)
		for i, s := range v.Shards {
			if s.LostAt != 0 && s.LostAt != a.table[i].LostAt {
				a.shardLost(i, s)
			}
			a.table[i] = s
		}
		for _, m := range v.Members {
			if _, ok := a.entered[m.ID]; !ok {
				a.entered[m.ID] = a.w.now
			}
		}
		for id := range a.entered {
			if !v.Has(id) {
				a.left[id] = a.w.now
			}
		}
		a.w.removed(old, v)
		a.w.stirred()
	}
}

// shardLost notes that a shard has lost owner and backup. That must not happen within the bounds.
func (a *audit) shardLost(i int, s view.Shard) {
	a.w.met["ShardLost"]++
	if a.w.shape.faults < excessive && !a.w.paired && !a.noneStays() {
		a.w.fail("(14) shard %d is lost: %v", i, s)
	}
	a.forget(i, a.newest)
}

// forget notes that the cluster may lose all that only the replicas of a shard knew.
func (a *audit) forget(i int, members view.View) {
	for _, id := range a.w.objects() {
		if id.Shard(a.w.shape.shards) == i {
			delete(a.records, id)
			a.survives(id, members)
		}
	}
}

// answer checks an owner's answer.
func (a *audit) answer(n *node, shard int, r directory.Reply) {
	if r.Result.NotOwner {
		return
	}
	epoch, owner := n.shards[shard].Owns()
	key := [2]uint64{uint64(shard), epoch}
	if who := a.answers[key]; !owner || who != "" && who != n.id {
		a.w.fail("(14) %s answers for shard %d in epoch %d, and so did %s", n.id, shard, epoch, who)
	}
	a.answers[key] = n.id
	if r.Result.State == directory.Finished && !r.Result.Digest.IsZero() { // another change may follow in the same step
		a.w.oracle.finished(r.Object, r.Result.Gen, r.Result.Digest)
	}
	a.evictable(n, r)
	if r.Result.Lease != 0 {
		a.grant(n, shard, r)
	}
}

// grant checks (7): a receiver gets a free complete copy before a partial one.
func (a *audit) grant(n *node, shard int, r directory.Reply) {
	p, _ := n.shards[shard].Inspect(r.Object)
	epoch, _ := n.shards[shard].Owns()
	leased := func(id phalanx.NodeID) (k int) {
		for _, l := range p.Leases {
			if l.Sender == id && !l.Slow {
				k++
			}
		}
		return k
	}
	current := slices.ContainsFunc(p.Leases, func(l directory.LeaseStat) bool { return l.ID == r.Result.Lease })
	if !current {
		return
	}
	free := func(h directory.HolderStat) bool {
		return h.Complete && h.Node != r.To && leased(h.Node) < max(1, a.w.shape.fanout) &&
			a.before[r.Object].had(epoch, h.Node) && // free all along: a step can carry out many requests
			!slices.ContainsFunc(p.Bars, func(b directory.BarStat) bool { return b.Sender == h.Node && b.Receiver == r.To })
	}
	for _, h := range p.Holders {
		if h.Node == r.Result.Sender && !h.Complete {
			a.w.met["lease of a partial copy"]++
			if slices.ContainsFunc(p.Holders, free) && !a.granted(r) {
				a.w.fail("(7) %s gets the partial copy of %s at %s as its sender while a complete one is free: %+v", r.To, r.Object, h.Node, p)
			}
		}
	}
	a.w.met["lease"]++
}

// granted reports whether the owner granted the lease earlier: a repeated answer is no choice.
func (a *audit) granted(r directory.Reply) bool {
	return a.w.leases[leaseKey{r.Object, r.Result.Lease}]
}

// shard checks the state of a replica after a step.
func (a *audit) shard(n *node, i int) {
	s := n.shards[i]
	epoch, owner := s.Owns()
	if !owner {
		return
	}
	for _, id := range s.Objects() {
		p, _ := s.Inspect(id)
		if !p.Shown {
			continue
		}
		for _, l := range p.Leases {
			a.w.leases[leaseKey{id, l.ID}] = true
		}
		a.dead(n, i, id, p)
		if m := a.w.oracle.model(id); p.State == directory.Deleted && !p.Changing && p.Pushes == 0 && !s.Warming() && m.gone == 0 && !a.deposed(id, epoch) {
			m.gone = a.w.now
		}
		a.before[id] = before{epoch, p}
		a.leases(n, id, epoch, p)
		a.record(n, id, epoch, p)
	}
}

// leases checks (4) and (5).
func (a *audit) leases(n *node, id phalanx.ObjectID, epoch uint64, p directory.Picture) {
	for i, l := range p.Leases {
		count, slow := 0, 0
		for j, m := range p.Leases {
			if m.Sender == l.Sender && m.ID>>32 == epoch { // leases that receivers report to a new owner come on top; there the sender counts them
				if m.Slow {
					slow++
				} else {
					count++
				}
			}
			if i != j && m.Receiver == l.Receiver {
				a.w.fail("(4) %s reads %s under two leases: %+v", l.Receiver, id, p)
			}
		}
		if count > max(1, a.w.shape.fanout) || slow > 1 {
			a.w.fail("(4) %s sends %s to %d receivers, and to %d slow ones: %+v", l.Sender, id, count, slow, p)
		}
	}
	up := map[phalanx.NodeID]phalanx.NodeID{}
	for _, h := range p.Holders {
		up[h.Node] = h.Upstream
	}
	for _, h := range p.Holders {
		at := h.Node
		for range p.Holders {
			if at = up[at]; at == "" {
				break
			}
			if at == h.Node {
				a.w.cycle(n, id, p)
				return
			}
		}
	}
}

// dead checks (20): an owner's state names only members.
func (a *audit) dead(n *node, shard int, id phalanx.ObjectID, p directory.Picture) {
	is := func(who phalanx.NodeID, what string) {
		if who != "" && !n.view.Has(who) {
			a.w.fail("(20) %s has a %s of %s that names %s, which is no member: %+v", n.id, what, id, who, p)
		}
	}
	for _, h := range p.Holders {
		is(h.Node, "location")
		if c := a.w.byID[h.Node].whole(id); h.Complete && c != nil && c.Gen == p.Record.Gen {
			c.listed = true
		}
	}
	for _, who := range p.Waiters {
		is(who, "waiter")
	}
	if n.shards[shard].Warming() {
		return // receivers report leases of senders that are gone
	}
	for _, l := range p.Leases {
		is(l.Sender, "lease")
		is(l.Receiver, "lease")
	}
}

// deposed reports whether the owner of an epoch was deposed and does not know yet: a later one has the
// object's record, or the cluster has lost what it knew, its tombstones too.
func (a *audit) deposed(id phalanx.ObjectID, epoch uint64) bool {
	old, ok := a.records[id]
	return ok && epoch < old.epoch || epoch < a.table[id.Shard(a.w.shape.shards)].LostAt
}

// record checks (2), (14) and (15): a durable record only moves forward, as long as a member stays.
func (a *audit) record(n *node, id phalanx.ObjectID, epoch uint64, p directory.Picture) {
	old, ok := a.records[id]
	rec := p.Record
	bad := func() {
		if a.noneStays() {
			return
		}
		a.w.fail("(2, 14) %s has %s as %v@%v %v in epoch %d, after %v@%v %v in epoch %d", n.id, id, rec.State, rec.Gen, rec.Digest, epoch,
			old.rec.State, old.rec.Gen, old.rec.Digest, old.epoch)
	}
	if a.deposed(id, epoch) {
		return
	}
	switch {
	case !ok:
	case rec.State == old.rec.State && rec.Gen == old.rec.Gen && rec.Digest == old.rec.Digest:
		if old.rec.Copies > rec.Copies {
			bad()
		}
	case old.rec.State == directory.Deleted && rec.State != directory.Unbound && old.rec.Gen.Less(rec.Gen):
		a.dropped(n, id, old.rec.Gen)
	case old.rec.State == directory.Deleted:
		bad()
	case old.rec.State == directory.Finished:
		if rec.State != directory.Deleted && !a.mayReplace(n, id, old.rec) { // unbound again: the Put that replaced it has failed
			bad()
		}
	case rec.State == directory.Begun && !old.rec.Gen.Less(rec.Gen) && old.rec.State == directory.Begun:
		bad()
	}
	rebuilt := a.table[id.Shard(a.w.shape.shards)].LostAt != 0
	if rec.State == directory.Unbound { // the shard remembers the generation
		rec.Gen = old.rec.Gen
	} else if rebuilt && old.rec.State == directory.Unbound {
		a.w.met["lost record comes back with its node"]++
	} else if ok && !rec.Gen.IsZero() && rec.Gen.Less(old.rec.Gen) {
		bad()
	}
	a.w.oracle.shows(n, id, rec)
	a.records[id] = seen{epoch: epoch, rec: directory.Record{State: rec.State, Gen: rec.Gen, Digest: rec.Digest, Copies: rec.Copies}}
}

// dropped checks (12) when a deleted id is put again: no member has a deleted copy.
func (a *audit) dropped(n *node, id phalanx.ObjectID, deleted phalanx.Generation) {
	for _, o := range a.w.alive() {
		c := o.whole(id)
		kept := c != nil && c.born != 0 && !c.listed // the node kept it over its removal: the owner hears of it later
		if c != nil && n.view.Has(o.id) && !kept && !deleted.Less(c.Gen) {
			a.w.fail("(12) %s has %s put again, and %s has a copy of %v, which was deleted", n.id, id, o.id, c.Gen)
		}
	}
}

// mayReplace reports whether a final object is really lost: no listed member has a complete copy,
// except members that have leave to evict and may not have heard of it.
func (a *audit) mayReplace(n *node, id phalanx.ObjectID, rec directory.Record) bool {
	if a.w.oracle.model(id).inline {
		return false
	}
	for _, o := range a.w.alive() {
		c := o.whole(id)
		if c != nil && c.Asked() && slices.Contains(rec.Evicted, o.id) {
			continue
		}
		if c != nil && c.Gen == rec.Gen && c.listed && n.view.Has(o.id) && o.view.Has(o.id) && a.steady(o, 0) {
			return false
		}
	}
	return true
}

// watched checks (15) at a watcher: the readiness that it gets does not go back.
func (a *audit) watched(n *node, old, r directory.Readiness) {
	switch {
	case a.table[r.Object.Shard(a.w.shape.shards)].LostAt > old.Version>>32 || old.Gen.IsZero() || r.Gen.IsZero():
	case r.Gen.Less(old.Gen), r.Gen == old.Gen && old.State == directory.Finished && r.State == directory.Begun:
		a.w.fail("(15) %s was told that %s is %v@%v, and now that it is %v@%v", n.id, r.Object, old.State, old.Gen, r.State, r.Gen)
	}
}

// complete checks (3).
func (a *audit) complete(n *node, c *copied) {
	f := a.w.oracle.model(c.Object).finals[c.Gen]
	if d := digestOf(c.checked(0, len(c.bytes))); f == nil || f.digest != d {
		a.w.fail("(3) %s has a complete copy of %s@%v with %v, final is %+v", n.id, c.Object, c.Gen, d, f)
	}
}

// arrived checks (9): the bytes are those of this generation.
func (a *audit) arrived(n *node, c *copied, p piece) {
	made, ok := a.w.oracle.model(c.Object).made[c.Gen]
	if !ok {
		return
	}
	end := int(p.offset) + len(p.bytes)
	if end > len(made) || string(made[p.offset:end]) != string(p.bytes) {
		a.w.fail("(9) %s has other bytes of %s@%v at %d than its origin made", n.id, c.Object, c.Gen, p.offset)
	}
}

// streams checks (4) at the sender of the bytes.
func (a *audit) streams(n *node, object phalanx.ObjectID) {
	count, limit := 0, max(1, a.w.shape.fanout)
	beside := false
	for _, o := range n.out {
		if o.open.object == object && o.c != nil && !o.over { // a stream that waits for a copy sends no bytes
			count++
			beside = beside || o.open.beside
		}
	}
	if beside {
		limit++
	}
	if count > limit {
		a.w.fail("(4) %s sends %s in %d streams", n.id, object, count)
	}
}

// nothingLeft checks (23) after everything was deleted.
func (a *audit) nothingLeft() (left string, ok bool) {
	w := a.w
	for _, n := range w.alive() {
		switch {
		case n.table.Len() > 0:
			return w.sprintf("%s has a copy", n.id), false
		case len(n.fetches) > 0:
			node, why := n.fetches[sortedObjects(n.fetches)[0]].core.Reason()
			return w.sprintf("%s fetches %s: %s %s", n.id, sortedObjects(n.fetches)[0], node, why), false
		case len(n.creates.Objects()) > 0:
			cr := n.creates.Of(n.creates.Objects()[0])[0]
			_, why := cr.core.Reason()
			return w.sprintf("%s puts %s: %s", n.id, cr.object, why), false
		case len(n.makers) > 0:
			return w.sprintf("%s makes %s", n.id, n.makers[0].object), false
		case n.memory.used() != 0 || len(n.memory.wishes) > 0:
			return w.sprintf("%s has %d bytes reserved and %d wishes", n.id, n.memory.used(), len(n.memory.wishes)), false
		case n.reduces.left() != "":
			return w.sprintf("%s has %s", n.id, n.reduces.left()), false
		}
		for r := range n.client.core.Unanswered() {
			return w.sprintf("%s waits for an answer to %T%+v about %s", n.id, r.Body, r.Body, r.Object), false
		}
		for _, o := range n.out {
			if !o.over {
				return w.sprintf("%s sends %s to %s", n.id, o.open.object, o.pipe.to), false
			}
		}
		for i, s := range n.shards {
			if s == nil {
				continue
			}
			if _, owner := s.Owns(); !owner {
				continue
			}
			for _, id := range s.Objects() {
				p, _ := s.Inspect(id)
				if p.Changing || len(p.Holders)+len(p.Leases)+p.Waiting+p.Creators+p.Watchers+p.Pushes > 0 || p.State != directory.Deleted && p.State != directory.Unbound {
					return w.sprintf("shard %d of %s still has %s: %+v", i, n.id, id, p), false
				}
			}
		}
	}
	return "", true
}

// settled is the longest time that the world may need to come to an end.
const settled = 2 * time.Minute
