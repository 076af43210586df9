package cluster

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/node/member"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// learn takes a new view. Views come in order, from one goroutine at a time.
func (l *life) learn(v view.View) {
	old := l.view.Swap(&v)
	for _, s := range member.Learn(l.id, *old, v) {
		switch s := s.(type) {
		case member.Routes:
			l.routes.learn(v)
		case member.Requests:
			l.client.Learn(v)
		case member.Replicas:
			l.host.Learn(v)
		case member.Lists:
			l.reporter.Learn(v)
		case member.Events:
			for _, c := range member.Changes(*old, v) {
				l.publish(c, v)
			}
		case member.Detector:
			l.detector.Learn(v)
		case member.Services:
			l.n.tellServices(Viewed{Self: l.id, View: v})
		case member.Leaving:
			l.reduces.Leaving(s.Nodes)
		case member.Gone:
			l.breakWith(s)
		case member.Leave:
			l.tellLeaver()
		case member.Entered:
			l.isMember()
		}
	}
}

// isMember notes that a view has this node.
func (l *life) isMember() {
	l.enter.Do(func() { close(l.joined) })
	select {
	case l.viewed <- struct{}{}:
	default:
	}
	if l.failed.Load() { // before there was anything to be fenced from
		l.onFenced()
	}
}

// breakWith breaks with a node that is no member any more.
func (l *life) breakWith(s member.Gone) {
	l.mu.Lock()
	l.gone[s.Member.ID] = true
	l.mu.Unlock()
	l.reduces.NodeGone(s.Member.ID, true)
	l.conns.ClosePeer(s.Member.ID)
	l.part(s)
}

// part closes the connections for actors' messages. This node may not have suspected the
// other, and never will: if it hangs its connections stay, and watchers of its actors,
// and callers that wait for an answer, would hear nothing.
func (l *life) part(s member.Gone) {
	end := func() {
		if !member.At(*l.view.Load(), s.Member.Control) {
			l.n.remote.ClosePeer(s.Member.Control)
		}
	}
	if !s.Lingers {
		end()
		return
	}
	l.run(func() {
		select {
		case <-time.After(member.Lingering):
			end()
		case <-l.done:
		}
	})
}

// publish tells the application of a change in the view v.
func (l *life) publish(c member.Change, v view.View) {
	var ev any
	switch c := c.(type) {
	case member.Formed:
		formed := actors.ViewFormed{View: v.Number, By: v.Former, Missing: missing(v), LostShards: c.LostShards}
		l.log.Warn(formed.String())
		ev = formed
	case member.Joined:
		ev = actors.NodeJoined{Node: c.Node, View: v.Number}
	case member.Left:
		ev = actors.NodeLeft{Node: c.Node, View: v.Number}
	case member.Down:
		ev = l.down(c.Node, v.Number)
	case member.ShardLost:
		ev = actors.ShardLost(c)
	case member.ShardMoved:
		ev = actors.ShardMoved(c)
	}
	l.n.system.EventStream.Publish(ev)
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
