package dataplane

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/phalanx-go/phalanx"
)

// peer is this node's knowledge of one incarnation of another node.
type peer struct {
	c      *Conns
	node   phalanx.NodeID
	ctx    context.Context // ends when the peer is closed
	cancel context.CancelFunc

	sent, received, posted, delivered, dropped atomic.Uint64
	rate                                       rate
	trip                                       trip
	seats                                      seats
	unasked                                    atomic.Int64 // connections of the peer that wait for a request

	gate   chan struct{} // has an element for each stream of an object from the peer
	guests int           // connections that the peer made; guarded by Conns.mu

	mu      sync.Mutex
	idle    []*link // for streams, the last one used last
	queue   []byte  // waiting messages, framed
	queued  int     // the number of messages in queue
	running bool    // a goroutine writes them
	failed  time.Time
	kick    chan struct{} // capacity 1: the queue is no longer empty
	spare   []byte
}

func newPeer(c *Conns, node phalanx.NodeID) *peer {
	p := &peer{c: c, node: node, kick: make(chan struct{}, 1), gate: make(chan struct{}, max(1, c.cfg.MaxStreams*3/4))}
	p.ctx, p.cancel = context.WithCancel(c.ctx)
	return p
}

// Post queues payload for a peer and never waits. The peer gets it at most once, and in order as
// long as the connection lasts. Post copies payload. An error means that Post did not queue it.
func (c *Conns) Post(to phalanx.NodeID, payload []byte) error {
	if len(payload) > MaxMessage {
		c.peer(to).dropped.Add(1)
		return &phalanx.Error{Op: "post", Node: to, Kind: phalanx.ErrInvalid,
			Err: fmt.Errorf("a message has %d bytes, at most %d are allowed", len(payload), MaxMessage)}
	}
	p := c.peer(to)
	p.mu.Lock()
	if len(p.queue)+headerSize+len(payload) > c.cfg.MaxQueue {
		full := len(p.queue)
		p.mu.Unlock()
		p.dropped.Add(1)
		return &phalanx.Error{Op: "post", Node: to, Kind: phalanx.ErrUnavailable,
			Err: fmt.Errorf("%d bytes of messages wait for the node", full)}
	}
	p.queue = appendFrame(p.queue, kindMessage, payload)
	p.queued++
	p.posted.Add(1)
	start := !p.running
	p.running = true
	first := p.queued == 1
	p.mu.Unlock()
	if start && !c.spawn(p.deliver) {
		return c.closedError("post", to)
	}
	if first {
		select {
		case p.kick <- struct{}{}:
		default:
		}
	}
	return nil
}

// deliver makes a connection and writes messages to it until it breaks.
func (p *peer) deliver() {
	l, err := p.reach()
	if err == nil {
		err = p.write(l)
		l.drop()
	}
	p.mu.Lock()
	p.dropped.Add(uint64(p.queued))
	p.queue, p.queued, p.running, p.failed = p.queue[:0], 0, false, time.Now()
	p.mu.Unlock()
	if p.ctx.Err() == nil {
		p.c.broken(l, p.node, withNode(err, "send", p.node))
	}
}

func (p *peer) reach() (*link, error) {
	if wait := p.c.cfg.RedialAfter - time.Since(p.failed); wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-p.ctx.Done():
			return nil, context.Cause(p.ctx)
		case <-t.C:
		}
	}
	return p.dial(p.ctx, roleMessages)
}

// write sends all waiting messages at once, again and again.
func (p *peer) write(l *link) error {
	dead := make(chan error, 1)
	if !p.c.spawn(func() { dead <- l.listen() }) {
		return p.c.closedError("send", p.node)
	}
	for {
		select {
		case <-p.kick:
		case err := <-dead:
			return err
		case <-p.ctx.Done():
			return context.Cause(p.ctx)
		}
		p.mu.Lock()
		out, n := p.queue, p.queued
		p.queue, p.queued = p.spare[:0], 0
		p.mu.Unlock()
		if len(out) > 0 {
			if err := l.conn.SetWriteDeadline(time.Now().Add(p.c.cfg.WriteStall)); err != nil {
				return err
			}
			if _, err := l.conn.Write(out); err != nil {
				p.dropped.Add(uint64(n))
				return err
			}
		}
		if cap(out) > MaxMessage { // after a burst
			out = nil
		}
		p.mu.Lock()
		p.spare = out
		p.mu.Unlock()
	}
}

// listen waits for the end of a connection that brings nothing.
func (l *link) listen() error {
	var one [1]byte
	if n, err := l.conn.Read(one[:]); n == 0 {
		return err
	}
	l.drop()
	return refused("bytes came on a connection that only takes messages")
}

// countSent and countReceived count n bytes of a stream.
func (p *peer) countSent(n int) {
	p.sent.Add(uint64(n))
	p.c.sent.Add(uint64(n))
}

func (p *peer) countReceived(n int) {
	p.received.Add(uint64(n))
	p.c.received.Add(uint64(n))
}

func (p *peer) stats() PeerStats {
	return PeerStats{Node: p.node, Sent: p.sent.Load(), Received: p.received.Load(), Posted: p.posted.Load(),
		Delivered: p.delivered.Load(), Dropped: p.dropped.Load(), Bandwidth: p.rate.value()}
}

// warm takes a ready connection for a stream, or returns nil.
func (p *peer) warm() *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	l := p.idle[n-1]
	p.idle[n-1] = nil
	p.idle = p.idle[:n-1]
	return l
}

// parked returns the number of ready connections for streams.
func (p *peer) parked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

// park keeps a connection after its stream has ended, or closes it.
func (p *peer) park(l *link) {
	if err := l.frames.watch(0); err != nil {
		l.drop()
		return
	}
	p.mu.Lock()
	keep := len(p.idle) < p.c.cfg.MaxIdle && p.ctx.Err() == nil && !l.ours.Load()
	if keep {
		p.idle = append(p.idle, l)
	}
	p.mu.Unlock()
	if !keep {
		l.drop()
	}
}

// Warm makes sure that a connection for a stream to node is ready.
func (c *Conns) Warm(ctx context.Context, node phalanx.NodeID) error {
	p := c.peer(node)
	p.mu.Lock()
	ready := len(p.idle) > 0
	p.mu.Unlock()
	if ready {
		return nil
	}
	l, err := p.dial(ctx, roleStreams)
	if err != nil {
		return err
	}
	p.park(l)
	return nil
}

// rate is the recent speed of whole streams: single frames may only come out of the kernel's
// buffers.
type rate struct {
	mu  sync.Mutex
	per float64 // bytes per second
}

const (
	leastReceived = 512 << 10 // of a stream, to tell its rate
	leastSent     = 32 << 20  // likewise: less may lie in the kernels' buffers
)

// add notes a stream of n bytes. Only several slower streams bring the rate down.
func (r *rate) add(n int64, took time.Duration) {
	if took <= 0 {
		return
	}
	now := float64(n) / took.Seconds()
	r.mu.Lock()
	defer r.mu.Unlock()
	if now < r.per {
		now = r.per + (now-r.per)/4
	}
	r.per = now
}

func (r *rate) value() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.per
}

// stretch measures a stream after its first bytes.
type stretch struct {
	bytes int64 // after the first
	since time.Time
}

func (s *stretch) add(n int) {
	if s.since.IsZero() {
		s.since = time.Now()
		return
	}
	s.bytes += int64(n)
}

// tell notes the rate if the stream had at least least bytes.
func (s *stretch) tell(r *rate, least int64) {
	if s.bytes >= least {
		r.add(s.bytes, time.Since(s.since))
	}
}
