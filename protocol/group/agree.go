package group

import (
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// agreement is one of a group, as one of its nodes sees it.
type agreement struct {
	seq     uint64
	roster  *Roster
	mine    map[int]Contribution // by local rank
	callers map[int]uint64       // waiting calls, by local rank
	absent  []int                // as the coordinator has said

	took     *Decision                 // the accepted decision
	denied   map[phalanx.NodeID]uint64 // nodes that had not decided that, and in which view they had not
	decided  *Decision
	asked    bool          // a coordinator has proposed it that waits for no member here
	sending  bool          // a Contribute is not answered
	told     time.Duration // when the coordinator was told at once that a caller has gone
	changed  bool          // and there is more to say
	said     question
	resolved bool // its callers know

	ballot *ballot // if this node coordinates it
}

// agreement returns the one of a number, or nil if it was forgotten.
func (g *group) agreement(seq uint64) *agreement {
	if a := g.agreed[seq]; a != nil || seq < g.over {
		return a
	}
	a := &agreement{seq: seq, roster: g.roster, mine: map[int]Contribution{}, callers: map[int]uint64{}}
	g.agreed[seq] = a
	return a
}

// kept is how many agreements of a group are remembered: a node that is behind asks for
// them. No node contributes to an agreement before it knows the decision of the one kept
// before it. So when one is decided, no node asks for any that is so much older.
const kept = 64

// behind reports whether a node has yet to hear of a decision before it contributes.
func (g *group) behind(seq uint64) bool {
	for _, a := range g.agreed {
		if a.decided == nil && a.seq+kept <= seq {
			return true
		}
	}
	return false
}

// forget forgets agreements that no node asks for once a is decided.
func (g *group) forget(a *agreement) {
	for ; g.over+kept <= a.seq; g.over++ {
		if g.over > 0 { // nodes that have no part in the group ask for the first one
			delete(g.agreed, g.over)
		}
	}
}

// open reports whether the node has to hear of more.
func (a *agreement) open() bool {
	return a.decided == nil && (len(a.mine) > 0 || a.took != nil || a.asked)
}

// contribute sends the coordinator the contributions of this node. While it does not answer,
// they are repeated, and later ones wait for the answer.
func (c *Core) contribute(g *group, a *agreement, to phalanx.NodeID) {
	if to == "" || !a.open() {
		return
	}
	if a.sending && c.now < a.said.At(c.pauses(to)) {
		a.changed = true
		return
	}
	c.say(g, a, to)
}

// say sends it, or looks again later if there is no coordinator.
func (c *Core) say(g *group, a *agreement, to phalanx.NodeID) {
	q := &a.said
	if !a.sending {
		q.first = c.now
	}
	if a.changed {
		q.Answered()
	}
	q.Sent(c.now)
	q.looks = 0
	c.due.Set(errand{group: g.name, num: a.seq}, c.lookAt(*q, to))
	if to != "" {
		a.sending, a.changed = true, false
		c.send(to, c.contribution(g, a))
	}
}

// sayAt returns when it is seen whether it is time to say it again.
func (c *Core) sayAt(g *group, a *agreement) time.Duration {
	to := c.coordinator(g)
	if a.sending {
		return c.lookAt(a.said, to)
	}
	return a.said.At(c.pauses(to))
}

// saysAgain reports whether it is time to say it again: it is not answered, or may be, but
// nothing was heard since.
func (c *Core) saysAgain(g *group, a *agreement) bool {
	to := c.coordinator(g)
	if a.sending {
		return c.overdue(&a.said, to)
	}
	return c.now >= c.sayAt(g, a)
}

func (c *Core) contribution(g *group, a *agreement) Contribute {
	m := Contribute{Group: g.name, Life: g.life, Seq: a.seq, View: c.view.Number}
	if a.seq == 0 {
		m.Roster, m.Try, m.Idle = g.roster, g.try, len(a.callers) == 0
	}
	if !g.behind(a.seq) {
		for _, rank := range slices.Sorted(maps.Keys(a.mine)) {
			if _, waits := a.callers[rank]; !waits && a.mine[rank].AtLeast > 0 {
				continue // a quorum is of members that have come, and are still there
			}
			m.Parts = append(m.Parts, Part{rank, a.mine[rank]})
		}
	}
	for _, rank := range g.local {
		if g.gone[rank] {
			m.Gone = append(m.Gone, rank)
		}
	}
	return m
}

// asked answers a coordinator.
func (c *Core) asked(from phalanx.NodeID, m Ask) {
	g := c.groups[m.Group]
	switch {
	case g == nil && m.Seq == 0 && m.Life != 0:
		c.send(from, Standing{Group: m.Group, Of: m.Life})
		return
	case g == nil:
		return
	case g.formed && g.life != m.Life: // members here are in another group of that name
		if m.Seq == 0 && c.without(g, from, m.Roster) {
			c.send(from, Decide{Group: g.name, Life: g.life, Try: m.Life, Decision: *g.agreed[0].decided})
		} else if m.Seq == 0 && c.inUse(g, m.Roster) {
			c.send(from, Decide{Group: g.name, Life: m.Life, Try: m.Life, Decision: g.clash()})
		}
		return
	case m.Seq > 0 && (!g.formed || g.life != m.Life): // it is late, or comes again
		return
	case g.roster.digest != m.Roster && g.forgets():
		return
	case g.roster.digest != m.Roster:
		c.send(from, Declined{m.Group, m.Life})
		return
	}
	a := g.agreement(m.Seq)
	switch {
	case a == nil:
	case a.decided != nil:
		c.send(from, Decide{Group: g.name, Life: g.life, Seq: a.seq, Decision: *a.decided})
	case a.sending && from == c.coordinator(g) && c.now < a.said.At(c.pauses(from)):
		// It is on its way.
	default:
		c.send(from, c.contribution(g, a))
	}
}

// standing takes note of the absent members.
func (c *Core) standing(from phalanx.NodeID, m Standing) {
	g := c.groups[m.Group]
	if g == nil || g.agreed[m.Seq] == nil || m.Of != g.life {
		return
	}
	a := g.agreed[m.Seq]
	if m.Life == 0 && from != c.view.Self && c.coordinator(g) == c.view.Self {
		c.void(g, a, from, m.Of)
		return
	}
	now := m.Try == g.try && from == c.coordinator(g) // and no late message, of an earlier forming here
	switch {
	case m.Life == 0 && from != c.coordinator(g) && a.took != nil:
		c.deny(g, a, from)
		return
	case now && m.Life == 0 && !g.formed && a.took != nil && !a.took.counts(g.roster, from) && !c.decidedByNone(g, a):
		return // it was no member when that was accepted here
	case now && m.Life == 0 && g.unwanted(a):
		c.drop(g)
		return
	case m.Life != g.life && (!now || !c.relive(g, a, m.Life)):
		return
	}
	if a.sending {
		c.answered(from, a.said)
	}
	a.sending = false
	a.absent = slices.DeleteFunc(slices.Clone(m.Absent), func(r int) bool { return r < 0 || r >= a.roster.Len() })
	if a.changed {
		c.contribute(g, a, c.coordinator(g))
	}
}

// proposed accepts a coordinator's proposal, unless a later coordinator is known.
func (c *Core) proposed(from phalanx.NodeID, m Propose) {
	g := c.groups[m.Group]
	if g == nil || g.life != m.Life {
		c.unknown(from, m)
		return
	}
	if m.Term < c.fence {
		return
	}
	c.fence = m.Term
	a := g.agreement(m.Seq)
	if a == nil {
		return
	}
	if a.decided != nil {
		c.send(from, Decide{Group: g.name, Life: g.life, Seq: a.seq, Decision: *a.decided})
		return
	}
	d := m.Decision
	a.took = &d
	a.said.Backoff, a.said.looks = retry.Once(c.now), 0 // a decision is near
	c.due.Set(errand{group: g.name, num: a.seq}, c.lookAt(a.said, from))
	c.send(from, Accept{Group: m.Group, Life: m.Life, Seq: m.Seq, Term: m.Term})
}

// differ is the decision of a group whose members give different lists of them.
var differ = Decision{For: ForForm, Mismatch: "others give other members for that name"}

// declined ends the forming of a group whose name stands for others.
func (c *Core) declined(g *group) {
	g.decline = true
	a := g.agreement(0)
	if a.decided == nil {
		d := differ
		a.decided = &d
	}
	for _, rank := range slices.Sorted(maps.Keys(a.callers)) {
		c.finish(c.calls[a.callers[rank]], Done{Outcome: Mismatch, Decision: *a.decided})
	}
	c.due.Set(errand{group: g.name, end: true}, c.now+4*c.cfg.ResendMax) // until then nodes that repeat their messages get an answer
}

// decide takes a decision. A group is formed here when this node's view has all its members:
// messages to them go to members of the view only.
func (c *Core) decide(g *group, a *agreement, d Decision) {
	if a.decided == nil {
		a.decided = &d
	}
	if a.resolved || a.decided.For == ForForm && a.decided.View > c.view.Number {
		return
	}
	a.resolved = true
	c.due.Cancel(errand{group: g.name, num: a.seq})
	c.due.Cancel(errand{group: g.name, num: a.seq, urge: true})
	if a.ballot != nil {
		for _, node := range c.live(g) {
			if node != c.view.Self {
				c.send(node, Decide{Group: g.name, Life: g.life, Seq: a.seq, Decision: d})
			}
		}
		a.ballot = nil
	}
	g.forget(a)
	for later := g.agreed[a.seq+kept]; later != nil && later.open() && !g.behind(later.seq); later = g.agreed[later.seq+1] {
		later.sending = false
		c.contribute(g, later, c.coordinator(g))
	}
	switch {
	case d.Mismatch != "" && d.For == ForForm:
		c.declined(g)
	case d.Mismatch != "":
		for _, w := range c.waiting(a) {
			c.finish(w, Done{Outcome: Mismatch, Decision: d})
		}
	case d.For == ForForm:
		c.formed(g, a)
	case d.For == ForAgree:
		for _, w := range c.waiting(a) {
			c.finish(w, Done{Group: g.name, Life: g.life, Roster: g.roster, Rank: w.Rank, Decision: d})
		}
	default:
		c.child(g, a, d)
	}
}

// waiting returns the calls that wait for a, by rank.
func (c *Core) waiting(a *agreement) []*call {
	var all []*call
	for _, rank := range slices.Sorted(maps.Keys(a.callers)) {
		all = append(all, c.calls[a.callers[rank]])
	}
	return all
}

// formed begins a group. Members here without a waiting call have left; members that count as
// failed were not known to be members of the cluster.
func (c *Core) formed(g *group, a *agreement) {
	c.begin(g)
	for _, rank := range a.decided.Failed {
		g.failed[rank] = true
	}
	g.nodes = slices.DeleteFunc(slices.Clone(g.nodes), func(node phalanx.NodeID) bool {
		return !slices.ContainsFunc(g.roster.ranks[node], func(rank int) bool { return !slices.Contains(a.decided.Failed, rank) })
	})
	g.liveIn = 0
	if !slices.Contains(g.nodes, c.view.Self) {
		c.due.Set(errand{group: g.name, end: true}, c.now+forgetAfter)
	}
	c.notice(g)
	var left []int
	for _, rank := range g.local {
		if _, waits := a.callers[rank]; !waits && !slices.Contains(a.decided.Failed, rank) {
			left = append(left, rank)
		}
		c.take(g, g.roster.members[rank].Label)
	}
	for _, w := range c.waiting(a) {
		if slices.Contains(a.decided.Failed, w.Rank) {
			c.finish(w, Done{Outcome: LeftBehind, Decision: *a.decided})
			continue
		}
		g.taken[w.Rank] = true
		c.finish(w, Done{Group: g.name, Life: g.life, Roster: g.roster, Rank: w.Rank, Decision: *a.decided, Failed: slices.Sorted(maps.Keys(g.failed))})
	}
	c.catchUp(g)
	c.depart(g, left)
	c.retire(g)
}

// child begins the group that comes of a Shrink, or forms the group that comes of a
// Grow.
func (c *Core) child(g *group, a *agreement, d Decision) {
	if d.For == ForGrow {
		c.grown(g, a, d)
		return
	}
	n := c.groups[d.Group]
	if n == nil && len(d.Roster.RanksOn(c.view.Self)) > 0 {
		n = c.know(d.Group, d.Roster)
		delete(n.agreed, 0)
		n.life, n.of, n.ofSeq = g.life, g.name, a.seq
		c.begin(n)
		c.notice(n)
	}
	for _, w := range c.waiting(a) {
		rank := slices.Index(d.Roster.members, g.roster.members[w.Rank])
		if rank < 0 || n == nil {
			c.finish(w, Done{Outcome: LeftBehind, Decision: d})
			continue
		}
		n.taken[rank] = true
		c.finish(w, Done{Group: n.name, Life: n.life, Roster: n.roster, Rank: rank, Decision: d, Failed: slices.Sorted(maps.Keys(n.failed))})
	}
	if n == nil {
		return
	}
	c.catchUp(n) // it may have been revoked before it was known here
	c.depart(n, slices.DeleteFunc(slices.Clone(n.local), func(r int) bool { return n.taken[r] }))
}

// grown has the members here join the group that comes of a Grow, and invites the
// newcomers. Members without a waiting call do not come.
func (c *Core) grown(g *group, a *agreement, d Decision) {
	var left []int
	for _, rank := range g.local {
		if _, waits := a.callers[rank]; waits || slices.Contains(d.Failed, rank) { // it comes back, if it is named
			continue
		}
		if r := slices.Index(d.Roster.members, g.roster.members[rank]); r >= 0 {
			left = append(left, r)
		}
	}
	for _, w := range c.waiting(a) {
		rank := slices.Index(d.Roster.members, g.roster.members[w.Rank])
		if rank < 0 {
			c.finish(w, Done{Outcome: LeftBehind, Decision: d})
			continue
		}
		w.forget()
		w.Kind, w.Group, w.Roster, w.Rank = CallForm, d.Group, d.Roster, rank
		c.form(w)
	}
	if len(left) > 0 {
		n := c.groups[d.Group]
		if n == nil {
			n = c.know(d.Group, d.Roster)
		}
		c.depart(n, left)
	}
	c.invite(g, d)
}
