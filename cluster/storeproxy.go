package cluster

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/store"
)

// storeProxyName is the name of the process that Node.Store returns.
const storeProxyName = "objects"

// storeProxy takes the application actors' messages of package storenode. It outlives the
// incarnations of the node: it hands a message to the store of the present one, on the
// goroutine of the sender. It answers the message itself while a call of Node would fail
// too, since there is no store, or the store does not yet know which of its copies were
// deleted.
type storeProxy struct{ n *Node }

var _ actor.Process = storeProxy{}

// SendUserMessage hands a message on.
func (d storeProxy) SendUserMessage(_ *actor.PID, message any) {
	l := d.n.life.Load()
	ctx, p := putIn(context.Background(), actor.UnwrapEnvelopeMessage(message))
	if l.short(p) == nil {
		d.answer(message, d.pass(message))
		return
	}
	go func() { // the sender must not wait
		err := l.enough(ctx, p)
		if err == nil {
			err = d.pass(message)
		}
		d.answer(message, err)
	}()
}

// putIn returns the Put that request is, if it is one, and the context in which it is done.
func putIn(ctx context.Context, request any) (context.Context, *storenode.Put) {
	switch m := request.(type) {
	case *storenode.Put:
		return ctx, m
	case *storenode.Within:
		if m != nil && m.Context != nil {
			return putIn(m.Context, m.Request)
		}
	}
	return ctx, nil
}

// answer tells the sender of a message that it ends with err, if that is not nil.
func (d storeProxy) answer(message any, err error) {
	if err == nil {
		return
	}
	_, request, sender := actor.UnwrapEnvelope(message)
	if answer, ok := store.Refuse(request, err); ok && sender != nil {
		d.n.system.Root.Send(sender, answer)
	}
}

func (d storeProxy) pass(message any) error {
	d.n.gate.RLock()
	defer d.n.gate.RUnlock()
	l, err := d.n.use("", "")
	if err != nil {
		return err
	}
	d.n.system.Root.Send(l.store.StorePID, message)
	return nil
}

// SendSystemMessage does nothing: no actor stops the proxy, and its watchers end with the
// node.
func (d storeProxy) SendSystemMessage(*actor.PID, any) {}

// Stop does nothing.
func (d storeProxy) Stop(*actor.PID) {}
