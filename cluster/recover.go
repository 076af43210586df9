package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// RecoverOptions are the optional arguments of Recover.
type RecoverOptions struct {
	// Force has the cluster formed however few members answer. If others live that do not
	// answer, they may form another cluster at the same time; once the two meet, one of them
	// gives way, and objects that were put in it alone are lost.
	Force bool
}

// Recovered is the result of a Recover.
type Recovered struct {
	View       uint64           // the first of the cluster as it was formed anew
	Members    []phalanx.NodeID // that answered
	Missing    []phalanx.NodeID // that are no members any more
	LostShards int              // of the directory, whose owner and backup are missing
}

// Recover has this node form the cluster anew from the members that live, where the majority
// of the voters is lost and will not come back. It returns once this node can be given work.
//
// This node asks all members to halt for it, for two seconds. It is ErrRefused if one of them
// hears the majority of the voters, or if another node does the same at this time; then
// nothing has changed. It is ErrUnavailable if no more than half of the members answer,
// unless Force is given, and ErrClosed if this node is about to leave. Otherwise the members that
// have answered form the cluster from then on. The others are removed as if they had died: of
// objects, only the copies that they alone had are lost, and a shard whose owner and backup are
// missing is rebuilt from the remaining copies. A missing member that comes back learns that
// it was removed, and joins again as a new incarnation. Changes that it acknowledged after the
// others were cut off from it are lost.
func (n *Node) Recover(ctx context.Context, o RecoverOptions) (Recovered, error) {
	const op = "recover"
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, n.cfg.Deadline)
		defer cancel()
	}
	l, err := n.use(op, "")
	if err != nil {
		return Recovered{}, err
	}
	if n.isLeaving() {
		return Recovered{}, &phalanx.Error{Op: op, Node: l.id, Kind: phalanx.ErrClosed, Err: errors.New("the node is about to leave, and the cluster could end with it; form the cluster anew at a member that stays")}
	}
	found, stop := n.found()
	defer stop()
	v, err := l.members.Recover(ctx, o.Force)
	if err != nil {
		return Recovered{}, err
	}
	r := Recovered{View: v.Number, LostShards: v.Lost()}
	for _, m := range v.Members {
		r.Members = append(r.Members, m.ID)
	}
	r.Missing = missing(v)
	if l.errMajority() != nil {
		select {
		case <-found:
		case <-l.done:
			return r, l.err(op, "")
		case <-ctx.Done():
			return r, &phalanx.Error{Op: op, Node: l.id, Kind: phalanx.ErrDeadline, Err: fmt.Errorf("the cluster is formed anew, as view %s, but this node is not ready yet: %w", view.Numbered(v.Number), context.Cause(ctx))}
		}
	}
	return r, nil
}

func (n *Node) isLeaving() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.leaving
}

// found returns a channel, closed when this node reports that the majority of the voters is found.
func (n *Node) found() (<-chan struct{}, func()) {
	found, once := make(chan struct{}), sync.Once{}
	events := n.system.EventStream
	s := events.Subscribe(func(e any) {
		if _, ok := e.(actors.MajorityFound); ok {
			once.Do(func() { close(found) })
		}
	})
	return found, func() { events.Unsubscribe(s) }
}

func missing(v view.View) []phalanx.NodeID {
	out := make([]phalanx.NodeID, len(v.Missing))
	for i, m := range v.Missing {
		out[i] = m.ID
	}
	return out
}
