package sim

import (
	"time"

	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

const (
	idleAfter = 300 * time.Millisecond // often in a run, and seldom enough for it to be another time otherwise
	wantEvery = idleAfter / 4
	holdFor   = 200 * time.Millisecond
)

// want tells the core of the view that this node is asked for what takes a lease.
func (n *node) want() {
	every := wantEvery
	if n.client.lease <= n.clock() {
		every = tickEvery
	}
	if n.wanted == 0 || n.clock()-n.wanted >= every {
		n.wanted = max(n.clock(), 1)
		n.stepView(view.Want{Now: n.clock()})
	}
}

// toReplica hands an event to a replica, or keeps it for as long as there may be a lease.
func (n *node) toReplica(shard int, ev directory.Event) {
	n.want()
	switch {
	case n.client.lease > n.clock():
		n.lacked = 0
	case n.lacked == 0:
		n.lacked = n.clock()
		fallthrough
	case n.clock()-n.lacked < holdFor:
		n.w.met["event waits for a lease"]++
		n.held = append(n.held, toShard{shard, ev})
		return
	}
	n.release()
	n.stepShard(shard, ev)
}

// release hands over what waits for a lease.
func (n *node) release() {
	held := n.held
	n.held = nil
	for _, m := range held {
		if n.shards[m.shard] != nil {
			n.stepShard(m.shard, m.ev)
		}
	}
}
