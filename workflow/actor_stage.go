package workflow

import (
	"context"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	flow "github.com/phalanx-go/phalanx/node/workflow"
)

// stage is what attempts need of the nodes on which actors live.
type stage interface {
	// call makes a call and waits for its end; ActorWorks: the context has ended before.
	call(ctx context.Context, c flow.ActorCall) flow.ActorAnswer
	// read says that the answer of a call was read, which was large.
	read(a flow.ActorAnswer)
	// discard has a node forget an actor, if it is at this version. It does not wait.
	discard(a flow.ActorAt)
	// tells publishes an event.
	tells(e actors.Event)
	// patience is how long an attempt waits for a node with the kind of an actor.
	patience() time.Duration
	// places returns the nodes on which actors may be made.
	places() []phalanx.NodeID
}
