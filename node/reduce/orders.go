package reduce

import (
	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// Key names a place of one Reduce on a node.
type Key struct {
	Target phalanx.ObjectID
	Reduce phalanx.Generation
	Place  int // position
}

// Verdict has the consequences of a coordinator's order at the node that gets it.
type Verdict struct {
	Key    Key
	Starts bool            // start the place first
	Event  core.PlaceEvent // for the place; nil: it is not here
	Answer core.Event      // instead of the place's; nil: none
}

// Obey decides the consequences of a coordinator's order. Only a Command starts a place: a place
// that is not here has ended, and has nothing. A node that leaves starts none. An Inspect is
// about all places of a Reduce, and not for Obey.
func Obey(order core.Effect, self phalanx.NodeID, leaves bool, here func(Key) bool) Verdict {
	v, absent := verdictOf(order, self)
	switch _, command := order.(core.Command); {
	case here(v.Key):
		return v
	case command && leaves:
		s := order.(core.Command).State
		absent = core.Refused{Place: s.Place, Node: self, Attempt: s.Attempt, Version: s.Version, Kind: phalanx.ErrClosed, Text: "the node is leaving the cluster"}
	case command:
		v.Starts = true
		return v
	}
	return Verdict{Key: v.Key, Answer: absent}
}

// verdictOf returns the verdict of a node that has the place, and the answer of one that has not.
func verdictOf(order core.Effect, self phalanx.NodeID) (v Verdict, absent core.Event) {
	switch o := order.(type) {
	case core.Command:
		return Verdict{Key: Key{o.State.Target, o.State.Reduce, o.State.Place}, Event: core.Commanded{State: o.State}}, nil
	case core.Stop:
		return Verdict{Key: Key{o.Target, o.Reduce, o.Place}, Event: core.Stopping{Place: o.Place, Attempt: o.Attempt, Gen: o.Gen, Final: o.Final, TargetGen: o.TargetGen}},
			core.Stopped{Place: o.Place, Node: self, Gen: o.Gen}
	case core.AskDelivered:
		return Verdict{Key: Key{o.Target, o.Reduce, o.Parent}, Event: core.Asked{ParentGen: o.ParentGen, Child: o.Child, ChildGen: o.ChildGen}},
			core.NotDelivered{Parent: o.Parent, ParentGen: o.ParentGen, Child: o.Child, ChildGen: o.ChildGen}
	case core.AskRuns:
		return Verdict{Key: Key{o.Target, o.Reduce, o.Place}, Event: core.AskedRuns{Place: o.Place, Gen: o.Gen}},
			core.PlaceLost{Place: o.Place, Gen: o.Gen, Reason: core.LostPanic, Text: "the place does not run any more"}
	}
	return Verdict{}, nil
}
