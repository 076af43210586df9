package cluster

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/logging"
	"github.com/phalanx-go/phalanx/protocol/detect"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// suspect breaks with a node that this node does not trust to answer: whatever
// waits for it ends, and whoever watches an actor there hears of it.
func (n *Node) suspect(s detect.Suspect) {
	ev := actors.NodeSuspected{Node: s.Node, Cause: s.Cause.String()}
	if s.Cause == detect.Silent {
		ev.Silent = s.Silence
	}
	n.system.EventStream.Publish(ev)
	n.conns.ClosePeer(s.Node)
	if m, ok := n.view.Load().Member(s.Node); ok {
		n.remote.ClosePeer(m.Control)
	}
}

// trust takes suspect back. Connections are made again when they are needed.
func (n *Node) trust(node phalanx.NodeID) {
	n.system.EventStream.Publish(actors.NodeTrusted{Node: node})
}

// condemn asks the voters to remove a node.
func (n *Node) condemn(r detect.Remove) {
	if m := n.agreeing.Load(); m != nil {
		n.log.WithField(logging.Peer, r.Node).WithField("witnesses", len(r.Witnesses)).Debug("a node is to be removed")
		m.Propose(view.RemoveMember{Node: r.Node, Dead: r.Dead})
	}
}

// down tells of a node that was removed without having left.
func (n *Node) down(node phalanx.NodeID, number uint64) actors.NodeDown {
	ev := actors.NodeDown{Node: node, View: number}
	if s, ok := n.detector.Suspicion(node); ok {
		ev.Cause, ev.Took = s.Cause.String(), n.clock()-s.Since
	}
	return ev
}

// controlBroken hears of a broken connection for actors' messages.
func (n *Node) controlBroken(address string, err error) {
	n.log.WithError(err).WithField(logging.Address, address).Debug("a control connection broke")
	if m := n.agreeing.Load(); m != nil {
		m.Broken(address)
	}
	if d := n.watching.Load(); d != nil {
		for _, m := range n.view.Load().Members {
			if m.Control == address && m.ID != n.id {
				d.Broken(m.ID)
			}
		}
	}
}

// dataBroken hears of a broken data connection.
func (n *Node) dataBroken(peer phalanx.NodeID, err error) {
	n.log.WithError(err).WithField(logging.Peer, peer).Debug("a data connection broke")
	if d := n.watching.Load(); d != nil {
		d.Broken(peer)
	}
}
