package group

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// ballot is a coordinator's part in an agreement, in one term.
type ballot struct {
	term     uint64
	from     map[phalanx.NodeID]Contribute
	newest   uint64 // view that one of them knows, which may have members that are not known here yet
	proposal *Decision
	accepts  map[phalanx.NodeID]bool
	asked    question // or proposed
	bytes    int64    // of from
	joining

	missing []int // the absent as of then
	counted time.Duration
}

// contributed takes a node's contributions.
func (c *Core) contributed(from phalanx.NodeID, m Contribute) {
	g := c.groups[m.Group]
	if m.Seq == 0 {
		g = c.forming(from, m)
	} else if g != nil && g.life != m.Life {
		return
	}
	if g == nil || g.roster.ranks[from] == nil {
		return
	}
	a := g.agreement(m.Seq)
	if a == nil {
		return
	}
	if a.decided != nil {
		c.send(from, Decide{Group: g.name, Life: g.life, Seq: a.seq, Try: m.Try, Decision: *a.decided})
		return
	}
	if c.coordinator(g) != c.view.Self {
		if m.Life == g.life && m.View >= c.view.Number {
			c.deny(g, a, from)
		}
		return // one of us has an old view
	}
	b := a.ballot
	if b == nil {
		b = c.newBallot(g, a)
	}
	if a.seq == 0 && m.Life != g.life { // it may be of an earlier group
		if a.took != nil && a.took.counts(g.roster, from) { // or the sender has forgotten this one
			c.weigh(g, a)
			c.propose(g, a, from)
			return
		}
		c.send(from, Standing{Group: g.name, Life: g.life, Of: m.Life, Try: m.Try, Absent: c.missing(g, b)})
		return
	}
	m.Roster = nil // it is the group's
	old, came := b.from[from]
	if came {
		b.bytes -= old.count()
	}
	b.from[from], b.newest = m, max(b.newest, m.View)
	b.bytes += m.count()
	c.leave(g, slices.DeleteFunc(slices.Clone(m.Gone), func(r int) bool { return g.roster.member(r).Node != from }))
	if a.seq == 0 {
		c.joined(g, a, m.Parts)
	}
	if b.proposal != nil && a.seq == 0 && !came && !b.accepts[from] { // it was asked about a forming that it does not know
		c.propose(g, a, from)
	}
	c.weigh(g, a)
	if a.decided == nil {
		c.send(from, Standing{Group: g.name, Life: g.life, Of: m.Life, Try: m.Try, Seq: a.seq, Absent: c.missing(g, b)})
	}
}

// missing is absent, which takes long in large groups, not all the time.
func (c *Core) missing(g *group, b *ballot) []int {
	if b.missing == nil || c.now >= b.counted+countEvery {
		b.missing, b.counted = c.absent(g, b), c.now
	}
	return b.missing
}

const countEvery = 10 * time.Millisecond

func (c *Core) newBallot(g *group, a *agreement) *ballot {
	a.ballot = &ballot{term: c.view.Number, from: map[phalanx.NodeID]Contribute{}}
	c.patient(g, a)
	return a.ballot
}

// patient has a coordinator's questions repeated, at first soon.
func (c *Core) patient(g *group, a *agreement) {
	a.ballot.asked = question{first: c.now, Backoff: retry.Once(c.now)}
	c.due.Set(errand{group: g.name, num: a.seq, urge: true}, c.urgeAt(g, a.ballot))
}

// urgeAt returns when the coordinator looks whether to ask silent nodes again.
func (c *Core) urgeAt(g *group, b *ballot) time.Duration {
	if b.proposal == nil {
		return b.asked.Last() + c.patience(b)
	}
	at := b.asked.Last() + 2*c.cfg.ResendMax
	for _, node := range c.live(g) {
		if !b.accepts[node] {
			at = min(at, c.lookAt(b.asked, node))
		}
	}
	return at
}

// patience is after how long the coordinator asks nodes that have not contributed. Their own messages
// may wait in a mailbox, and they repeat lost ones.
func (c *Core) patience(b *ballot) time.Duration { return c.pauses("").After(b.asked.Times() + 2) }

// urgeAgain asks silent nodes again, if it is time.
func (c *Core) urgeAgain(g *group, a *agreement) {
	b := a.ballot
	due := b.proposal == nil && c.now >= b.asked.Last()+c.patience(b)
	if b.proposal != nil {
		q := b.asked
		for _, node := range c.live(g) {
			if one := q; !b.accepts[node] && c.overdue(&one, node) {
				due = true
			}
		}
		b.asked.looks++
	}
	if due {
		b.asked.Sent(c.now)
		c.urge(g, a)
	}
	c.due.Set(errand{group: g.name, num: a.seq, urge: true}, max(c.urgeAt(g, b), c.now+c.cfg.Resend/8))
}

// reopen begins again in a new term, with the earlier contributions.
func (c *Core) reopen(g *group, a *agreement) {
	old := a.ballot
	a.ballot = nil
	if old == nil || a.decided != nil || c.coordinator(g) != c.view.Self {
		return
	}
	c.newBallot(g, a)
	a.ballot.joining = old.joining
	for _, node := range c.live(g) {
		if m, ok := old.from[node]; ok {
			a.ballot.from[node], a.ballot.newest = m, max(a.ballot.newest, m.View)
			a.ballot.bytes += m.count()
		}
	}
	c.weigh(g, a)
}

func (r *Roster) member(rank int) Member {
	if rank < 0 || rank >= len(r.members) {
		return Member{}
	}
	return r.members[rank]
}

// maxAbsent bounds how many ranks are named as absent.
const maxAbsent = 32

