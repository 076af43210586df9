package cluster

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/logging"
	"github.com/phalanx-go/phalanx/protocol/detect"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// suspect breaks with a node that this node does not trust to answer: all waits for it
// end, and watchers of its actors hear of it.
func (l *life) suspect(s detect.Suspect) {
	ev := actors.NodeSuspected{Node: s.Node, Cause: s.Cause.String()}
	if s.Cause == detect.Silent {
		ev.Silent = s.Silence
	}
	l.routes.suspect(s.Node)
	l.n.system.EventStream.Publish(ev)
	l.reduces.NodeGone(s.Node, false)
	l.conns.ClosePeer(s.Node)
	if m, ok := l.view.Load().Member(s.Node); ok {
		l.n.remote.ClosePeer(m.Control)
	}
	l.lookAgain()
}

// lookAgain has the view's part of this node see whom it suspects, and a Leave that is under way.
func (l *life) lookAgain() {
	l.tellLeaver()
	if m := l.agreeing.Load(); m != nil {
		m.Look()
	}
}

// trust takes suspect back. Connections are made again when they are needed.
func (l *life) trust(node phalanx.NodeID) {
	l.routes.forget(node)
	l.n.system.EventStream.Publish(actors.NodeTrusted{Node: node})
	l.lookAgain()
}

// condemn asks the voters to remove a node.
func (l *life) condemn(r detect.Remove) {
	if m := l.agreeing.Load(); m != nil {
		l.log.WithField(logging.Peer, r.Node).WithField("witnesses", len(r.Witnesses)).Debug("a node is to be removed")
		m.Propose(view.RemoveMember{Node: r.Node, Dead: r.Dead})
	}
}

// down tells of a node that was removed without having left.
func (l *life) down(node phalanx.NodeID, number uint64) actors.NodeDown {
	ev := actors.NodeDown{Node: node, View: number}
	if s, ok := l.detector.Suspicion(node); ok {
		ev.Cause, ev.Took = s.Cause.String(), l.n.clock()-s.Since
	}
	return ev
}

// controlBroken hears of a broken connection for actors' messages.
func (n *Node) controlBroken(address string, err error) {
	n.refused(address, err)
	if l := n.life.Load(); l != nil {
		l.controlBroken(address, err)
	}
}

func (l *life) controlBroken(address string, err error) {
	l.log.WithError(err).WithField(logging.Address, address).Debug("a control connection broke")
	if m := l.agreeing.Load(); m != nil {
		m.Broken(address)
	}
	if d := l.watching.Load(); d != nil {
		for _, m := range l.view.Load().Members {
			if m.Control == address && m.ID != l.id {
				d.Broken(m.ID)
			}
		}
	}
}

// dataBroken hears of a broken data connection.
func (l *life) dataBroken(peer phalanx.NodeID, err error) {
	l.log.WithError(err).WithField(logging.Peer, peer).Debug("a data connection broke")
	if d := l.watching.Load(); d != nil {
		d.Broken(peer)
	}
}

// beaten hears a heartbeat of another node.
func (l *life) beaten(peer phalanx.NodeID) {
	if d := l.watching.Load(); d != nil {
		d.Beaten(peer)
	}
}

// beatsEnded hears that no more heartbeats of a node come on a connection.
func (l *life) beatsEnded(peer phalanx.NodeID) {
	if d := l.watching.Load(); d != nil {
		d.BeatsEnded(peer)
	}
}

// unanswered hears that the leader of the voters does not reply.
func (l *life) unanswered(leader phalanx.NodeID) {
	if d := l.watching.Load(); d != nil {
		d.Broken(leader)
	}
}

// asked notes that this node sent another, directly, a message that it has to answer.
func (l *life) asked(node phalanx.NodeID) {
	if d := l.watching.Load(); d != nil {
		d.Asked(node)
	}
}

// heard notes that a message came from a node directly.
func (l *life) heard(node phalanx.NodeID) {
	if d := l.watching.Load(); d != nil {
		d.Heard(node)
	}
}

// late returns by how much later than usual this node notices that another is silent.
func (l *life) late() time.Duration {
	if d := l.watching.Load(); d != nil {
		return d.Late()
	}
	return 0
}
