package workflow

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// Making is an attempt's search of a node that makes an actor, or restores it. The host asks the nodes that Next returns, one after the other, and
// tells with Answered how each has answered.
//
// A node that lacks the kind, does not answer or has left is followed by the next one. If all nodes have answered, and none has the kind, the attempt waits for
// its patience, in pauses: the node that had the kind may begin anew. If the function that makes the actor fails, the attempt asks no other node.
type Making struct {
	seat     *Seat
	version  uint64
	left     []phalanx.NodeID // that were not asked yet
	at       ActorAt          // where the actor is to be made
	silent   bool             // a node did not answer, since the last pause
	patience time.Duration
	waited   time.Duration
}

const (
	// MakingPause is how long an attempt waits until it asks nodes again of which none has had the kind of an actor.
	MakingPause = 500 * time.Millisecond
	// MakingPatience is how long an attempt waits in all.
	MakingPatience = time.Minute
)

// MakingNext says how an attempt goes on that makes an actor.
type MakingNext uint8

// The ways to go on.
const (
	MakingTries  MakingNext = iota // ask the next node
	MakingWaits                    // wait for MakingPause, tell Again which nodes there are, and ask Next again
	MakingDone                     // the actor is made
	MakingFailed                   // the function that makes the actor has failed
	MakingSilent                   // no node can make it, and some do not answer
	MakingLacks                    // no node has the kind
)

// Make begins to make the actor on one of some nodes, at its first version or, if it is restored, at the one after that of before.
func (s *Seat) Make(nodes []phalanx.NodeID, patience time.Duration) *Making {
	m := &Making{seat: s, version: s.at.Version + 1, patience: patience}
	m.Again(nodes)
	return m
}

// Again begins anew with the nodes that there are after a pause.
func (m *Making) Again(nodes []phalanx.NodeID) {
	m.left, m.silent = m.seat.of.spread.order(m.seat.kind, nodes), false
}

// Next returns how the attempt goes on, and with MakingTries the actor that it asks a node to make.
func (m *Making) Next() (at ActorAt, next MakingNext) {
	switch {
	case len(m.left) > 0:
		s := m.seat
		m.at = ActorAt{Node: m.left[0], ID: s.of.nextID(), By: s.of.by, Version: m.version}
		m.left = m.left[1:]
		s.tries = append(s.tries, m.at)
		return m.at, MakingTries
	case m.silent:
		return m.at, MakingSilent
	case m.waited >= m.patience:
		return m.at, MakingLacks
	}
	m.waited += MakingPause
	return m.at, MakingWaits
}

// Answered takes the answer of the node that was asked last. The host need not ask Next if the actor is made, or if that has failed.
func (m *Making) Answered(end ActorEnd) MakingNext {
	s := m.seat
	switch end {
	case ActorDone:
		s.at, s.own = m.at, true
		s.of.spread.added(m.at.Node)
		return MakingDone
	case ActorFailed, ActorCrashed:
		return MakingFailed
	case ActorLacks, ActorSilent:
		m.silent = m.silent || end == ActorSilent
		s.of.spread.cannot(m.at.Node, s.kind)
	}
	return MakingTries
}
