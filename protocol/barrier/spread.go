package barrier

import (
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// spreading is what this node has to tell of barriers that have fired, to those who manage
// them now and did not before.
type spreading struct {
	owing map[phalanx.NodeID]*owing
	overs uint64 // the number of the last Over
}

// owing is what a node is to be told. The next part waits for the answer to the last one.
type owing struct {
	digests []uint64 // of barriers, in order
	part    int      // how many of the first of them are on their way
	num     uint64
	sent    time.Duration
	tries   int
}

// Over tells a node of barriers that have fired. It is repeated until an OverKnown answers.
type Over struct {
	Num    uint64
	Crowds []Crowd
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

// spread has new managers told of barriers that have fired. Those who could manage were others
// before.
func (c *Core) spread(before []phalanx.NodeID) {
	for to := range c.owing {
		if !slices.Contains(c.view.Members, to) {
			delete(c.owing, to)
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
		slices.Sort(o.digests[o.part:])
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

// tellOver tells what is owed, or repeats it.
func (c *Core) tellOver() {
	for _, to := range slices.Sorted(maps.Keys(c.owing)) {
		o := c.owing[to]
		if o.part > 0 && c.now < o.sent+c.again(o.tries, 0) {
			continue
		}
		if o.part == 0 {
			c.overs++
			o.num, o.tries, o.part = c.overs, 0, len(o.digests)
		}
		m := Over{Num: o.num}
		m.Crowds, o.part = c.past.crowdsOf(o.digests[:o.part], c.cfg.Part)
		o.sent, o.tries = c.now, o.tries+1
		c.send(to, m)
	}
}

// crowdsOf sorts barriers by their nodes: the first n of them, which weigh no more than room, or
// one. Those that were forgotten meanwhile are left out.
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
	for _, crowd := range m.Crowds {
		if !slices.ContainsFunc(crowd.Nodes, func(n phalanx.NodeID) bool { return slices.Contains(c.view.Members, n) }) {
			continue
		}
		for i, digest := range crowd.Digests {
			c.past.add(digest, crowd.Places[i], crowd.Nodes, crowd.Late, c.now)
		}
	}
	c.send(from, OverKnown{m.Num})
}

func (c *Core) overKnown(from phalanx.NodeID, m OverKnown) {
	o := c.owing[from]
	if o == nil || o.part == 0 || o.num != m.Num {
		return
	}
	o.digests, o.part = o.digests[o.part:], 0
	if len(o.digests) == 0 {
		delete(c.owing, from)
	}
}

// spreadingDue is when something of this is to be done.
func (c *Core) spreadingDue() (at time.Duration, ok bool) {
	at, ok = c.past.due(c.cfg.Linger)
	for _, o := range c.owing {
		if d := o.sent + c.again(o.tries, 0); o.part > 0 && (!ok || d < at) {
			at, ok = d, true
		}
	}
	return at, ok
}
