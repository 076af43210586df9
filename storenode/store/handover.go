package store

import "sync"

// handover brings a resource from a goroutine to its actor. If the actor has ended before it
// takes the resource, the handover releases it: a message to an ended actor is lost.
type handover[T any] struct {
	release func(T)

	mu     sync.Mutex
	v      T
	full   bool
	closed bool
}

// give offers v to the actor. The caller must tell the actor so.
func (h *handover[T]) give(v T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		h.release(v)
		return
	}
	h.v, h.full = v, true
}

// take returns the value of the last give; false if there is none, or it was taken before.
func (h *handover[T]) take() (T, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var none T
	v, ok := h.v, h.full
	h.v, h.full = none, false
	return v, ok
}

// close releases a value that was not taken, and the values of later gives, one after the other.
func (h *handover[T]) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.full {
		h.release(h.v)
		var none T
		h.v, h.full = none, false
	}
}
