package barrier

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// managing is what a node manages.
type managing struct {
	shelf
	leased  time.Duration                 // until then this node is a member
	term    uint64                        // the view in which the members were last others
	since   time.Duration                 // when that was learned
	knows   bool                          // every member has said what it knows, and heeds this term
	waiting map[phalanx.NodeID][]Gathered // who has not, and what parts of an answer there are
	asked   time.Duration                 // when they were
	asks    int                           // how often; the first repeat comes soon, as some learn of a view later than others
	found   []finding
	early   []Heard       // what came before all was gathered
	said    time.Duration // the stamp of this node's last answer to one who gathers
}

// finding is what a member has said.
type finding struct {
	from phalanx.NodeID
	Gathered
}

// earlyLimit bounds early: what is more is repeated by who sent it.
const earlyLimit = 4096

// newTerm begins when the members are others: this node does not act before it
// knows what they know.
func (c *Core) newTerm(number uint64) {
	c.term, c.since, c.knows, c.waiting, c.found, c.early, c.asks = number, c.now, false, nil, nil, nil, 0
	for _, k := range c.keys() {
		r := c.replicas[k]
		r.pending = append(r.flight, r.pending...)
		r.flight, r.lacks, r.has, r.spare = nil, nil, nil, nil
		if c.primary(k) == c.view.Self {
			c.wake(r)
		} else {
			c.hand(r)
		}
	}
}

// ready reports whether this node may act as the barrier's primary. It begins to
// gather what it needs for that.
func (c *Core) ready(k Key) bool {
	if c.primary(k) != c.view.Self {
		return false
	}
	if !c.knows && c.waiting == nil {
		c.fence = max(c.fence, c.term)
		c.waiting = map[phalanx.NodeID][]Gathered{}
		for _, m := range c.view.Members {
			if m != c.view.Self {
				c.waiting[m] = nil
			}
		}
		c.found = nil
		for _, g := range c.known(c.view.Self) {
			c.found = append(c.found, finding{c.view.Self, g})
		}
		c.askAll()
	}
	return c.knows
}

func (c *Core) askAll() {
	c.asked = c.now
	c.asks++
	for _, m := range c.view.Members {
		if _, waits := c.waiting[m]; waits {
			c.send(m, Gather{Term: c.term})
		}
	}
	if len(c.waiting) == 0 {
		c.install()
	}
}

// gather answers who has become a primary, if this node's view is as new.
func (c *Core) gather(from phalanx.NodeID, m Gather) {
	if m.Term < c.term || m.Term < c.fence {
		c.send(from, Refused{Term: max(c.term, c.fence)})
		return
	}
	if m.Term > c.view.Number {
		return // it will be asked again
	}
	c.fence = m.Term
	c.said = max(c.said+1, c.now)
	all := c.known(from)
	for i, g := range all {
		g.Term, g.Part, g.Parts, g.Stamp = m.Term, i, len(all), c.said
		c.send(from, g)
	}
}

// partEntries is how many entries go in one message, unless a barrier alone has more.
const partEntries = 10_000

// known is what this node knows of the barriers whose primary is to, in parts.
func (c *Core) known(to phalanx.NodeID) []Gathered {
	var all []Gathered
	var g Gathered
	entries := 0
	room := func(n int) {
		if entries > 0 && entries+n > partEntries {
			all = append(all, g)
			g, entries = Gathered{}, 0
		}
		entries += n + 1
	}
	for _, k := range c.keys() {
		if r := c.replicas[k]; c.primary(k) == to {
			room(len(r.b.Entrances) + len(r.b.cfg.Expect))
			g.Replicas = append(g.Replicas, Held{Key: k, Config: r.b.cfg, Primary: r.primary, Term: r.term, Seq: r.seq, State: r.b.State.Clone(), Age: c.now - r.touched})
		}
	}
	for _, k := range sorted(c.groups) {
		if c.primary(k) == to {
			if m, some := c.groups[k].outstanding(true, c.now); some {
				room(len(m.Requests) + len(m.Config.Expect))
				g.Reached = append(g.Reached, m)
			}
		}
	}
	return append(all, g)
}

