package dataplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/phalanx-go/phalanx/internal/logging"
)

// A stream costs its sender a goroutine, a Writer and the kernel's buffers for a receiver that does
// not read. So each peer has Config.MaxStreams seats, whatever addresses it connects from. A stream
// has a seat from its request to its end. The node answers a request that finds no seat with BUSY
// at once; receivers take turns (pass). The node keeps a few of a peer's connections without a
// request. It closes further ones, new ones only after the time of a hello.
//
// A stream of a Place that this node was told to run takes no seat: a place needs the bytes of all
// places below it, which may be more than there are seats.

const (
	// idleShare is how many times Config.MaxIdle connections of a peer may be idle here: the peer
	// keeps MaxIdle, and some are new or about to be closed.
	idleShare = 4
	// yieldAfter is how long a stream must have had nothing to send before it yields its seat to
	// another stream of its peer.
	yieldAfter = 500 * time.Millisecond
)

// errYields ends a stream that has lost its seat to another.
var errYields = errors.New("the stream had nothing to send, and its receiver wants others")

// pass makes streams of objects from the peer take turns, where they are nearly as many as the peer
// has seats: the peer frees a seat a moment after the stream has ended here. pass reports whether
// the stream has a turn to give back. A stream that waits for too long goes on without a turn: the
// peer may have a seat, or answers BUSY, and then the caller finds another sender.
func (p *peer) pass(ctx context.Context) bool {
	select {
	case p.gate <- struct{}{}:
		return true
	default:
	}
	t := time.NewTimer(p.c.cfg.TurnWait)
	defer t.Stop()
	select {
	case p.gate <- struct{}{}:
		return true
	case <-t.C:
	case <-ctx.Done():
	case <-p.ctx.Done():
	}
	return false
}

// seats are the streams to a peer that have a seat.
type seats struct {
	mu    sync.Mutex
	taken map[*Writer]struct{}
}

// Seat reports whether the stream has one of its peer's seats, and takes one if it can. If all are
// taken, the stream that has had nothing to send for longest loses its seat: it must not keep out
// streams that have bytes, perhaps those that it waits for. The handler of a Place calls Seat, and
// turns the peer away without a seat; an Object's stream has one already.
func (w *Writer) Seat() bool {
	s := &w.p.seats
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, has := s.taken[w]; has {
		return true
	}
	if len(s.taken) >= w.p.c.cfg.MaxStreams && !s.clear() {
		return false
	}
	if s.taken == nil {
		s.taken = map[*Writer]struct{}{}
	}
	s.taken[w] = struct{}{}
	return true
}

// clear takes the seat of a stream that has nothing to send, if there is one. Called with mu held.
func (s *seats) clear() bool {
	var idlest *Writer
	longest := time.Now().Add(-yieldAfter).UnixNano()
	for w := range s.taken {
		if since := w.waits.Load(); since != 0 && since <= longest {
			idlest, longest = w, since
		}
	}
	if idlest == nil {
		return false
	}
	delete(s.taken, idlest)
	select {
	case idlest.unseated <- struct{}{}:
	default: // the stream has not looked since the last time
	}
	return true
}

// Stand gives the stream's seat up.
func (w *Writer) Stand() {
	s := &w.p.seats
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taken, w)
	w.waits.Store(0)
	select {
	case <-w.unseated:
	default:
	}
}

// below adds one to n and returns true, unless n is at its limit.
func below(n *atomic.Int64, limit int) bool {
	for {
		v := n.Load()
		if v >= int64(limit) {
			return false
		}
		if n.CompareAndSwap(v, v+1) {
			return true
		}
	}
}

// errIdle closes a connection whose peer has enough others.
var errIdle = fmt.Errorf("the peer has enough idle connections: %w", net.ErrClosed)

// settle lets the connection wait for a request: a few of a peer's connections for long, any other
// new one for a short time. It returns the function that ends the wait.
func (l *link) settle(p *peer, first bool) (over func() error, err error) {
	if below(&p.unasked, idleShare*l.c.cfg.MaxIdle) {
		return func() error { p.unasked.Add(-1); return nil }, nil
	}
	if !first {
		return nil, errIdle
	}
	if err := l.conn.SetReadDeadline(time.Now().Add(l.c.cfg.HelloTimeout)); err != nil {
		return nil, err
	}
	done := l.c.await(l)
	return func() error { done(); return l.conn.SetReadDeadline(time.Time{}) }, nil
}

// TurnAway answers BUSY because the peer has no seat left, and counts it.
func (w *Writer) TurnAway() error {
	p := w.p
	p.c.turned.Add(1)
	p.c.cfg.Logger.WithField(logging.Peer, p.node).Infof("a node has all of its %d streams from this node, which answers further ones with BUSY", p.c.cfg.MaxStreams)
	return w.Busy()
}

// TurnedAway returns how many streams TurnAway has answered.
func (c *Conns) TurnedAway() uint64 { return c.turned.Load() }
