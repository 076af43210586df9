package view

import (
	"errors"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A node that forms the cluster anew asks the others to halt first (form.go). A member that
// halts neither votes, nor leads, nor has a lease, and lets no other node form: so a majority
// that comes back at the same moment decides nothing that needs this member.

// haltFor is how long a member that has promised to halt does so. It is twice as long as a
// promise counts for the node that forms, so that their clocks and the network have time.
const haltFor = 10 * time.Second

// Halt asks a member to halt.
type Halt struct {
	Form    Form          // in which the asking node would form the cluster
	Stamp   time.Duration // its clock
	View    uint64        // the newest view that it has
	Release bool          // it does not form the cluster: the member need not halt for it any more
}

// Halted answers a Halt.
type Halted struct {
	Form  Form          // of the Halt
	Stamp time.Duration // of the Halt
	Why   HaltRefusal   // 0: it halts

	Promised Form             // the latest form that it knows of, or has promised to halt for
	To       phalanx.NodeID   // the node to which it has promised that, or ""
	Term     uint64           // the latest that it knows
	View     View             // its own, if that is newer than the one of the Halt
	Gone     []phalanx.NodeID // nodes that were removed, if it has voted
}

// HaltRefusal says why a member does not halt.
type HaltRefusal uint8

// The reasons.
const (
	Halts         HaltRefusal = iota
	HearsMajority             // the majority of the voters is not lost, as it sees it
	HaltsForOther             // it has promised another node to halt
	KnowsLater                // it knows of that form, or of a later one
	NoMember                  // its view does not have the node that asks
)

// MaxHaltRefusal is the last reason.
const MaxHaltRefusal = NoMember

// promise names the node for which a node halts. The form is kept after the promise has ended: a
// later forming takes a later form.
type promise struct {
	to    phalanx.NodeID
	form  Form
	until time.Duration
	asked time.Duration // by the clock of to, the latest that this node knows
}

// halted reports whether this node takes part in nothing now.
func (c *Core) halted() bool { return c.now < c.promise.until }

// halt promises to halt for another node, or for this one, or says why not.
func (c *Core) halt(from phalanx.NodeID, form Form) HaltRefusal {
	p := &c.promise
	switch {
	case !c.view.Has(from):
		return NoMember
	case !c.alarm.Lost:
		return HearsMajority
	case p.to != from && c.now < p.until:
		return HaltsForOther
	case form <= c.view.Form() || form < p.form || form == p.form && p.to != from:
		return KnowsLater
	}
	*p = promise{to: from, form: form, until: c.now + haltFor}
	return Halts
}

// latestForm returns the latest form that this node knows.
func (c *Core) latestForm() Form { return max(c.view.Form(), c.promise.form) }

// latestTerm returns the latest term that this node knows.
func (c *Core) latestTerm() uint64 {
	if c.voter == nil {
		return c.term
	}
	return max(c.term, c.voter.node.BasicStatus().GetTerm())
}

func (c *Core) hearHalt(from phalanx.NodeID, h Halt) {
	switch {
	case !c.member:
		return
	case h.Release:
		if c.promise.to == from && c.promise.form == h.Form && h.Stamp >= c.promise.asked {
			c.promise.until, c.promise.asked = 0, h.Stamp
		}
		return
	case c.promise.to == from && c.promise.form == h.Form && h.Stamp <= c.promise.asked: // it comes late, or again
		return
	case c.forming != nil && h.Form > c.forming.form && c.view.Has(from) && c.alarm.Lost:
		c.notFormed(phalanx.ErrRefused, from, errors.New("the node forms the cluster anew at the same time, and goes first: look at its result"))
	}
	answer := Halted{Form: h.Form, Stamp: h.Stamp, Why: c.halt(from, h.Form)}
	if answer.Why == Halts {
		c.promise.asked = h.Stamp
	}
	answer.Promised, answer.To, answer.Term = c.latestForm(), c.promise.to, c.latestTerm()
	if c.view.Number > h.View {
		answer.View = c.view
	}
	if c.voter != nil {
		answer.Gone = c.voter.state.Gone
	}
	c.emit(SendHalted{To: from, Halted: answer})
}
