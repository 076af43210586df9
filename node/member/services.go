package member

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
	"github.com/phalanx-go/phalanx/protocol/group"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// ForBarriers returns the part of v that the core of the barriers on self takes: the members that
// have the feature, and which of them are about to leave.
func ForBarriers(feature string, self phalanx.NodeID, v view.View) barrier.Viewed {
	members, leaving := v.IDs(feature)
	return barrier.Viewed{Self: self, Number: v.Number, Members: members, Leaving: leaving}
}

// ForGroups returns the part of v that the core of the groups on self takes: the members that
// have the feature. A member that is about to leave counts until it has left.
func ForGroups(feature string, self phalanx.NodeID, v view.View) group.Viewed {
	members, _ := v.IDs(feature)
	e := group.Viewed{Self: self, Number: v.Number, Members: make(map[phalanx.NodeID]bool, len(members))}
	for _, id := range members {
		e.Members[id] = true
	}
	return e
}
