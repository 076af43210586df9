package sim

import (
	"time"

	"github.com/phalanx-go/phalanx/node/idle"
	"github.com/phalanx-go/phalanx/node/owner"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// idleAfter is so short that it often passes in a run, and so long that often it does not.
const idleAfter = 300 * time.Millisecond

// want tells the view's core that this node has work that takes a lease.
func (n *node) want() {
	if idle.Wants(n.clock(), n.wanted, n.client.lease, idleAfter) {
		n.wanted = max(n.clock(), 1)
		n.stepView(view.Want{Now: n.clock()})
	}
}

// toReplica hands an event to a replica, or keeps it while the node waits for a lease.
func (n *node) toReplica(shard int, ev directory.Event) {
	n.want()
	if !n.gate.Open(n.clock()) && n.gate.Keep(toShard{shard, ev}, directory.Takes(ev)) {
		n.w.met["event waits for a lease"]++
		return
	}
	n.release()
	n.stepShard(shard, ev)
}

// release hands over the events that wait for a lease.
func (n *node) release() {
	for _, m := range n.gate.All() {
		if n.shards[m.shard] != nil {
			n.stepShard(m.shard, m.ev)
		} else {
			n.notHere(m)
		}
	}
}

// notHere answers a request for a shard of which the node has no replica.
func (n *node) notHere(m toShard) {
	if r, ok := owner.NotHere(n.id, m.shard, m.ev); ok {
		n.post(r.To, toClient{r})
	}
}

// releaseLate hands over events that have waited too long for a lease.
func (n *node) releaseLate() {
	if at, ok := n.gate.Due(); ok && at <= n.clock() {
		n.w.met["event has waited for a lease in vain"]++
		n.release()
	}
}
