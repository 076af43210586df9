package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	nleave "github.com/phalanx-go/phalanx/node/leave"
	"github.com/phalanx-go/phalanx/protocol/detect"
	"github.com/phalanx-go/phalanx/protocol/leave"
	"github.com/phalanx-go/phalanx/storenode/store"
)

// Leave hands over the data that only this node has, leaves the view, and ends everything that
// Join started. From its first moment on the node takes nothing new: Puts, Reduces and
// Prefetches end with ErrClosed. Calls that run may end; after half of the time they are
// given up.
//
// If ctx ends before everything is handed over, or 10 s have passed and it has no
// deadline, the error says what remains, and the node goes on being a member, as before.
// Leave can be called again. If everything
// is handed over, but no view shows by the deadline that the node is removed, the node
// ends and the error is ErrDeadline. Done tells whether it has ended.
//
// If no other member stays, since all others leave as well or are gone, the node ends soon, and
// without an error: a warning in its log has the number of the objects that it had, and the names
// of the first ten. A member that hung and was removed as the node left has 5 s to join again. Members
// that are gone have half of the time to start again if a Durable service has something to hand over.
//
// A node that the others have removed joins again with its complete copies, so that it
// can hand them over: Leave waits for that. The error is ErrFenced if ctx ends before
// that, if it is removed or its cluster is begun anew as it leaves, or if another process has taken its name. If none of the
// members that it knows runs any more, it ends, and the error is ErrFenced. If the node is
// closed meanwhile the error is ErrClosed. Leaving after it has left is safe.
func (n *Node) Leave(ctx context.Context) error {
	select {
	case <-n.left:
		return nil
	default:
	}
	ctx, cancel := leaveBy(ctx)
	defer cancel()
	select {
	case n.leaves <- struct{}{}:
		defer func() { <-n.leaves }()
	case <-n.left:
		return n.ended()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		e := store.ContextError("leave", "", context.Cause(ctx), "", "the node handed nothing over")
		e.Node = n.ID()
		return e
	}
	select {
	case <-n.left: // while it waited for its turn
		return n.ended()
	default:
	}
	l, err := n.asMember(ctx)
	if err != nil {
		return err
	}
	stays, err := l.leave(ctx)
	if stays && n.stay(l) {
		return err
	}
	n.finish(nil)
	if closed := n.ended(); closed != nil {
		return closed
	}
	return err
}

// Close ends everything that Join started without handing anything over, as if the
// node had crashed: data that only it has is lost.
func (n *Node) Close() {
	n.finish(&phalanx.Error{Op: "leave", Node: n.ID(), Kind: phalanx.ErrClosed, Err: errors.New("the node was closed before it had handed over")})
	<-n.left
}

// asMember waits until a removed node has joined again, and keeps the node from joining
// again while it leaves. It returns the incarnation that leaves.
func (n *Node) asMember(ctx context.Context) (*life, error) {
	for {
		n.mu.Lock()
		l, stop, rejoined := n.life.Load(), n.stop, n.rejoined
		if !l.fenced.Load() {
			n.leaving = true
			n.mu.Unlock()
			stop()
			n.rejoining.Wait()
			return l, nil
		}
		n.mu.Unlock()
		select {
		case <-rejoined:
		case <-n.left:
			return nil, n.ended()
		case <-ctx.Done():
			count, some := n.complete()
			return nil, &phalanx.Error{Op: "leave", Node: l.id, Kind: phalanx.ErrFenced,
				Err: fmt.Errorf("the other members have removed the node, and it has not joined again yet: it handed nothing over, and has %d objects %q: %w", count, some, context.Cause(ctx))}
		}
	}
}

// giveUpJoining keeps the node from joining again.
func (n *Node) giveUpJoining() {
	n.mu.Lock()
	n.leaving = true
	stop := n.stop
	n.mu.Unlock()
	stop()
	n.rejoining.Wait()
}

// stay lets a node that could not leave go on; false: the node has been closed meanwhile.
func (n *Node) stay(l *life) bool {
	n.mu.Lock()
	select {
	case <-n.done:
		n.mu.Unlock()
		return false
	default:
	}
	n.leaving = false
	n.background, n.stop = context.WithCancel(context.Background())
	removed := l.removed
	l.leaver = nil
	n.mu.Unlock()
	if removed {
		l.onFenced()
	}
	return true
}

