package barrier

import (
	"cmp"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A barrier that is removed ends: waiting participants learn it, and its name is as new. Holders of
// a semaphore go on holding it, and later entries wait for them.

// Removal notes a node's request to remove: a late copy of the request removes nothing more.
type Removal struct {
	Node    phalanx.NodeID
	Attempt uint64
	At      time.Duration
}

// Tomb is the answer to an entry that had come from a node before the barrier was removed, or that
// has taken itself out of a throttle's queue: late messages of that attempt, or of an earlier
// one, do not reach the barrier any more.
type Tomb struct {
	Entry   Entry
	Node    phalanx.NodeID
	Attempt uint64
	Verdict Verdict
	At      time.Duration
}

// grave is whose Tomb it is.
type grave struct {
	entry Entry
	node  phalanx.NodeID
}

// bury makes the index of the Tombs. Of one grave the last counts.
func (b *Barrier) bury() {
	b.tombs = nil
	for i, t := range b.Tombs {
		if b.tombs == nil {
			b.tombs = make(map[grave]int, len(b.Tombs))
		}
		b.tombs[grave{t.Entry, t.Node}] = i
	}
}

func (b *Barrier) entomb(t Tomb) {
	if b.tombs == nil {
		b.tombs = map[grave]int{}
	}
	if i, ok := b.tombs[grave{t.Entry, t.Node}]; ok {
		b.Tombs[i] = t
		return
	}
	b.tombs[grave{t.Entry, t.Node}] = len(b.Tombs)
	b.Tombs = append(b.Tombs, t)
}

// tombsDue is when some Tombs are not needed any more.
func (b *Barrier) tombsDue() (time.Duration, bool) {
	if len(b.Tombs) == 0 {
		return 0, false
	}
	return b.Tombs[0].At + leftFor + 1, true
}

func (b *Barrier) sweepTombs() {
	b.Tombs = slices.DeleteFunc(b.Tombs, func(t Tomb) bool { return b.Now-t.At > leftFor })
	b.bury()
}

// was answers an Op whose entry has a Tomb.
func (b *Barrier) was(op Op) bool {
	i, ok := b.tombs[grave{op.Entry, op.Node}]
	if !ok || b.Tombs[i].Attempt < op.Attempt {
		return false
	}
	v := b.Tombs[i].Verdict
	if op.Kind == OpRelease && b.cfg.Semaphore.on() {
		v = Released
	}
	b.emit(Answer{Nodes: []phalanx.NodeID{op.Node}, Entry: op.Entry, Attempt: b.Tombs[i].Attempt, Verdict: v, Old: true})
	return true
}

// buried returns the answers to entries that had come from a node before the barrier was removed,
// and have not come again.
func (b *Barrier) buried(node phalanx.NodeID) []Answered {
	var all []Answered
	for g, i := range b.tombs {
		if k, again := b.index[g.entry]; g.node == node && !(again && slices.Contains(b.Entrances[k].Nodes, node)) {
			t := b.Tombs[i]
			all = append(all, Answered{Entry: t.Entry, Attempt: t.Attempt, Verdict: t.Verdict, Old: true})
		}
	}
	slices.SortFunc(all, func(x, y Answered) int {
		return cmp.Or(cmp.Compare(x.Entry.Host, y.Entry.Host), cmp.Compare(x.Entry.Label, y.Entry.Label))
	})
	return all
}

// remove ends the barrier.
func (b *Barrier) remove(op Op) {
	i := slices.IndexFunc(b.Removals, func(r Removal) bool { return r.Node == op.Node })
	b.emit(Ended{Node: op.Node, Attempt: op.Attempt})
	switch {
	case i >= 0 && b.Removals[i].Attempt >= op.Attempt:
		return
	case i >= 0:
		b.Removals = slices.Delete(b.Removals, i, i+1)
	}
	b.Removals = append(slices.DeleteFunc(b.Removals, func(r Removal) bool { return b.Now-r.At > leftFor }), Removal{op.Node, op.Attempt, b.Now})
	b.happened(Happened{What: WasRemoved})
	semaphore := b.cfg.Semaphore.on()
	var stay []Entrance
	for i := range b.Entrances {
		e := &b.Entrances[i]
		if e.Phase == Withdrawn || semaphore && e.Phase != Waiting {
			stay = append(stay, *e)
			continue
		}
		v := b.standing(e)
		if e.Phase == Waiting || e.Leaving && e.Phase == Through {
			v = Deleted
			b.answer(e, v)
		}
		for k, node := range e.Nodes {
			b.entomb(Tomb{Entry: e.Entry, Node: node, Attempt: e.Tries[k], Verdict: v, At: b.Now})
		}
	}
	b.Entrances, b.Queue = stay, nil
	b.reindex()
	if semaphore {
		return
	}
	clear(b.units)
	b.Begun, b.Began, b.Units, b.Cause, b.FiredAt, b.Fired, b.Next = false, 0, 0, NotFired, 0, 0, 0
	b.Asks, b.AskedAt, b.Enough, b.Detector, b.Late, b.Doubt, b.news = nil, 0, false, Detector{}, 0, false, false
}

// unheld reports whether it is a semaphore that was removed, and that has no holder or waiting
// entry: it is as new.
func (b *Barrier) unheld() bool { return b.cfg.Semaphore.on() && len(b.Removals) > 0 && b.over() }

// removeAsked takes a node's request to the primary.
func (c *Core) removeAsked(from phalanx.NodeID, m Remove) {
	if !c.ready(m.Key) || c.now >= c.leased {
		return // it is asked again
	}
	r := c.replicas[m.Key]
	if r == nil {
		if !c.past.knows(m.Key.digest()) {
			c.send(from, Removed{Key: m.Key, ID: m.ID})
			return
		}
		r = c.create(Reached{Key: m.Key, Config: Config{Max: 1}}) // deserted, so that any other takes its place
		r.b.Anew = r.clock(c.now) + c.cfg.Keep                    // managers remember nothing later any sooner
		c.renewed(m.Key)
	}
	r.pending = append(r.pending, Op{Kind: OpRemove, Node: from, Attempt: m.ID})
	c.wake(r)
}

// removed takes the primary's answer.
func (c *Core) removed(m Removed) {
	q := c.queries[m.ID]
	if q == nil || !q.remove || q.key != m.Key {
		return
	}
	c.endQuery(m.ID)
	d := Done{ID: m.ID}
	if !m.Known {
		d.Outcome = Unknown
	}
	c.emit(d)
}
