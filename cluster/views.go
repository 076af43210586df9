package cluster

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// learn takes a new view. Views come in order, from one goroutine at a time.
func (n *Node) learn(v view.View) {
	old := n.view.Swap(&v)
	n.client.Learn(v)
	n.host.Learn(v)
	n.reporter.Learn(v)
	n.tellChanges(*old, v)
	n.detector.Learn(v)
	for _, m := range old.Members {
		if !v.Has(m.ID) {
			n.mu.Lock()
			n.gone[m.ID] = true
			n.mu.Unlock()
			n.conns.ClosePeer(m.ID)
		}
	}
	if v.Has(n.id) {
		n.enter.Do(func() { close(n.joined) })
	}
}

// Leader returns the voter that this node takes for the leader of the view, or
// "" while there is none.
func (n *Node) Leader() phalanx.NodeID { return n.members.Leader() }

// tellChanges publishes what is different in a view.
func (n *Node) tellChanges(old, v view.View) {
	publish := n.system.EventStream.Publish
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
			publish(n.down(m.ID, v.Number))
		}
	}
	for i, s := range v.Shards {
		if i < len(old.Shards) && old.Shards[i].Owner != s.Owner && old.Shards[i].Owner != "" {
			if s.LostAt == s.Epoch && s.LostAt != 0 {
				publish(actors.ShardLost{Shard: i, Epoch: s.Epoch, Owner: s.Owner})
				continue
			}
			publish(actors.ShardMoved{Shard: i, Epoch: s.Epoch, From: old.Shards[i].Owner, To: s.Owner})
		}
	}
}

// admit refuses a node that was removed from the view.
func (n *Node) admit(from phalanx.NodeID, _ uint64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone[from] {
		return &phalanx.Error{Node: from, Kind: phalanx.ErrFenced, Err: fmt.Errorf("it was removed from the cluster")}
	}
	return nil
}

// onFenced ends a node that was removed by the others. One that leaves by itself
// hears of it too.
func (n *Node) onFenced() {
	n.mu.Lock()
	leaving := n.leaving
	n.mu.Unlock()
	if leaving {
		return
	}
	n.fenced.Store(true)
	n.log.Warn("the cluster has removed this node")
	go n.finish()
}

// leaveGrace bounds how long a node that cannot hand over tries to.
const leaveGrace = 10 * time.Second