// leave tries to leave the cluster. If it cannot, the node stays.
func (l *life) leave(ctx context.Context) (stays bool, err error) {
	lv := newLeaver(l, ctx)
	l.n.mu.Lock()
	l.leaver = lv
	if l.removed { // since it does not join again by itself any more
		l.fencedWhileLeaving()
	}
	l.n.mu.Unlock()
	fail := func(k phalanx.Kind, err error) *phalanx.Error {
		return &phalanx.Error{Op: "leave", Node: l.id, Kind: k, Err: err}
	}
	switch e := lv.run(ctx).(type) {
	case nil:
		return false, l.n.ended()
	case leave.Failed:
		kind := phalanx.ErrDeadline
		if e.Canceled {
			kind = phalanx.ErrCanceled
		}
		return true, fail(kind, fmt.Errorf("the node stays a member: %w", e.Remains))
	case leave.Left:
		if e.Alone {
			l.n.endsAlone("the node leaves, and no other member stays")
		}
		switch {
		case e.Fenced:
			return true, fail(phalanx.ErrFenced, l.whyFenced())
		case e.Unseen:
			kind := phalanx.ErrDeadline
			if errors.Is(ctx.Err(), context.Canceled) {
				kind = phalanx.ErrCanceled
			}
			return false, fail(kind, errors.New("the node has handed over everything, but the voters have not agreed to remove it"))
		}
	}
	return false, nil
}

func (l *life) whyFenced() error {
	if l.renews.Load() {
		return errors.New("the cluster was begun anew before the node had handed over everything; it enters that one")
	}
	return errors.New("the voters removed the node before it had handed over everything; it joins again")
}

// tellLeaver tells a Leave that is under way the present view, and what is lost. It needs no lock.
func (l *life) tellLeaver() {
	l.n.mu.Lock()
	lv := l.leaver
	l.n.mu.Unlock()
	if lv != nil {
		lv.tell(nleave.Viewed(l.id, *l.view.Load()))
		lv.tell(l.lost())
	}
}

// lost returns what a node that leaves cannot reach.
func (l *life) lost() leave.Lost {
	return nleave.Lost(l.id, *l.view.Load(), l.majority.Load() != nil, func(id phalanx.NodeID) bool {
		s, suspected := l.detector.Suspicion(id)
		return suspected && s.Cause == detect.Refused
	})
}

// endsAlone warns of the objects that end with a node beside which no member stays.
func (n *Node) endsAlone(why string) {
	if count, some := n.complete(); count > 0 {
		n.log.WithField("objects", count).WithField("named", some).Warn(why + ": the objects that only this node had are lost")
	}
}

// complete returns how many objects the node has whole, and the first ten of them.
func (n *Node) complete() (count int, some []phalanx.ObjectID) {
	for _, info := range n.table.Complete() {
		some = append(some, info.Object)
	}
	slices.Sort(some)
	return len(some), some[:min(10, len(some))]
}

// fencedWhileLeaving tells a Leave that is under way that the node was removed. It needs
// the node's lock.
func (l *life) fencedWhileLeaving() {
	l.removed = true
	if l.leaver != nil {
		l.leaver.tell(nleave.Fenced(l.id, *l.view.Load()))
	}
}

// finish ends a node that does not hand over any more. Calls of Leave that run then
// return why; nil: the node has handed over. The why of the first call counts.
func (n *Node) finish(why *phalanx.Error) {
	n.ending.Do(func() {
		n.why = why
		close(n.done)
		n.stopApps()
		n.shutdown()
		close(n.left)
	})
}

// ended waits until the node has ended, and returns why it ended without leaving, or nil.
func (n *Node) ended() error {
	<-n.left
	if n.why == nil {
		return nil
	}
	return n.why
}

// stopApps stops the actors of the application: their views are released.
func (n *Node) stopApps() {
	n.mu.Lock()
	apps := n.apps
	n.apps = nil
	n.mu.Unlock()
	stopped := make([]*actor.Future, len(apps))
	for i, pid := range apps {
		stopped[i] = n.system.Root.StopFuture(pid)
	}
	for _, f := range stopped { // an actor that does not end holds up no other, nor the node for longer than a future lasts
		_ = f.Wait()
	}
}

// shutdown ends everything that Join has started, in the opposite order.
func (n *Node) shutdown() {
	n.giveUpJoining()
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
	if n.pool != nil {
		n.pool.Close()
	}
}

// leaveGrace is how long a node tries to hand over if its caller gives no deadline.
const leaveGrace = 10 * time.Second

func leaveBy(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ends := ctx.Deadline(); ends {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, leaveGrace)
}
