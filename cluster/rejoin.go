package cluster

import (
	"context"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/cenkalti/backoff/v5"

	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/logging"
)

// onFenced hears that the others have removed this incarnation. One that leaves
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
		return
	}
	l.fenced.Store(true)
	l.store.Fence()
	l.over()
	if !l.failed.Load() {
		l.log.Warn("the cluster has removed this node")
	}
	n.system.EventStream.Publish(actors.NodeFenced{Node: l.id, View: l.view.Load().Number})
	n.rejoining.Go(func() { n.rejoin(l) })
}

// onStopped hears that an actor was stopped, since it had panicked again and again,
// whose work nobody else on this node does. The node begins anew, as one that was
// removed: what has led there may be gone with the incarnation.
func (l *life) onStopped(who *actor.PID) {
	l.failed.Store(true) // before: who joins looks at it afterwards
	l.log.WithField(logging.Actor, who.GetId()).Error("an actor that the node needs panicked too often, it joins again without what it was doing")
	l.onFenced()
}

// giveUpFor bounds how long a node of which an actor has failed tries to leave
// before it joins again. It may be the only voter.
const giveUpFor = 2 * time.Second

// rejoinFor bounds one attempt to join again; the next follows a little later.
const rejoinFor = 10 * time.Second

// confirmFor bounds how long a node that has joined again gives no object before
// it knows whether its copies are still what they should be. An owner that is
// silent for longer is not waited for: complete copies can be read without it.
const confirmFor = 3 * time.Second

// rejoin ends an incarnation that was removed and joins as a new one, again and
// again until it succeeds or the node leaves. What is complete is kept, and told
// to the owners as any newcomer tells what it holds.
func (n *Node) rejoin(old *life) {
	began := time.Now()
	seeds := slices.Clone(n.cfg.Seeds)
	for _, m := range old.view.Load().Members {
		switch {
		case m.ID == old.id:
		case m.ID.Name() == old.id.Name(): // to join again would remove it
			old.log.WithField(logging.Peer, m.ID).Warn("another process has taken this node's name; it does not join again")
			go n.finish()
			return
		case !slices.Contains(seeds, m.Control):
			seeds = append(seeds, m.Control)
		}
	}
	if old.failed.Load() {
		ctx, cancel := context.WithTimeout(n.background, giveUpFor)
		if err := old.members.Leave(ctx); err != nil {
			old.log.WithError(err).Warn("it could not leave before it joins again")
		}
		cancel()
	}
	old.end(true)
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 50*time.Millisecond, 2*time.Second
	l, err := backoff.Retry(n.background, func() (*life, error) {
		l, err := n.begin()
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(n.background, rejoinFor)
		defer cancel()
		if err := l.join(ctx, seeds); err != nil {
			l.log.WithError(err).Warn("it could not join again yet")
			l.end(true)
			return nil, err
		}
		ctx, cancel = context.WithTimeout(n.background, confirmFor)
		defer cancel()
		l.store.Confirm(ctx)
		return l, nil
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(0))
	if err != nil {
		return // the node leaves
	}
	n.mu.Lock()
	leaving, fenced := n.leaving, l.fenced.Load()
	if !leaving && !fenced {
		n.life.Store(l)
	}
	n.mu.Unlock()
	switch {
	case fenced: // already: it joins again by itself
		return
	case leaving:
		l.end(true)
		return
	}
	n.system.EventStream.Publish(actors.NodeRejoined{Node: l.id, Was: old.id, Took: time.Since(began)})
}
