package dataplane

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Sub tells one reader that a buffer changed: more bytes arrived, or were checked, or it failed.
// One signal may stand for several changes; the reader looks again.
type Sub struct {
	C  chan struct{} // capacity 1
	of *subscribers
}

type subscribers struct {
	n   atomic.Int32 // len(all), so that a buffer without readers costs nothing
	mu  sync.Mutex
	all []*Sub
}

// Subscribe returns a subscription that starts now: look at the buffer after it.
func (b *Buffer) Subscribe() *Sub { return b.subs.add() }

func (s *subscribers) add() *Sub {
	sub := &Sub{C: make(chan struct{}, 1), of: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, sub)
	s.n.Store(int32(len(s.all)))
	return sub
}

// Close ends the subscription. C stays open.
func (s *Sub) Close() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if i := slices.Index(s.of.all, s); i >= 0 {
		s.of.all = slices.Delete(s.of.all, i, i+1)
		s.of.n.Store(int32(len(s.of.all)))
	}
}

func (s *subscribers) wake() {
	if s.n.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.all {
		select {
		case sub.C <- struct{}{}:
		default:
		}
	}
}
