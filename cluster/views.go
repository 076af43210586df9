package cluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// learn takes a new view. Views come in order, from one goroutine at a time.
func (l *life) learn(v view.View) {
	old := l.view.Swap(&v)
	l.routes.learn(v)
	l.client.Learn(v)
	l.host.Learn(v)
	l.reporter.Learn(v)
	l.formedAnew(*old, v)
	l.tellChanges(*old, v)
	l.detector.Learn(v)
	if v.Has(l.id) {
		l.n.tellServices(Viewed{Self: l.id, View: v})
	}
	_, leaving := v.IDs("")
	l.reduces.Leaving(leaving)
	for _, m := range old.Members {
		if !v.Has(m.ID) {
			l.mu.Lock()
			l.gone[m.ID] = true
			l.mu.Unlock()
			l.conns.ClosePeer(m.ID)
			l.part(m)
			l.reduces.NodeGone(m.ID, true)
		}
	}
	l.tellLeaver()
	if v.Has(l.id) {
		l.enter.Do(func() { close(l.joined) })
		select {
		case l.viewed <- struct{}{}:
		default:
		}
		if l.failed.Load() { // before there was anything to be fenced from
			l.onFenced()
		}
	}
}

// part breaks with a node that is no member any more. This node may not have
// suspected it, and never will: if it hangs its connections stay, and watchers of its
// actors, and callers that wait for an answer, would hear nothing. A node that has left
// ends its connections itself, once it knows that it may.
func (l *life) part(m view.Member) {
	end := func() {
		if !slices.ContainsFunc(l.view.Load().Members, func(other view.Member) bool { return other.Control == m.Control }) { // nor came back
			l.n.remote.ClosePeer(m.Control)
		}
	}
	if !m.Leaving {
		end()
		return
	}
	l.run(func() {
		select {
		case <-time.After(lingering):
			end()
		case <-l.done:
		}
	})
}

// lingering is how long a node that has left may take to end its connections.
const lingering = 2 * time.Second

// tellChanges publishes the changes in a view.
func (l *life) tellChanges(old, v view.View) {
	publish := l.n.system.EventStream.Publish
	for _, m := range v.Members {
		if !old.Has(m.ID) {
			publish(actors.NodeJoined{Node: m.ID, View: v.Number})
		}
	}
	for _, m := range old.Members {
		if v.Has(m.ID) {
			continue
		}
		if m.Leaving {
			publish(actors.NodeLeft{Node: m.ID, View: v.Number})
		} else {
			publish(l.down(m.ID, v.Number))
		}
	}
	for i, s := range v.Shards {
		if i < len(old.Shards) && old.Shards[i].Owner != s.Owner && old.Shards[i].Owner != "" {
			if s.LostAt == s.Epoch && s.LostAt != 0 {
				publish(actors.ShardLost{Shard: i, Epoch: s.Epoch, Owner: s.Owner})
				continue
			}
			publish(actors.ShardMoved{Shard: i, Epoch: s.Epoch, From: old.Shards[i].Owner, To: s.Owner, Cause: whyMoved(old.Shards[i].Owner, old, v)})
		}
	}
}

// whyMoved says why the owner of a shard in the view old is another one in v.
func whyMoved(owner phalanx.NodeID, old, v view.View) string {
	was, _ := old.Member(owner)
	is, stays := v.Member(owner)
	switch {
	case !stays && was.Leaving:
		return "its owner has left"
	case !stays:
		return "its owner is down"
	case is.Leaving:
		return "its owner leaves"
	}
	return "the shards are spread over other members"
}

// admit refuses a node that was removed from the view.
func (l *life) admit(from phalanx.NodeID, _ uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone[from] {
		return &phalanx.Error{Node: from, Kind: phalanx.ErrFenced, Err: fmt.Errorf("the node was removed from the cluster")}
	}
	return nil
}
