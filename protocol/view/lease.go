package view

import (
	"cmp"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Leases. The leader stamps its heartbeats to the voters with its clock, and
// they return the stamp. At the latest stamp that a majority returned, no later
// leader had been elected. Until LeaseFor after it the leader
// has a lease, and gives others one: a member sends a Beat with its own clock,
// and as the leader heard it later, the leader's finding is at most that old.
// Clocks need to run equally fast, not to agree.
//
// A later leader is elected by a majority too, so one of its voters returned
// that stamp before. Waiting LeaseFor after its election it outwaits them all.

func (l *leading) contacted(id uint64, at time.Duration) {
	if old, ok := l.contact[id]; !ok || at > old {
		l.contact[id] = at
	}
}

// majority returns the latest time at which a majority of the voters, or of
// both halves during a change, was known to follow.
func (c *Core) majority() time.Duration { return c.majorityOf(func(uint64) bool { return true }) }

// majorityOf is the same if only some of the voters count.
func (c *Core) majorityOf(counts func(id uint64) bool) time.Duration {
	latest := c.now
	for _, half := range [][]uint64{c.voter.conf.GetVoters(), c.voter.conf.GetVotersOutgoing()} {
		if len(half) == 0 {
			continue
		}
		at := make([]time.Duration, 0, 2*largeVoters)
		for _, id := range half {
			if t, ok := c.lead.contact[id]; id == c.id {
				at = append(at, c.now)
			} else if ok && counts(id) {
				at = append(at, t)
			} else {
				at = append(at, never)
			}
		}
		slices.SortFunc(at, func(a, b time.Duration) int { return cmp.Compare(b, a) })
		latest = min(latest, at[len(at)/2])
	}
	return latest
}

// renew extends the leader's own lease, once it knows all that older leaders may have
// decided. Small steps are left out.
func (c *Core) renew() {
	if !c.voter.current(c.lead.term) {
		return
	}
	if until := c.majority() + c.cfg.LeaseFor; until-c.lease >= c.cfg.VoterEvery {
		c.extend(until)
	}
}

func (c *Core) extend(until time.Duration) {
	if until > c.lease && until > c.now && c.member && !c.fenced && !c.halted() {
		c.lease = until
		c.emit(Lease{Until: until})
		c.foundMajority()
	}
}

// lonelyAfter is how many times SilentAfter no majority, or no leader, is heard of
// until any member is asked: the voters that are known here may all be gone.
const lonelyAfter = 4

// sendBeat sends a heartbeat to the leader, or if it is not known or silent, to
// the voters in turn, and after long to all members: any of them has a newer view.
func (c *Core) sendBeat() {
	to := c.leader
	switch quiet := c.quiet(); {
	case quiet >= lonelyAfter*c.cfg.SilentAfter && c.seed == "":
		to = c.next(c.memberIDs())
	case to == "" || quiet >= c.cfg.SilentAfter:
		to = c.nextVoter()
	}
	c.beatTo(to)
}

// seek has a leader that has no majority any more ask whether there is another view.
func (c *Core) seek() {
	if c.majority() < c.lead.beat && c.now-c.majority() >= lonelyAfter*c.cfg.SilentAfter && c.now-c.beat >= c.cfg.HeartbeatEvery {
		c.beatTo(c.next(c.memberIDs()))
	}
}

func (c *Core) beatTo(to phalanx.NodeID) {
	c.beat = c.now
	if c.asked == 0 {
		c.asked = c.now
	}
	if to != "" && to != c.cfg.Self.ID {
		by := phalanx.NodeID("")
		if to == c.leader {
			by = c.relay()
		}
		c.emit(SendBeat{To: to, By: by, Beat: Beat{View: c.view.Number, Stamp: c.now, Idle: !c.wants()}})
	}
}

func (c *Core) nextVoter() phalanx.NodeID {
	if seed := c.seed; seed != "" {
		c.seed = ""
		return seed
	}
	return c.next(slices.Clone(c.view.Voters))
}

// next returns one of nodes that is not this one, in turn.
func (c *Core) next(nodes []phalanx.NodeID) phalanx.NodeID {
	others := slices.DeleteFunc(nodes, func(id phalanx.NodeID) bool { return id == c.cfg.Self.ID })
	if len(others) == 0 {
		return ""
	}
	c.turn++
	return others[c.turn%len(others)]
}

func (c *Core) memberIDs() []phalanx.NodeID {
	ids := make([]phalanx.NodeID, len(c.view.Members))
	for i, m := range c.view.Members {
		ids[i] = m.ID
	}
	return ids
}

func (c *Core) hearBeat(from phalanx.NodeID, beat Beat) {
	known := c.view.Has(from)
	switch form := formOf(beat.View); {
	case form > c.view.Form():
		c.askForView(from)
		return
	case form < c.view.Form():
		c.push(from)
		return
	}
	if c.lead == nil || !known {
		if !known || beat.View < c.view.Number {
			c.push(from)
		}
		return
	}
	l := c.lead
	l.heard[from] = c.now
	l.acked[from] = max(l.acked[from], beat.View)
	if at, ok := l.pushed[from]; beat.View < c.view.Number && (!ok || c.now-at >= c.cfg.HeartbeatEvery) {
		c.push(from)
	}
	switch {
	case beat.Idle:
		delete(l.pending, from)
		c.greet(from, beat)
	case c.cfg.IdleAfter == 0 || c.majority() >= c.now-c.cfg.VoterEvery:
		delete(l.pending, from)
		c.grant(from, beat)
	default:
		l.pending[from] = pending{beat, c.now}
		if c.now-l.beat >= c.cfg.VoterEvery {
			c.askVoters()
		}
	}
}

// grant gives from a lease, if it may have one.
func (c *Core) grant(from phalanx.NodeID, beat Beat) {
	if valid := c.majority() + c.cfg.LeaseFor - c.now; valid > 0 {
		c.answer(from, beat, valid)
	}
}

func (c *Core) answer(from phalanx.NodeID, beat Beat, valid time.Duration) {
	l := c.lead
	if c.halted() || c.condemned(from) || !c.voter.current(l.term) {
		return
	}
	l.leases[from] = max(l.leases[from], c.now+valid)
	c.emit(SendReply{To: from, Reply: Reply{Term: l.term, View: c.view.Number, Stamp: beat.Stamp, Valid: valid}})
}

// hearReply counts only with the newest view: so a node whose shards were given
// to another can rely on an old view for at most the length of a lease.
func (c *Core) hearReply(from phalanx.NodeID, r Reply) {
	if r.Term < c.term || c.lead != nil && r.Term <= c.lead.term || r.Stamp > c.now || r.Valid > c.cfg.LeaseFor || !c.view.Has(from) {
		return
	}
	if formOf(r.View) != c.view.Form() {
		return // a lease of the majority of another form
	}
	c.heed(from, r.Term)
	c.detour.replied(from, r.Stamp)
	if c.view.Number >= r.View {
		c.extend(r.Stamp + r.Valid)
	}
}
