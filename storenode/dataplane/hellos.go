package dataplane

import (
	"container/list"
	"sync"
)

// hellos are connections without a hello, and connections without a request of a peer that has
// many, the oldest first. Each has Config.HelloTimeout to send it. The node closes the oldest if
// there are too many: a member says who it is within a round trip, so silent connections make room.
type hellos struct {
	mu      sync.Mutex
	waiting list.List // of *link
}

// await notes l until done is called.
func (c *Conns) await(l *link) (done func()) {
	h := &c.hellos
	var oldest *link
	h.mu.Lock()
	if h.waiting.Len() >= c.cfg.MaxHellos {
		oldest = h.waiting.Remove(h.waiting.Front()).(*link)
	}
	at := h.waiting.PushBack(l)
	h.mu.Unlock()
	if oldest != nil {
		oldest.ours.Store(true)
		oldest.drop()
		c.cfg.Logger.Infof("%d connections have not sent a hello or a request yet: the node closes the oldest", c.cfg.MaxHellos)
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.waiting.Remove(at) // does nothing if the connection was closed as the oldest
	}
}
