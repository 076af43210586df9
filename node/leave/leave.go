// Package leave decides which events the core of a leaving node gets from the node's views and
// from the owners' answers.
//
// Package cluster hosts it with the core of protocol/leave, and so does package sim.
//
// Hosts: cluster, sim.
package leave

import (
	"math"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	core "github.com/phalanx-go/phalanx/protocol/leave"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Viewed returns a view as the core takes it.
func Viewed(self phalanx.NodeID, v view.View) core.Viewed {
	ev := core.Viewed{Number: v.Number, Left: v.Left, Member: v.Has(self), Shards: v.Held(self)}
	for _, s := range v.Shards {
		ev.Owners = append(ev.Owners, s.Owner)
	}
	for _, m := range v.Members {
		switch {
		case m.ID == self:
			ev.Marked = m.Leaving
		case m.Leaving:
			ev.Others++
		default:
			ev.Others++
			ev.Stay++
		}
	}
	return ev
}

// Fenced is later than every view: the node hears that it was removed, and not in which view. V is
// the last view that it has. A removal that it has asked for may be void by now.
func Fenced(self phalanx.NodeID, v view.View) core.Viewed {
	ev := Viewed(self, v)
	ev.Number, ev.Left, ev.Member = math.MaxUint64, math.MaxUint64, false
	return ev
}

// Lost returns what the node has lost: the majority of the voters, and members that stay, whose
// processes are known to be gone.
func Lost(self phalanx.NodeID, v view.View, majority bool, gone func(phalanx.NodeID) bool) core.Lost {
	ev := core.Lost{Majority: majority}
	for _, m := range v.Members {
		if m.ID != self && !m.Leaving && gone(m.ID) {
			ev.Gone++
		}
	}
	return ev
}

// Requests has the numbers of the unanswered requests to the owners of copies.
type Requests map[core.Copy]uint64

// Ask notes a request and returns its body.
func (r Requests) Ask(e core.Ask, num uint64) directory.AwaitCopies {
	r[e.Copy] = num
	return directory.AwaitCopies{Gen: e.Gen, Leaving: e.View}
}

// Forget returns the number of a request that the host takes back, or 0.
func (r Requests) Forget(c core.Copy) (num uint64) {
	num = r[c]
	delete(r, c)
	return num
}

// Answered returns an owner's answer to request num as an event of the core; false: the request
// was taken back, and the answer says nothing about the request after it.
func (r Requests) Answered(c core.Copy, num uint64, owner phalanx.NodeID, a directory.Result) (core.Event, bool) {
	if r[c] != num {
		return nil, false
	}
	if a.Waiting {
		return core.Waits{Copy: c, Node: owner}, true
	}
	delete(r, c)
	return core.Answered{Copy: c, Kind: a.Kind, Node: owner, Text: a.Text}, true
}
