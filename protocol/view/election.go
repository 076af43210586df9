package view

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// An election begins at a voter when the connection to its leader breaks, the
// leader is silent or there is none. The surviving voter that is first in the
// view campaigns at once, each next one Stagger later. Where two campaign before
// they hear of each other, the vote may be split: the first of them begins again
// as soon as it hears of it. If none wins, the same again in rounds that double,
// so that they outlast a slow network; a voter that gives another its vote waits
// for a round.
//
// While the voters change, outgoing voters campaign last: one of them may be the
// only one that has all decisions.
type election struct {
	on    bool
	term  uint64 // in which it began; a leader of a later term ends it
	round int
	next  time.Duration // when this node campaigns
}

// maxRound bounds how far rounds are doubled: to 64 times the first.
const maxRound = 6

// broken is told when the stream to a peer broke.
func (c *Core) broken(node phalanx.NodeID) {
	switch {
	case c.lead != nil:
		if id := raftID(node); id != c.id && c.voter.votes(id) {
			c.voter.node.ReportUnreachable(id)
		}
	case node == c.leader && c.canStand():
		c.elect(c.now + time.Duration(c.place())*c.cfg.Stagger)
	}
}

func (c *Core) tickElection() {
	if !c.canStand() {
		c.election.on = false
		return
	}
	switch {
	case c.election.on:
	case c.leader == "": // another voter is campaigning, perhaps in vain
		c.elect(c.now + c.wait(1))
	case c.quiet() >= c.cfg.SilentAfter:
		c.elect(c.now + time.Duration(c.place())*c.cfg.Stagger)
	}
	c.stand()
}

// elect begins an election, unless one is going on.
func (c *Core) elect(first time.Duration) {
	if c.election.on || !c.canStand() {
		return
	}
	c.election = election{on: true, term: c.term, next: first}
	c.stand()
}

// stand campaigns if it is this node's turn.
func (c *Core) stand() {
	if !c.election.on || c.now < c.election.next {
		return
	}
	c.campaign()
	c.election.round = min(c.election.round+1, maxRound)
	c.election.next = c.now + c.wait(c.election.round)
}

func (c *Core) campaign() { _ = c.voter.node.Campaign() }

// yield gives a candidate that got this node's vote the time to win.
func (e *election) yield(c *Core) {
	if e.on {
		e.next = max(e.next, c.now+c.wait(max(e.round, 1)))
	}
}

// wait returns how long this node waits in a round: longer the later its place, by
// a step that grows with the rounds.
func (c *Core) wait(round int) time.Duration {
	return time.Duration(len(c.candidates())+c.place()) * c.cfg.Stagger << round
}

// rival is told that another voter campaigns in the same term, in which neither gets the
// other's vote. While the voters change this node may not know yet that the other one
// votes. Then it does not ask for its vote, and has to take it to a later term.
func (c *Core) rival(node phalanx.NodeID) {
	all := c.candidates()
	if slices.Index(all, node) > slices.Index(all, c.cfg.Self.ID) || !c.voter.votes(raftID(node)) {
		c.election.next = c.now
		c.stand()
	}
}

// outdated is told that a voter is in a later term than the one in which this node
// campaigned, and begins again. While the voters change, that one may not know yet that
// this node votes: it would never ask for its vote, and campaign in vain for ever, always
// a term ahead.
func (c *Core) outdated() {
	c.election.next = c.now
	c.stand()
}

// place returns how many surviving voters campaign before this one.
func (c *Core) place() int {
	place := 0
	for _, id := range c.candidates() {
		if id == c.cfg.Self.ID {
			break
		}
		if id != c.leader {
			place++
		}
	}
	return place
}

// candidates returns the nodes that may campaign, in their order.
func (c *Core) candidates() []phalanx.NodeID {
	conf := c.voter.conf
	var all []phalanx.NodeID
	add := func(id phalanx.NodeID) {
		if id != "" && !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	for _, m := range c.view.Members {
		if slices.Contains(conf.GetVoters(), raftID(m.ID)) {
			add(m.ID)
		}
	}
	for _, id := range c.view.Voters {
		add(id)
	}
	for _, id := range conf.GetVotersOutgoing() {
		add(c.peers[id])
	}
	return all
}

func (c *Core) canStand() bool {
	return !c.halted() && c.voter != nil && c.lead == nil && c.voter.votes(c.id)
}
