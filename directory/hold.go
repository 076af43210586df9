package directory

import (
	"time"

	core "github.com/phalanx-go/phalanx/protocol/directory"
)

// A node that nobody has asked for anything lately has no lease. Its shards would drop what
// comes first, and it would be repeated late; so it waits here for the lease, for which the
// node has asked by then.

const (
	holdFor  = 200 * time.Millisecond // then there is no lease to be had, and shards do without
	mostHeld = 1000                   // events
)

// heldEvent is one that waits for a lease.
type heldEvent struct {
	shard int
	ev    core.Event
}

// want tells the node that a lease is needed.
func (h *Host) want() {
	if h.cfg.Want != nil {
		h.cfg.Want()
	}
}

// hold keeps ev until there is a lease, and reports whether it does. The caller holds mu.
func (h *Host) hold(shard int, ev core.Event) bool {
	now := h.cfg.Now()
	if h.cfg.Want == nil || now < h.lease.Load().until {
		h.lacked = 0
		return false
	}
	if h.lacked == 0 {
		h.lacked = now
	}
	if now-h.lacked >= holdFor || len(h.held) >= mostHeld {
		h.release()
		return false
	}
	h.held = append(h.held, heldEvent{shard, ev})
	return true
}

// release gives the shards what was kept, in its order. The caller holds mu.
func (h *Host) release() {
	for _, e := range h.held {
		if pid := h.shards[e.shard]; pid != nil {
			h.cfg.System.Root.Send(pid, e.ev)
		}
	}
	h.held = nil
}
