package workflow

import (
	"context"
	"errors"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// watchAfter is how long an object may take before a reader asks whether it is lost.
const watchAfter = 50 * time.Millisecond

var errLost = errors.New("every node that had it has left the cluster")

// unlessLost returns a context that ends once an object is lost: a read of it would wait until somebody puts it
// again. The caller calls stop, with the error of the read, which returns it or ErrLost.
func unlessLost(ctx context.Context, n *cluster.Node, id phalanx.ObjectID) (inner context.Context, stop func(error) error) {
	inner, cancel := context.WithCancelCause(ctx)
	lost := &phalanx.Error{Op: "get", Object: id, Kind: phalanx.ErrLost, Err: errLost}
	timer := time.AfterFunc(watchAfter, func() {
		_ = n.Watch(inner, id, func(at cluster.Locations) bool {
			if at.State == "lost" {
				cancel(lost)
			}
			return at.State != "lost"
		})
	})
	return inner, func(err error) error {
		timer.Stop()
		cancel(nil)
		if err != nil && context.Cause(inner) == lost {
			return lost
		}
		return err
	}
}

// TryGet implements objects. A lost object is ErrLost at once.
func (s nodeStore) TryGet(ctx context.Context, id phalanx.ObjectID) (*storenode.View, error) {
	ctx, stop := unlessLost(ctx, s.Node, id)
	v, err := s.Node.TryGet(ctx, id)
	return v, stop(err)
}
