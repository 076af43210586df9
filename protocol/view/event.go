package view

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// Event is everything that can happen to a Core. Now is the time since the
// node's start, by its own clock, and never falls.
type Event interface{ at() time.Duration }

type (
	// Boot makes this node the first of a new cluster, whose views have Restarts.
	Boot struct {
		Now      time.Duration
		Restarts uint64
	}

	// Tick says that time passed, and names the voters of the view that this node suspects; other
	// names do not matter. It comes when Due says so, or when the suspicions change.
	Tick struct {
		Suspects []phalanx.NodeID
		Now      time.Duration
	}

	// Want says that the own node has requests that need a lease. It has to come again
	// within Config.IdleAfter for as long as that is so.
	Want struct{ Now time.Duration }

	// Learn brings a view: from a seed, with Term 0, or from a Push.
	Learn struct {
		From phalanx.NodeID
		Term uint64
		View View
		Now  time.Duration
	}

	// Receive brings the bytes of a Send of From, or any other bytes.
	Receive struct {
		From phalanx.NodeID
		Data []byte
		Now  time.Duration
	}

	// Propose asks for Command. If From is empty it comes from this node, which
	// repeats it until it is settled; else a Forward brought it.
	Propose struct {
		From    phalanx.NodeID
		Relayed bool // as in Forward
		Command Command
		Now     time.Duration
	}

	// PeerBroken says that the control stream to Node broke, or that Node is
	// suspected for another reason.
	PeerBroken struct {
		Node phalanx.NodeID
		Now  time.Duration
	}

	// HearBeat brings the heartbeat of a member.
	HearBeat struct {
		From phalanx.NodeID
		Beat Beat
		Now  time.Duration
	}

	// Recover asks this node to form the cluster anew from the members that live, since
	// the majority of the voters is lost for good. Force: however few answer.
	Recover struct {
		Force bool
		Now   time.Duration
	}

	// HearHalt brings the request of a node that forms the cluster anew.
	HearHalt struct {
		From phalanx.NodeID
		Halt Halt
		Now  time.Duration
	}

	// HearHalted brings the answer to that.
	HearHalted struct {
		From   phalanx.NodeID
		Halted Halted
		Now    time.Duration
	}

	// HearReply brings the answer to a heartbeat.
	HearReply struct {
		From  phalanx.NodeID
		Reply Reply
		Now   time.Duration
	}
)

// Beat is a member's heartbeat to the leader. It also acknowledges views.
type Beat struct {
	View  uint64        // the newest view that the member has
	Stamp time.Duration // the member's clock
	Idle  bool          // it needs no lease
}

// Reply is the leader's answer to a Beat.
type Reply struct {
	Term  uint64        // of the leader
	View  uint64        // the newest that the leader knows
	Stamp time.Duration // of the Beat
	Valid time.Duration // how long after Stamp the lease ends, if the member has View
}

func (e Boot) at() time.Duration       { return e.Now }
func (e Tick) at() time.Duration       { return e.Now }
func (e Want) at() time.Duration       { return e.Now }
func (e Learn) at() time.Duration      { return e.Now }
func (e Receive) at() time.Duration    { return e.Now }
func (e Propose) at() time.Duration    { return e.Now }
func (e PeerBroken) at() time.Duration { return e.Now }
func (e HearBeat) at() time.Duration   { return e.Now }
func (e HearReply) at() time.Duration  { return e.Now }
func (e Recover) at() time.Duration    { return e.Now }
func (e HearHalt) at() time.Duration   { return e.Now }
func (e HearHalted) at() time.Duration { return e.Now }
