package store

import "sync"

// handover brings something that has to be released from a goroutine to the
// actor that it works for. The actor may end before it takes it: then it is
// released here, since a message to an actor that has ended is lost.
type handover[T any] struct {
	release func(T)

	mu     sync.Mutex
	v      T
	full   bool
	closed bool
}

// give offers v to the actor, which must be told of it.
func (h *handover[T]) give(v T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		h.release(v)
		return
	}
	h.v, h.full = v, true
}

// take returns what was given, if it was not taken before.
func (h *handover[T]) take() (T, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var none T
	v, ok := h.v, h.full
	h.v, h.full = none, false
	return v, ok
}

// close releases what was not taken, and what comes later.
func (h *handover[T]) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	if v, ok := h.take(); ok {
		h.release(v)
	}
}
