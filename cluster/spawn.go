package cluster

import (
	"context"
	"errors"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
)

// Spawn starts an actor of the application on this node. It is supervised: after
// a panic it starts anew, a little later each time. It ends with the node.
func (n *Node) Spawn(props *actor.Props, name string) (*actor.PID, error) {
	l, err := n.use("spawn", "")
	if err != nil {
		return nil, err
	}
	guarded := n.restarting.Guard(props)
	if name == "" {
		name = "app-" + n.system.ProcessRegistry.NextId()
	}
	pid, err := n.system.Root.SpawnNamed(guarded, name)
	if err != nil {
		kind := phalanx.ErrInternal
		if errors.Is(err, actor.ErrNameExists) {
			kind = phalanx.ErrExists
		}
		return nil, &phalanx.Error{Op: "spawn", Node: l.id, Kind: kind, Err: err}
	}
	n.adopt(pid)
	return pid, nil
}

// adopt takes note of an actor of the application, spawned here or by another node: it
// ends with the node.
func (n *Node) adopt(pid *actor.PID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.apps) >= n.appRoom {
		n.apps = slices.DeleteFunc(n.apps, func(p *actor.PID) bool {
			_, runs := n.system.ProcessRegistry.GetLocal(p.GetId())
			return !runs
		})
		n.appRoom = 2*len(n.apps) + 64
	}
	n.apps = append(n.apps, pid)
	select {
	case <-n.done: // apps may have been stopped already
		n.system.Root.Stop(pid)
	default:
	}
}

// SpawnOn starts an actor of a registered kind on another member, or on this
// one. If name is empty it gets one of its own. It takes protobuf messages from
// other nodes, and any from its own.
func (n *Node) SpawnOn(ctx context.Context, member phalanx.NodeID, kind, name string) (*actor.PID, error) {
	l, err := n.use("spawn", "")
	if err != nil {
		return nil, err
	}
	if member == l.id {
		k, ok := n.cfg.Kinds[kind]
		if !ok {
			return nil, &phalanx.Error{Op: "spawn", Node: l.id, Kind: phalanx.ErrInvalid, Err: errors.New("the kind " + kind + " is not registered there")}
		}
		return n.Spawn(k(n), name)
	}
	m, ok := l.view.Load().Member(member)
	if !ok {
		return nil, &phalanx.Error{Op: "spawn", Node: member, Kind: phalanx.ErrInvalid, Err: errors.New("the node is not a member of the cluster")}
	}
	return n.remote.Spawn(ctx, m.Control, kind, name)
}

// Request sends message to an actor of any member and returns its answer. Messages to and
// from other nodes are protobuf messages, else Request fails with ErrInvalid. It ends
// with ctx, and with ErrUnavailable when there is no such actor or the connection with
// that member breaks: the actor may have taken the message nevertheless. An actor that
// ends before its turn comes answers nothing.
func (n *Node) Request(ctx context.Context, to *actor.PID, message any) (any, error) {
	l, err := n.use("request", "")
	if err != nil {
		return nil, err
	}
	answer, err := n.remote.Request(ctx, to, message)
	var e *phalanx.Error
	if errors.As(err, &e) && e.Node == "" {
		for _, m := range l.view.Load().Members {
			if m.Control == to.GetAddress() {
				e.Node = m.ID
			}
		}
	}
	return answer, err
}

// eventRoom is how many events wait for a slow reader.
const eventRoom = 1024

// Events returns the events of this node, from now on until ctx ends: nodes
// that come and go, recovery, restarted actors. A reader that is too slow
// finds an EventsLost in the place of missed events.
func (n *Node) Events(ctx context.Context) <-chan actors.Event {
	return n.bridge.Subscribe(ctx, eventRoom)
}
