package directory

import (
	core "github.com/phalanx-go/phalanx/protocol/directory"
)

// heldEvent is an event that waits for a lease.
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

// hold keeps ev until there is a lease, and reports whether it does. If not, all that was kept
// goes on before ev. The caller holds mu.
func (h *Host) hold(shard int, ev core.Event) bool {
	if h.cfg.Want == nil {
		return false
	}
	if !h.gate.Open(h.cfg.Now()) {
		if n := core.Takes(ev); h.cfg.Memory.TryReserve(n) {
			if h.gate.Keep(heldEvent{shard, ev}, n) {
				h.memory.Add(n)
				h.alarm.Set(h.gate.Due())
				return true
			}
			h.cfg.Memory.Release(n)
		}
	}
	h.release()
	return false
}

// release gives the shards the kept events, in their order. The caller holds mu, and ends
// with unlock.
func (h *Host) release() {
	for _, e := range h.drain() {
		if pid := h.shards[e.shard]; pid != nil {
			h.cfg.System.Root.Send(pid, e.ev)
		} else {
			h.strays = append(h.strays, e)
		}
	}
}

// unlock gives mu back, and then answers kept requests for shards that have left. The
// Transport may bring an answer to a caller on this node, which may call the Host.
func (h *Host) unlock() {
	strays := h.strays
	h.strays = nil
	h.mu.Unlock()
	for _, e := range strays {
		h.notHere(e.shard, e.ev)
	}
}

// drain empties the gate. The caller holds mu.
func (h *Host) drain() []heldEvent {
	if n := h.gate.Bytes(); n > 0 {
		h.cfg.Memory.Release(n)
		h.memory.Add(-n)
	}
	return h.gate.All()
}

// overdue gives the shards events that have waited long enough for a lease, until the host closes.
func (h *Host) overdue() {
	for {
		select {
		case <-h.ended:
			return
		case <-h.alarm.C():
			h.mu.Lock()
			h.alarm.Rang()
			if h.gate.Open(h.cfg.Now()) {
				h.release()
			}
			h.alarm.Set(h.gate.Due())
			h.unlock()
		}
	}
}
