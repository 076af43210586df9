package directory

import (
	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/directory"
)

// Watch has the owner of id tell its readiness, now and whenever it changes,
// until Forget. deliver is called from another goroutine.
func (c *Client) Watch(id phalanx.ObjectID, num uint64, deliver func(core.Readiness)) {
	c.mu.Lock()
	c.add(&request{Request: core.Request{From: c.self, Num: num, Object: id, Body: core.Watch{}}, ready: deliver}, nil)
}

// Ready takes what an owner tells to a watch of this node.
func (c *Client) Ready(from phalanx.NodeID, r core.Readiness) {
	c.mu.Lock()
	c.spoke[from] = c.now() // an owner that tells watches has much to do, and is not silent
	w := c.pending[r.Num]
	known := w != nil && w.ready != nil && r.To == c.self && w.Object == r.Object
	counts, fresh := false, false
	if known {
		counts, fresh = w.watched.Take(r)
	}
	if counts {
		now := c.now()
		w.heard, w.times, w.again = now, 0, now+watchAgain
		if w.silent != nil {
			w.again = now + waitingAfter
		}
		if w.ackTo != from {
			w.ackTo, w.ackAt = from, now+calm
		}
		c.book(w, now)
	}
	shards := len(c.view.Shards)
	c.mu.Unlock()
	if fresh {
		w.ready(r)
	}
	if !known && shards > 0 {
		_ = c.to.Send(from, r.Object.Shard(shards), core.Request{From: c.self, Num: c.Nums(1), Object: r.Object, Body: core.Cancel{Num: r.Num}})
	}
}

// told reports whether r is a watch that has been told something, and not repeated
// since: it waits for nothing.
func (r *request) told() bool { return r.ready != nil && r.times == 0 }