// absent returns the live ranks that have not contributed, the first of them.
func (c *Core) absent(g *group, b *ballot) []int {
	var all []int
	for _, node := range c.live(g) {
		ranks := g.roster.ranks[node]
		parts := b.from[node].Parts
		if len(parts) == len(ranks) {
			continue
		}
		has := map[int]bool{}
		for _, p := range parts {
			has[p.Rank] = true
		}
		for _, rank := range ranks {
			if !has[rank] && !g.failed[rank] {
				if all = append(all, rank); len(all) == maxAbsent {
					return all
				}
			}
		}
	}
	return all
}

// weigh proposes the decision that this node has accepted in an earlier term, since it may stand
// already; or, once all live members have contributed, a decision of their contributions.
func (c *Core) weigh(g *group, a *agreement) {
	b := a.ballot
	if b == nil || b.proposal != nil || a.decided != nil || c.coordinator(g) != c.view.Self {
		return
	}
	switch {
	case a.took != nil:
		b.proposal = a.took
	case b.newest > c.view.Number || a.seq == 0 && b.begun && b.quorum.AtLeast > 0 && b.called(g) < b.quorum.AtLeast && !c.enough(g, a):
		return
	case len(c.absent(g, b)) > 0 && !c.enough(g, a):
		return
	default:
		d := c.conclude(g, a, b)
		if d.For == 0 {
			return // all contributors have left
		}
		b.proposal = &d
	}
	b.accepts = map[phalanx.NodeID]bool{}
	c.patient(g, a)
	c.urge(g, a)
}

// urge sends a coordinator's questions to nodes that have not answered.
func (c *Core) urge(g *group, a *agreement) {
	b := a.ballot
	for _, node := range c.live(g) {
		if b.proposal == nil {
			if _, ok := b.from[node]; !ok {
				c.send(node, Ask{Group: g.name, Life: g.life, Seq: a.seq, Roster: g.roster.digest})
			}
		} else if !b.accepts[node] {
			c.propose(g, a, node)
		}
	}
}

// propose sends a node this node's proposal.
func (c *Core) propose(g *group, a *agreement, to phalanx.NodeID) {
	b := a.ballot
	if b == nil || b.proposal == nil {
		return
	}
	m := Propose{Group: g.name, Life: g.life, Seq: a.seq, Term: b.term, Decision: *b.proposal}
	if _, knows := b.from[to]; !knows && a.seq == 0 {
		m.Roster = g.roster
	}
	c.send(to, m)
}

// accepted counts an acceptance. A proposal that all live nodes have accepted is decided.
func (c *Core) accepted(from phalanx.NodeID, m Accept) {
	g := c.groups[m.Group]
	if g == nil || g.life != m.Life || g.agreed[m.Seq] == nil {
		return
	}
	a := g.agreed[m.Seq]
	b := a.ballot
	if b == nil || b.proposal == nil || b.term != m.Term || a.decided != nil {
		return
	}
	if !b.accepts[from] {
		c.answered(from, b.asked)
	}
	b.accepts[from] = true
	if len(b.accepts) < len(c.live(g)) {
		return
	}
	for _, node := range c.live(g) {
		if !b.accepts[node] {
			return
		}
	}
	c.decide(g, a, *b.proposal)
}

// conclude makes a decision of the contributions; it is for nothing if all contributors have
// left.
func (c *Core) conclude(g *group, a *agreement, b *ballot) Decision {
	parts := map[int]Contribution{}
	for _, m := range b.from {
		for _, p := range m.Parts {
			if !g.failed[p.Rank] {
				parts[p.Rank] = p.Contribution
			}
		}
	}
	d := Decision{View: c.view.Number}
	acked := map[int]int{}
	var newcomers []Member
	var first *Contribution
	for _, rank := range slices.Sorted(maps.Keys(parts)) {
		p := parts[rank]
		switch {
		case first == nil:
			first = &p
			d.For, d.Value = p.For, p.Value
		case first.For != p.For:
			d.Mismatch = fmt.Sprintf("some members call %s, others %s", first.For, p.For)
		case first.Quorum != p.Quorum:
			d.Mismatch = fmt.Sprintf("some members form it of %s, others of %s", first.Quorum, p.Quorum)
		case first.Op != p.Op:
			d.Mismatch = fmt.Sprintf("some members agree by %s, others by %s", first.Op, p.Op)
		case p.For == ForAgree:
			d.Value = p.Op.fold(d.Value, p.Value)
		}
		for _, rank := range p.Acked {
			acked[rank]++
		}
		newcomers = append(newcomers, p.Newcomers...)
	}
	for rank, m := range g.roster.members {
		_, came := parts[rank]
		if !c.view.Members[m.Node] || g.failed[rank] || !came && d.For == ForForm {
			d.Failed = append(d.Failed, rank)
			if acked[rank] < len(parts) {
				d.Unacknowledged = append(d.Unacknowledged, rank)
			}
		}
	}
	if d.Mismatch == "" && (d.For == ForShrink || d.For == ForGrow) {
		c.regroup(g, a, newcomers, &d)
	}
	return d
}

// regroup decides on the group of the survivors, and newcomers.
func (c *Core) regroup(g *group, a *agreement, newcomers []Member, d *Decision) {
	if d.For == ForGrow && len(newcomers) == 0 {
		d.Mismatch = "nobody names a newcomer"
		return
	}
	var members []Member
	for rank, m := range g.roster.members {
		if !slices.Contains(d.Failed, rank) {
			members = append(members, m)
		}
	}
	for _, m := range newcomers {
		if !slices.Contains(members, m) {
			members = append(members, m)
		}
	}
	r, err := NewRoster(members)
	if err != nil {
		d.Mismatch = err.Error()
		return
	}
	d.Group, d.Roster = childName(g.name, g.life, a.seq), r
}
