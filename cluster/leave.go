package cluster

import (
	"context"
	"errors"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
)

// Leave hands over what only this node has, leaves the view, and ends
// everything that Join started. If ctx ends first the node goes without having
// handed over all, and says so. Leaving twice is safe.
func (n *Node) Leave(ctx context.Context) error {
	var err error
	first := false
	n.leave.Do(func() { first = true })
	if first {
		ctx, cancel := context.WithTimeout(ctx, leaveGrace)
		defer cancel()
		n.mu.Lock()
		n.leaving = true
		n.mu.Unlock()
		n.stopApps()
		if len(n.View().Members) > 1 && !n.fenced.Load() {
			n.store.RefuseHandOvers()
			if err = n.members.Announce(ctx); err == nil {
				err = n.handOver(ctx)
			}
			err = errors.Join(err, n.members.Leave(ctx))
		}
		n.finishOnce()
	}
	<-n.left
	return err
}

// finish ends a node that does not hand over any more.
func (n *Node) finish() {
	n.leave.Do(n.finishOnce)
}

func (n *Node) finishOnce() {
	close(n.done)
	n.stopApps()
	n.shutdown()
	close(n.left)
}

// stopApps stops the actors of the application: what they hold is released.
func (n *Node) stopApps() {
	n.mu.Lock()
	apps := n.apps
	n.apps = nil
	n.mu.Unlock()
	for _, pid := range apps {
		_ = n.system.Root.StopFuture(pid).Wait()
	}
}

// shutdown ends what start has started, in the opposite order.
func (n *Node) shutdown() {
	if n.detector != nil {
		n.detector.Stop()
	}
	if n.members != nil {
		n.members.Stop()
	}
	if n.reduces != nil {
		n.reduces.Close()
	}
	if n.places != nil {
		n.places.Close()
	}
	if n.host != nil {
		n.host.Close()
	}
	if n.store != nil {
		n.store.Close()
	}
	n.stopActors(n.evictor)
	if n.stop != nil {
		n.stop()
	}
	n.background.Wait()
	if n.conns != nil {
		_ = n.conns.Close()
	}
	if n.store != nil {
		n.store.Table.Close(&phalanx.Error{Node: n.id, Kind: phalanx.ErrClosed})
	}
	if n.remote != nil {
		n.remote.Stop()
	}
	if n.bridge != nil {
		n.bridge.Close()
	}
	if n.system != nil {
		n.system.Shutdown()
	}
}

func (n *Node) stopActors(pids ...*actor.PID) {
	for _, pid := range pids {
		if pid != nil {
			_ = n.system.Root.StopFuture(pid).Wait()
		}
	}
}
