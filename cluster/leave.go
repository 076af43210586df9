package cluster

import (
	"context"
	"errors"
	"time"
)

// Leave hands over what only this node has, leaves the view, and ends
// everything that Join started. If ctx ends first, or 10 s have passed and it has no
// deadline, the node goes without having handed over all, and says so. Leaving twice
// is safe.
func (n *Node) Leave(ctx context.Context) error {
	var err error
	first := false
	n.leave.Do(func() { first = true })
	if first {
		ctx, cancel := leaveBy(ctx)
		defer cancel()
		n.mu.Lock()
		n.leaving = true
		n.mu.Unlock()
		n.stopApps()
		n.stop() // what joins again gives up
		n.rejoining.Wait()
		l := n.life.Load()
		if len(n.View().Members) > 1 && !l.fenced.Load() {
			l.store.RefuseHandOvers()
			if err = l.members.Announce(ctx); err == nil {
				objects, enough := forObjects(ctx)
				err = l.handOver(objects)
				enough()
			}
			err = errors.Join(err, l.members.Leave(ctx))
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

// shutdown ends what Join has started, in the opposite order.
func (n *Node) shutdown() {
	n.mu.Lock()
	n.leaving = true
	n.mu.Unlock()
	n.stop()
	n.rejoining.Wait()
	n.stopServices()
	if l := n.life.Load(); l != nil {
		l.end(false)
	}
	if n.remote != nil {
		n.remote.Stop()
	}
	if n.bridge != nil {
		n.bridge.Close()
	}
	if n.system != nil {
		n.system.Shutdown()
		n.workers.Close()
	}
}

// leaveGrace is how long a node tries to hand over if nobody says how long it may.
const leaveGrace = 10 * time.Second

func leaveBy(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ends := ctx.Deadline(); ends {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, leaveGrace)
}

// forObjects leaves a quarter of the time for the shards, and to be removed.
func forObjects(ctx context.Context) (context.Context, context.CancelFunc) {
	end, _ := ctx.Deadline()
	return context.WithTimeout(ctx, time.Until(end)*3/4)
}
