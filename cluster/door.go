package cluster

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/storenode"
)

// doorName is the name of the process that Node.Store returns.
const doorName = "objects"

// door is what the actors of the application send the messages of package storenode
// to. It outlives the incarnations of the node: it hands a message to the store
// of the present one, on the goroutine of the sender, and answers it itself while
// a call of Node would fail too, since there is no store, or one that does not yet
// know which of its copies were deleted.
type door struct{ n *Node }

var _ actor.Process = door{}

// SendUserMessage hands a message on.
func (d door) SendUserMessage(_ *actor.PID, message any) {
	err := d.pass(message)
	if err == nil {
		return
	}
	_, request, sender := actor.UnwrapEnvelope(message)
	if answer, ok := storenode.Refuse(request, err); ok && sender != nil {
		d.n.system.Root.Send(sender, answer)
	}
}

func (d door) pass(message any) error {
	d.n.gate.RLock()
	defer d.n.gate.RUnlock()
	l, err := d.n.use("", "")
	if err != nil {
		return err
	}
	d.n.system.Root.Send(l.store.StorePID, message)
	return nil
}

// SendSystemMessage does nothing: nobody stops the door, and who watches it ends with
// the node.
func (d door) SendSystemMessage(*actor.PID, any) {}

// Stop does nothing.
func (d door) Stop(*actor.PID) {}
