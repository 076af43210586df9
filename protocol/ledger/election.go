package ledger

import (
	"time"

	"go.etcd.io/raft/v3"
)

// An election begins at a voter when it is told that the leader's node left the view, when the
// leader is silent for Config.SilentAfter, or when the replica has only just begun and hears
// none. The voter with the lowest id campaigns at once, each next one Config.Stagger later. If
// none wins, the same again in rounds that double, so that they outlast a slow network or disk.
//
// A voter that hears a leader supports no other candidate (raft's CheckQuorum with PreVote), so
// it forgets the leader as its own election begins. A leader that a majority does not hear steps
// down by itself, as its followers could not elect another one as long as they hear it.
type election struct {
	on    bool
	term  uint64 // in which it began: a leader of a later term ends it
	round int
	next  time.Duration // when this replica campaigns
}

// maxRound bounds how far rounds are doubled: to 64 times the first.
const maxRound = 6

// left is the leader whose node left the view. Its last messages may still be on their way.
type left struct {
	leader, term uint64
	at           time.Duration
}

// nodeLeft is told by the view. A view can be wrong: it speeds up an election, and decides
// nothing.
func (c *Core) nodeLeft(id uint64) {
	switch {
	case c.node == nil || id == c.id:
	case c.lead != nil:
		c.rouse()
		delete(c.lead.contact, id)
		c.node.ReportUnreachable(id)
	case id == c.leader:
		c.left = left{leader: id, term: c.term, at: c.now}
		c.asleep = false
		c.elect(c.now + time.Duration(c.place())*c.cfg.Stagger)
	}
}

// gone reports whether a leader is taken for gone although it was heard.
func (c *Core) gone(id, term uint64) bool {
	return c.left.leader == id && c.left.term == term && id != raft.None && c.now-c.left.at < c.cfg.SilentAfter
}

// hear notes a sign of life of the leader of a term.
func (c *Core) hear(id, term uint64) {
	if c.gone(id, term) {
		return
	}
	c.heard = c.now
	if c.lead == nil {
		c.election.on = false
	}
}

// sleepMisses is how many heartbeats of a sleeping leader may be missed.
const sleepMisses = 2

func (c *Core) canStand() bool { return c.node != nil && c.lead == nil && c.votes(c.id) }

// silence returns when this replica is to begin an election, if it hears nothing of a leader.
func (c *Core) silence() time.Duration {
	switch {
	case c.alone():
		return c.heard
	case c.asleep:
		return c.heard + sleepMisses*c.cfg.SleepEvery + c.cfg.SilentAfter
	}
	return c.heard + c.cfg.SilentAfter
}

func (c *Core) tickElection() {
	if c.now >= c.silence() {
		c.asleep = false
		_ = c.node.ForgetLeader() // raft never refuses it to a follower
	}
	if !c.canStand() {
		c.election.on = false
		return
	}
	if !c.election.on && c.now >= c.silence() {
		c.elect(c.silence() + time.Duration(c.place())*c.cfg.Stagger)
	}
	// A candidate that waits for its disk would lose by campaigning again.
	if c.election.on && c.now >= c.election.next && c.disk.busy == nil {
		_ = c.node.Campaign()
		c.election.round = min(c.election.round+1, maxRound)
		c.election.next = c.now + c.wait(c.election.round)
	}
}

// elect begins an election, in which this replica campaigns at first.
func (c *Core) elect(first time.Duration) {
	if c.canStand() && !c.election.on {
		c.election = election{on: true, term: c.node.BasicStatus().GetTerm(), next: first}
	}
}

// yield gives a candidate that got this replica's vote the time to win.
func (c *Core) yield() {
	if c.election.on {
		c.election.next = max(c.election.next, c.now+c.wait(max(c.election.round, 1)))
	}
}

// wait returns how long this replica waits in a round: longer the later its place, by a step
// that grows with the rounds.
func (c *Core) wait(round int) time.Duration {
	return time.Duration(len(c.voters())+c.place()) * c.cfg.Stagger << round
}

// place returns how many voters campaign before this one. While the voters change, those that
// go campaign last: one of them may be the only one that has all that is committed.
func (c *Core) place() int {
	place := 0
	for _, id := range c.voters() {
		goes, iGo := !c.stays(id), !c.stays(c.id)
		if id != c.leader && (goes == iGo && id < c.id || !goes && iGo) {
			place++
		}
	}
	return place
}

// heed notes who leads which term, as far as this replica knows.
func (c *Core) heed(term, leader uint64) {
	if term != c.term || leader != c.leader {
		c.asleep = false
		c.term, c.leader = term, leader
		c.emit(Lead{Term: term, Replica: leader})
	}
}

// observe looks what has become of raft.
func (c *Core) observe() {
	if c.node == nil {
		return
	}
	status := c.node.BasicStatus()
	if status.Lead != raft.None && c.lead == nil && c.gone(status.Lead, status.GetTerm()) {
		_ = c.node.ForgetLeader()
		return
	}
	leads := status.RaftState == raft.StateLeader
	if c.lead != nil && (!leads || c.lead.term != status.GetTerm()) {
		c.stopLeading()
		c.heard = c.now // it cannot have heard the next leader yet
	}
	c.heed(status.GetTerm(), status.Lead)
	if c.election.on && status.Lead != raft.None && status.GetTerm() > c.election.term {
		c.election.on = false
	}
	if leads && c.lead == nil {
		c.startLeading(status.GetTerm())
	}
}
