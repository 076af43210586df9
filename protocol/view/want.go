package view

import (
	"maps"
	"slices"
	"time"

	"go.etcd.io/raft/v3"

	"github.com/phalanx-go/phalanx"
)

// A lease costs messages, between its node and the leader and between the leader and the
// voters. While a node has no requests that need a lease it has none (Config.IdleAfter):
// its detector notices failures, and it hears of the voters every Config.IdleEvery, so
// that it learns of a lost view. The next request waits for as long as the voters take
// to answer the leader, and the leader to answer the node.

// pending is a heartbeat that waits until a majority has answered the leader.
type pending struct {
	beat Beat
	at   time.Duration
}

// wants reports whether this node keeps a lease: it has requests that need one, it had some and its
// lease ended while it did, or it has to see whether there is one to be had. In the second case
// the node keeps asking until it has another lease: services ask again only with a lease.
func (c *Core) wants() bool {
	return c.cfg.IdleAfter == 0 || c.now-c.wanted < c.cfg.IdleAfter || c.member && c.lease < c.wanted+c.cfg.IdleAfter || c.alarm.Lost || c.apart()
}

// apart reports whether this node hears nothing of a leader, or as the leader not of most
// voters.
func (c *Core) apart() bool {
	if c.lead != nil {
		return c.now-c.majority() > c.cfg.IdleEvery+c.cfg.SilentAfter
	}
	return c.leader == "" || c.quiet() >= c.cfg.SilentAfter
}

// want asks for a lease at once if this node has none, and no request has needed one lately. After
// that it asks the leader every HeartbeatEvery.
func (c *Core) want() {
	first := !c.wants()
	if first {
		c.alarm.idle = c.now
	}
	c.wanted = c.now
	switch {
	case c.cfg.IdleAfter == 0 || !c.member || c.now < c.lease:
	case c.lead != nil:
		if c.now-c.lead.beat >= c.cfg.VoterEvery {
			c.askVoters()
		}
	case first:
		c.sendBeat()
	}
}

// quiet returns for how long nothing was heard of the leader although it was to answer.
func (c *Core) quiet() time.Duration {
	switch {
	case c.cfg.IdleAfter == 0:
		return c.now - c.heard
	case c.asked == 0:
		return 0
	}
	return c.now - max(c.heard, c.asked)
}

// beatEvery returns how often this node sends the leader a heartbeat: seldom if it is
// idle and the last one was answered.
func (c *Core) beatEvery() time.Duration {
	if c.wants() || c.asked > 0 {
		return c.cfg.HeartbeatEvery
	}
	return c.cfg.IdleEvery
}

// voterEvery returns how often this leader sends the voters a heartbeat: seldom if it has no
// requests, and all voters have all decisions. A leader that hands over takes no command before
// the next one leads, or ten of its heartbeats are over.
func (c *Core) voterEvery() time.Duration {
	l := c.lead
	switch {
	case c.cfg.IdleAfter == 0 || len(l.pending) > 0 || c.majority() < l.beat || l.wanted != nil ||
		c.now-l.stirred < c.cfg.IdleAfter || c.voter.joint() || !c.voter.level() || c.voter.node.BasicStatus().LeadTransferee != raft.None:
		return c.cfg.VoterEvery
	case c.wants():
		return c.cfg.HeartbeatEvery
	}
	return c.cfg.IdleEvery
}

// grantAll gives a lease to members that have waited for the majority that has answered now.
func (c *Core) grantAll() {
	l := c.lead
	for _, from := range slices.Sorted(maps.Keys(l.pending)) {
		if p := l.pending[from]; c.majority() >= p.at-c.cfg.VoterEvery {
			delete(l.pending, from)
			c.grant(from, p.beat)
		}
	}
}

// greet answers the heartbeat of a member that needs no lease: it hears that this node
// leads, if most of the voters have said so lately.
func (c *Core) greet(from phalanx.NodeID, beat Beat) {
	majority := c.majority()
	if c.now-majority <= c.cfg.IdleEvery+c.cfg.SilentAfter {
		c.answer(from, beat, max(majority+c.cfg.LeaseFor-c.now, 0))
	}
}
