package sim

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/member"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// carried is a message of the directory, or about the view. Another member brings it, because the
// link from its sender to its receiver fails.
type carried struct {
	from, to phalanx.NodeID
	message  any
	brought  bool // the member that brings it has sent it
}

// post sends m to a node, or asks another member to bring it.
func (n *node) post(to phalanx.NodeID, m any) {
	if by, ok := n.routes.To(to, n.clock()); ok && to != n.id {
		n.postBy(by, to, m)
		return
	}
	if to != n.id && asks(m) {
		n.overdue.Ask(to, n.clock())
	}
	n.w.send(n.id, to, m)
}

// postBy asks member by to bring m to a node.
func (n *node) postBy(by, to phalanx.NodeID, m any) {
	n.w.met["message by way of another"]++
	n.w.send(n.id, by, carried{from: n.id, to: to, message: m})
}

// asks reports whether the receiver of m answers it.
func asks(m any) bool {
	switch m := m.(type) {
	case toShard:
		return directory.Asks(m.ev)
	case toHolder:
		return directory.Asks(m.Push)
	case toWatcher:
		return directory.Asks(m.Readiness)
	case askLease, beat:
		return true
	}
	return false
}

// bring receives a carried message, or sends it on to its receiver.
func (n *node) bring(by phalanx.NodeID, c carried) {
	does := member.OfView(n.id, c.to, c.brought)
	if !byAddress(c.message) {
		does = member.OfDirectory(n.id, c.from, by, c.to, !n.routes.Suspects(c.to) && n.view.Has(c.to), n.gone[c.from])
	}
	switch does {
	case member.Pass:
		c.brought = true
		n.w.send(n.id, c.to, c)
	case member.Take:
		n.routes.Hear(c.from, by, n.clock())
		n.receive(c.from, c.message)
	}
}