// gathered takes a part of what a member knows. Only parts of one answer count
// together: from one to the next, something may have moved to a part that came before.
func (c *Core) gathered(from phalanx.NodeID, m Gathered) {
	parts, waits := c.waiting[from]
	if m.Term != c.term || !waits {
		return
	}
	if len(parts) > 0 && m.Stamp > parts[0].Stamp {
		parts = nil
	}
	if slices.ContainsFunc(parts, func(p Gathered) bool { return p.Stamp > m.Stamp || p.Part == m.Part }) {
		return
	}
	if parts = append(parts, m); len(parts) < m.Parts {
		c.waiting[from] = parts
		return
	}
	delete(c.waiting, from)
	for _, p := range parts {
		c.found = append(c.found, finding{from, p})
	}
	if len(c.waiting) == 0 {
		c.install()
	}
}

// refused says that somebody knows of a later term: of a view that this node will
// learn, or that it has as one in which nothing changed for it.
func (c *Core) refused(m Refused) {
	if m.Term > c.term && m.Term <= c.view.Number {
		c.newTerm(m.Term)
	}
}

// install makes replicas of what was gathered, the newest of each, and hears what
// came too early.
func (c *Core) install() {
	c.knows, c.waiting = true, nil
	best := map[Key]Held{}
	age := map[Key]time.Duration{}
	for _, g := range c.found {
		for _, h := range g.Replicas {
			old, ok := best[h.Key]
			if !ok || h.Term > old.Term || h.Term == old.Term && h.Seq > old.Seq {
				best[h.Key] = h
			}
			age[h.Key] = max(age[h.Key], h.State.Now+h.Age)
		}
	}
	for _, k := range sorted(best) {
		c.take(best[k], age[k])
	}
	for _, g := range c.found {
		for _, h := range g.Replicas {
			if r := c.replicas[h.Key]; !slices.Contains(c.managers(h.Key), g.from) {
				r.spare = append(r.spare, g.from)
			}
		}
	}
	found, early := c.found, c.early
	c.found, c.early = nil, nil
	for _, holders := range []bool{true, false} { // nobody is let in before all who are in are known
		for _, g := range found {
			for _, m := range g.Reached {
				c.takeReached(g.from, m, holders)
			}
		}
	}
	for _, h := range early {
		c.heard(h.From, h.Message)
	}
}

// take becomes the primary of what was found. If that is what this node made itself
// and has not acted on, because not all had confirmed it, it makes it again.
func (c *Core) take(h Held, clock time.Duration) {
	r := c.replicas[h.Key]
	was := phalanx.NodeID("")
	if r == nil {
		r = &replica{key: h.Key}
		c.put(r)
	} else {
		was = r.primary
	}
	if r.b == nil || was != c.view.Self || h.Primary != c.view.Self {
		r.b = Restore(h.Config, h.State.Clone())
	}
	c.wake(r)
	r.seq, r.base, r.began, r.touched, r.made = h.Seq, max(clock, r.b.Now), c.now, c.now, 0
	watched := r.b.Watcher != "" && slices.Contains(c.view.Members, r.b.Watcher)
	if watched && len(r.b.Asks) > 0 { // the time in which nobody could ask does not count
		r.base = r.b.Now
	}
	r.has = map[phalanx.NodeID]bool{}
	if was != c.view.Self {
		c.emit(TookOver{Key: h.Key, From: was, Term: c.term, Took: c.now - c.since, Standing: c.standing(r)})
	}
	r.primary = c.view.Self
	var gone []Op // before anything is let through that is not there any more
	for _, n := range append(r.b.State.members(), r.b.Watcher) {
		if n != "" && !slices.Contains(c.view.Members, n) {
			gone = append(gone, Op{Kind: OpGone, Node: n})
		}
	}
	r.pending = slices.DeleteFunc(r.pending, func(op Op) bool { return op.Node != "" && !slices.Contains(c.view.Members, op.Node) })
	if watched {
		gone = append(gone, Op{Kind: OpWatch, Node: r.b.Watcher}) // it is asked again
	}
	r.pending = append(gone, append(r.pending, Op{Kind: OpAdvance})...) // at least something, so that the backups have it
}
