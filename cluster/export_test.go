package cluster

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Oust has the voters remove a node that lives.
func (n *Node) Oust(node phalanx.NodeID) {
	n.life.Load().members.Propose(view.RemoveMember{Node: node, Dead: true})
}
