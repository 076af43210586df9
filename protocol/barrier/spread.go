package barrier

import (
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// spreading are this node's reports of barriers that have fired to their new managers.
type spreading struct {
	owing map[phalanx.NodeID]*owing
	overs uint64                    // the number of the last Over
	asked map[phalanx.NodeID]Gather // of primaries that have to be told first
}

// owing is the pending report to a node. The next part waits for the answer to the last one.
type owing struct {
	digests []uint64 // of barriers, in order
	anew    []uint64 // of removed barriers
	part    int      // how many of the first of digests are on their way
	anews   int      // and of anew
	sends   retry.Backoff
	num     uint64
}

// Over tells a node of barriers that have fired. It is repeated until an OverKnown answers.
type Over struct {
	Num    uint64
	View   uint64 // of the sender: one with an earlier one may not know the nodes
	Crowds []Crowd
	Anew   []uint64 // digests of the keys of barriers that were removed: they are as new
}

// OverKnown answers an Over.
type OverKnown struct{ Num uint64 }

// Crowd is barriers of one late mode that have fired, and that were entered from the same nodes.
type Crowd struct {
	Nodes   []phalanx.NodeID
	Late    LateMode
	Digests []uint64 // of the barriers' keys
	Places  []uint32 // and of their names, which say who manages them
}

func (Over) message()      {}
func (OverKnown) message() {}

// spread begins reports of fired barriers to new managers. before are the former eligible
// members.
func (c *Core) spread(before []phalanx.NodeID) {
	for to := range c.owing {
		if !slices.Contains(c.view.Members, to) {
			delete(c.owing, to)
			delete(c.spreading.asked, to)
		}
	}
	if c.past.len() == 0 || slices.Equal(before, c.list) {
		return
	}
	old, now := newRing(before), newRing(c.list)
	for _, m := range []map[uint64]fired{c.past.young, c.past.old} {
		for digest, f := range m {
			had := old.managers(f.place, c.cfg.Managers)
			for _, to := range now.managers(f.place, c.cfg.Managers) {
				if to != c.view.Self && !slices.Contains(had, to) && !c.past.crowds[f.crowd()].gone {
					c.owe(to).digests = append(c.owe(to).digests, digest)
				}
			}
		}
	}
	for _, o := range c.owing {
		if o.sends.Waits() {
			slices.Sort(o.digests[o.part:])
		} else {
			slices.Sort(o.digests)
		}
	}
}

// spreadOne has the managers of a barrier told that it has fired.
func (c *Core) spreadOne(k Key) {
	if !c.past.knows(k.digest()) {
		return
	}
	for _, to := range c.managers(k) {
		if to != c.view.Self {
			c.owe(to).digests = append(c.owe(to).digests, k.digest())
		}
	}
}

func (c *Core) owe(to phalanx.NodeID) *owing {
	if c.owing == nil {
		c.owing = map[phalanx.NodeID]*owing{}
	}
	if c.owing[to] == nil {
		c.owing[to] = &owing{}
	}
	return c.owing[to]
}

// tellOver sends the pending reports, or repeats them.
func (c *Core) tellOver() {
	for _, to := range slices.Sorted(maps.Keys(c.owing)) {
		o := c.owing[to]
		if o.sends.Waits() && c.now < o.sends.At(c.pauses(0)) {
			continue
		}
		if !o.sends.Waits() {
			c.overs++
			o.num, o.part, o.anews = c.overs, len(o.digests), min(len(o.anew), max(1, c.cfg.Part/10))
		}
		m := Over{Num: o.num, View: c.view.Number, Anew: o.anew[:o.anews:o.anews]}
		m.Crowds, o.part = c.past.crowdsOf(o.digests[:o.part], c.cfg.Part)
		o.sends.Sent(c.now)
		c.send(to, m)
	}
}

// crowdsOf sorts barriers by their nodes: the first n of them, which weigh no more than room, or
// one. It leaves out barriers that were forgotten meanwhile.
func (p *Past) crowdsOf(digests []uint64, room int) (all []Crowd, n int) {
	at := map[uint32]int{}
	for i, digest := range digests {
		if room <= 0 {
			return all, i
		}
		f, ok := p.find(digest)
		if !ok {
			continue
		}
		k, ok := at[f.of]
		if !ok {
			k = len(all)
			at[f.of] = k
			crowd := p.crowds[f.crowd()]
			all = append(all, Crowd{Nodes: crowd.nodes, Late: f.late()})
			room -= 18 + len(crowd.name) + 3*len(crowd.nodes)
		}
		all[k].Digests, all[k].Places = append(all[k].Digests, digest), append(all[k].Places, f.place)
		room -= 12
	}
	return all, len(digests)
}

func (c *Core) over(from phalanx.NodeID, m Over) {
	if m.View > c.view.Number {
		return // it is told again
	}
	for _, digest := range m.Anew {
		c.past.renew(digest, c.now+c.cfg.Keep)
	}
	for _, crowd := range m.Crowds {
		if !slices.ContainsFunc(crowd.Nodes, func(n phalanx.NodeID) bool { return slices.Contains(c.view.Members, n) }) {
			continue
		}
		c.past.addAll(crowd, c.now)
	}
	c.send(from, OverKnown{m.Num})
}

func (c *Core) overKnown(from phalanx.NodeID, m OverKnown) {
	o := c.owing[from]
	if o == nil || !o.sends.Waits() || o.num != m.Num {
		return
	}
	o.digests, o.anew = o.digests[o.part:], o.anew[o.anews:]
	o.sends.Answered()
	if len(o.digests)+len(o.anew) > 0 {
		return
	}
	delete(c.owing, from)
	if g, ok := c.spreading.asked[from]; ok {
		delete(c.spreading.asked, from)
		c.gather(from, g)
	}
}

// tellsFirst reports whether a gathering primary has to learn first of barriers that have fired: it
// admits no participant before. It is answered then.
func (c *Core) tellsFirst(from phalanx.NodeID, m Gather) bool {
	if c.owing[from] == nil {
		return false
	}
	if c.spreading.asked == nil {
		c.spreading.asked = map[phalanx.NodeID]Gather{}
	}
	c.spreading.asked[from] = m
	return true
}

// renewed has all members forget that a barrier has fired: it was removed, and some may have managed it once.
func (c *Core) renewed(k Key) {
	c.past.renew(k.digest(), c.now+c.cfg.Keep)
	for _, to := range c.view.Members {
		if to != c.view.Self {
			o := c.owe(to)
			o.anew = append(o.anew, k.digest())
		}
	}
}

// spreadingDue is when something of this is to be done.
func (c *Core) spreadingDue() (at time.Duration, ok bool) {
	at, ok = c.past.due(c.cfg.Linger)
	for _, o := range c.owing {
		if d := o.sends.At(c.pauses(0)); o.sends.Waits() && (!ok || d < at) {
			at, ok = d, true
		}
	}
	return at, ok
}
