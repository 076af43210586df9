package cluster

import (
	"errors"
	"fmt"
	"strings"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
	"github.com/phalanx-go/phalanx/storenode/store"
)

// transport brings the directory's values between nodes on the data
// connections, and within the node straight to the actor that they are for.
type transport struct{ l *life }

// maxDirectory is the longest message of the directory: another node can bring it
// too, in an envelope of its own.
const maxDirectory = dataplane.MaxMessage - 2<<10

// Send implements directory.Transport.
func (t transport) Send(to phalanx.NodeID, shard int, v any) error {
	if to == t.l.id {
		t.l.dispatch(to, shard, v)
		return nil
	}
	b, err := messages.MarshalDirectory(shard, v)
	if err == nil && len(b) > maxDirectory {
		err = &phalanx.Error{Op: "send", Object: directory.Subject(v), Node: to, Kind: phalanx.ErrInvalid,
			Err: fmt.Errorf("a %T has %d bytes, at most %d can be sent", v, len(b), maxDirectory)}
	}
	by, relayed := t.l.via(to)
	switch {
	case err != nil:
	case !relayed && directory.Asks(v):
		t.l.asked(to)
	case relayed:
		b, err = messages.MarshalDirectory(shard, messages.Relayed{From: t.l.id, To: to, Message: b})
		to = by
	}
	if err == nil {
		err = t.l.post(to, b)
	}
	if err != nil {
		t.l.n.unsendable(string(to), v, err)
	}
	return err
}

// post hands b to the connections. An error says that it can never be sent. A peer
// for which too much waits, or that is gone, does not get this one, as on the way.
func (l *life) post(to phalanx.NodeID, b []byte) error {
	if err := l.conns.Post(to, b); errors.Is(err, phalanx.ErrInvalid) {
		return err
	}
	return nil
}

// unsendable logs and publishes that a message cannot be sent, which is a mistake of this
// node. It does so once a minute for the same text.
func (n *Node) unsendable(to string, message any, err error) {
	node, _, _ := strings.Cut(to, "/") // each request's sender has a new name
	if !n.unsent.news(fmt.Sprintf("%T to %s: %v", message, node, err), n.clock()) {
		return
	}
	n.log.WithError(err).WithField("peer", to).Errorf("a %T cannot be sent", message)
	n.system.EventStream.Publish(actors.MessageUnsendable{To: to, Message: fmt.Sprintf("%T", message), Cause: err.Error()})
}

// received takes a message of the data connections.
func (l *life) received(from phalanx.NodeID, payload []byte) {
	l.heard(from)
	shard, v, err := messages.UnmarshalDirectory(payload)
	if r, ok := v.(messages.Relayed); ok {
		if from, v = l.relayed(from, r, payload); v == nil {
			return
		}
	}
	if err != nil {
		l.log.WithError(err).WithField("peer", from).Warn("a message cannot be read")
		return
	}
	l.dispatch(from, shard, v)
}

// dispatch hands v to whom it is for. It never blocks.
func (l *life) dispatch(from phalanx.NodeID, shard int, v any) {
	switch v := v.(type) {
	case directory.Reply:
		l.client.Replied(from, v)
	case directory.Readiness:
		l.client.Ready(from, v)
	case directory.Push:
		if v.To == l.id {
			l.n.system.Root.Send(l.store.StorePID, store.Pushed{From: from, Push: v})
		}
	case directory.AskLease:
		if v.To == l.id {
			l.n.system.Root.Send(l.store.StorePID, store.LeaseAsked{From: from, AskLease: v})
		}
	case directory.AckHoldings:
		l.reporter.Acked(from, shard, v.Epoch)
	case directory.Event:
		l.host.Handle(shard, v)
	}
}
