package messages

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/detect"
)

// SuspicionToProto returns a member's suspicion as a message to a voter.
func SuspicionToProto(from phalanx.NodeID, a detect.Accuse) *Suspicion {
	return &Suspicion{From: string(from), Node: string(a.Node), Cause: uint32(a.Cause), Told: int64(a.Told)}
}

// SuspicionFromProto returns it as an event of the voter's core.
func SuspicionFromProto(m *Suspicion, now time.Duration) (detect.Accused, error) {
	f := &fields{}
	a := detect.Accused{By: f.node("suspicion.from", m.GetFrom()), Node: f.node("suspicion.node", m.GetNode()), Told: time.Duration(m.GetTold()), Now: now}
	if m.GetCause() > uint32(detect.Refused) {
		f.bad("suspicion.cause", "%d is none", m.GetCause())
	}
	a.Cause = detect.Cause(m.GetCause())
	return a, f.err
}
