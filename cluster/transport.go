package cluster

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
)

// transport brings the directory's values between nodes on the data
// connections, and within the node straight to the actor that they are for.
type transport struct{ l *life }

// Send implements directory.Transport.
func (t transport) Send(to phalanx.NodeID, shard int, v any) {
	if to == t.l.id {
		t.l.dispatch(to, shard, v)
		return
	}
	b, err := messages.MarshalDirectory(shard, v)
	if by, ok := t.l.relays.to(to, t.l.view.Load().Members, t.l.n.clock()); ok && err == nil {
		b, err = messages.MarshalDirectory(shard, messages.Relayed{From: t.l.id, To: to, Message: b})
		to = by
	}
	if err != nil {
		t.l.log.WithError(err).WithField("peer", to).Errorf("a %T cannot be sent", v)
		return
	}
	t.l.conns.Post(to, b)
}

// received takes a message of the data connections.
func (l *life) received(from phalanx.NodeID, payload []byte) {
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
			l.n.system.Root.Send(l.store.StorePID, storenode.Pushed{From: from, Push: v})
		}
	case directory.AskLease:
		if v.To == l.id {
			l.n.system.Root.Send(l.store.StorePID, storenode.LeaseAsked{From: from, AskLease: v})
		}
	case directory.AckHoldings:
		l.reporter.Acked(from, shard, v.Epoch)
	case directory.Event:
		l.host.Handle(shard, v)
	}
}
