package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/cenkalti/backoff/v5"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/logging"
	"github.com/phalanx-go/phalanx/node/member"
	"github.com/phalanx-go/phalanx/protocol/join"
	"github.com/phalanx-go/phalanx/protocol/leave"
)

// onFenced hears that the others have removed this incarnation. An incarnation that leaves
// by itself hears of it too.
func (l *life) onFenced() {
	n := l.n
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-l.joined:
	default:
		return // Join says so
	}
	select {
	case <-l.done: // before
		return
	default:
	}
	if n.leaving {
		l.fencedWhileLeaving()
		return
	}
	l.fenced.Store(true)
	l.store.Fence()
	l.over()
	if !l.failed.Load() && !l.renews.Load() {
		l.log.Warn("the cluster has removed this node, which joins again unless another process has taken its name")
	}
	n.rejoining.Add(1)
	go n.fenced(l)
}

// fenced tells of the removal, joins again, and tells of that. It holds no lock while it
// tells, and does not count as joining again any more at the end: subscribers may call
// the node, and have it leave.
func (n *Node) fenced(l *life) {
	n.system.EventStream.Publish(actors.NodeFenced{Node: l.id, View: l.view.Load().Number})
	back := n.rejoin(l)
	n.rejoining.Done()
	if back != nil {
		n.system.EventStream.Publish(*back)
		l.foundByNext()
	}
}

// onStopped hears that an indispensable actor was stopped, since it had panicked again and
// again. The node begins anew, as after a removal: the cause of the panics may be gone with
// the incarnation.
func (l *life) onStopped(who *actor.PID) {
	l.failed.Store(true) // before: a join that is under way looks at it afterwards
	l.log.WithField(logging.Actor, who.GetId()).Error("an actor that the node needs panicked too often: the node joins again, and its pending calls end")
	l.onFenced()
}

// giveUpFor bounds how long a node with a failed actor tries to leave before it joins
// again. It may be the only voter.
const giveUpFor = 2 * time.Second

// errDeserted says that no node runs that a removed node could join again.
var errDeserted = errors.New("each seed, and each member of the last view, refuses connections")

// confirmFor bounds how long a node that has joined again gives no object before
// it knows whether its copies are still valid. It does not wait for an owner that is
// silent for longer: complete copies can be read without it.
const confirmFor = 3 * time.Second

// rejoin ends an incarnation that was removed and joins as a new one, again and
// again until it succeeds or the node leaves. It keeps complete copies, and reports them to
// the owners as any newcomer does. It returns nil if the node has not joined again.
func (n *Node) rejoin(old *life) *actors.NodeRejoined {
	began := time.Now()
	var known []string
	for _, m := range old.view.Load().Members {
		switch {
		case m.ID == old.id:
		case m.ID.Name() == old.id.Name(): // to join again would remove it
			old.log.WithField(logging.Peer, m.ID).Warn("another process has taken this node's name: this node does not join again")
			go n.finish(&phalanx.Error{Op: "leave", Node: old.id, Kind: phalanx.ErrFenced,
				Err: fmt.Errorf("the other members have removed the node, and %s has taken its name: objects that only this node had are lost", m.ID)})
			return nil
		default:
			known = append(known, m.Control)
		}
	}
	if old.failed.Load() {
		ctx, cancel := context.WithTimeout(n.background, giveUpFor)
		if err := old.members.Leave(ctx); err != nil {
			old.log.WithError(err).Warn("the node could not leave before it joins again")
		}
		cancel()
	}
	old.end(true)
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 50*time.Millisecond, 2*time.Second
	ordered := false
	l, err := backoff.Retry(n.background, func() (*life, error) {
		l, err := n.begin()
		if err != nil {
			return nil, err
		}
		l.before = old.totals()
		ctx, cancel := context.WithTimeout(n.background, join.EnterFor)
		defer cancel()
		w := n.nextWay(member.Way{Seeds: n.cfg.Seeds, Known: known, Again: true})
		if ordered, err = n.enter(ctx, l, w); err != nil {
			l.log.WithError(err).Warn("the node could not join again yet")
			l.end(true)
			switch {
			case errors.Is(err, phalanx.ErrRefused):
				return nil, backoff.Permanent(err)
			case len(n.leaves) > 0 && l.members.Deserted():
				return nil, backoff.Permanent(fmt.Errorf("%w: %w", errDeserted, err))
			}
			return nil, err
		}
		if w.Restarts > 0 && len(known) > 0 {
			l.awaits = n.clock() + leave.AwaitFor
		}
		ctx, cancel = context.WithTimeout(n.background, confirmFor)
		defer cancel()
		l.store.Confirm(ctx)
		return l, nil
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(0))
	if errors.Is(err, phalanx.ErrRefused) {
		go n.finish(&phalanx.Error{Op: "leave", Node: old.id, Kind: phalanx.ErrFenced,
			Err: fmt.Errorf("the other members have removed the node, and do not admit it again: objects that only this node had are lost: %w", err)})
		return nil
	}
	if errors.Is(err, errDeserted) {
		n.endsAlone("the node leaves, and no member runs any more that it could join again")
		go n.finish(&phalanx.Error{Op: "leave", Node: old.id, Kind: phalanx.ErrFenced,
			Err: fmt.Errorf("the other members have removed the node, and none of them runs any more: objects that only this node had are lost: %w", err)})
		return nil
	}
	if err != nil {
		return nil // the node leaves
	}
	n.mu.Lock()
	leaving, fenced := n.leaving, l.fenced.Load()
	if !leaving && !fenced {
		n.life.Store(l)
		close(n.rejoined)
		n.rejoined = make(chan struct{})
	}
	n.mu.Unlock()
	switch {
	case fenced: // already: it joins again by itself
		return nil
	case leaving:
		l.end(true)
		return nil
	}
	l.log.Warnf("the node has joined again as %s", l.id)
	if ordered {
		defer l.renew()
	}
	return &actors.NodeRejoined{Node: l.id, Was: old.id, Took: time.Since(began)}
}

// met tells that a node, which is a seed of this one or the reverse, is in another cluster,
// which is ready as this one is. Neither cluster knows the objects of the other: an operator
// has to end one of the two.
func (l *life) met(at string, cluster phalanx.NodeID) {
	own := l.view.Load().Cluster
	l.log.WithField(logging.Address, at).WithField(logging.Peer, cluster).Errorf("the node at %s is in another cluster of this name, which %s has begun: end the nodes of one of the two, this one was begun by %s", at, cluster, own)
	l.n.system.EventStream.Publish(actors.ClusterMet{At: at, Cluster: cluster, Own: own})
}
