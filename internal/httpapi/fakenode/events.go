package fakenode

import (
	"context"

	"github.com/phalanx-go/phalanx/actors"
)

// Events returns the events that are published from now on.
func (n *Node) Events(ctx context.Context) <-chan actors.Event {
	ch := make(chan actors.Event, 16)
	n.mu.Lock()
	n.subs[ch] = true
	n.changed.Broadcast()
	n.mu.Unlock()
	context.AfterFunc(ctx, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.subs, ch)
		close(ch)
	})
	return ch
}

// Publish tells all subscribers of e, once there are at least that many.
func (n *Node) Publish(subscribers int, e actors.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.subs) < subscribers {
		n.changed.Wait()
	}
	for ch := range n.subs {
		ch <- e
	}
}
