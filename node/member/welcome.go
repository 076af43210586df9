package member

import (
	"github.com/phalanx-go/phalanx/protocol/join"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Welcome returns what this node answers to a node that asks to join and says by, and the view that the answer
// has. says is what this node's core says of itself. A node that its view does not have may be about to
// enter: it counts as in no cluster. A node that is in a cluster needs no view.
func Welcome(says, by join.Answer, v view.View) (join.Answer, view.View) {
	if !v.Has(says.From) {
		says.Cluster, says.Ready = "", false
	}
	if says.Cluster == "" || by.Cluster != "" {
		v = view.View{}
	}
	return says, v
}
