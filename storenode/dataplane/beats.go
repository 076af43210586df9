package dataplane

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Beats is a connection only for heartbeats to a peer, whose listener sends each back: they never
// wait behind other bytes.
type Beats struct {
	l    *link
	trip *trip
	sent atomic.Pointer[time.Time] // when this side sent the heartbeat that has not come back; nil: none
}

// OpenBeats connects to a peer. Its hello has already made a round trip.
func (c *Conns) OpenBeats(ctx context.Context, node phalanx.NodeID) (*Beats, error) {
	p := c.peer(node)
	l, err := p.dial(ctx, roleBeats)
	if err != nil {
		return nil, err
	}
	return &Beats{l: l, trip: &p.trip}, nil
}

// Send sends one heartbeat. It waits only if the peer has not read thousands of them; Close then
// ends the wait. A deadline would need a timer for each heartbeat, which costs more than the
// heartbeat.
func (b *Beats) Send() error {
	now := time.Now()
	b.sent.CompareAndSwap(nil, &now)
	_, err := b.l.conn.Write(appendFrame(nil, kindMessage, nil))
	return err
}

// Receive waits until a heartbeat comes back.
func (b *Beats) Receive() error {
	if err := b.l.beat(); err != nil {
		return err
	}
	if sent := b.sent.Swap(nil); sent != nil {
		b.trip.took(time.Since(*sent))
	}
	return nil
}

// Close ends the connection.
func (b *Beats) Close() {
	b.l.ours.Store(true)
	b.l.drop()
}

// Ours reports whether this side has ended the connection.
func (b *Beats) Ours() bool { return b.l.ours.Load() }

// IsGone reports whether an error of OpenBeats proves that its process is gone: nobody listens at
// its address, or another node does.
func IsGone(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, phalanx.ErrClosed) && !errors.Is(err, errClosedHere)
}

func (l *link) beat() error {
	h, err := l.frames.next()
	if err != nil {
		return err
	}
	if h.kind != kindMessage || h.length != 0 {
		return refused("a %v frame of %d bytes is no heartbeat", h.kind, h.length)
	}
	_, err = l.frames.payload(h)
	return err
}

// echo sends heartbeats of peer back until the connection ends.
func (l *link) echo(peer phalanx.NodeID) error {
	back := appendFrame(nil, kindMessage, nil)
	for {
		if err := l.beat(); err != nil {
			return err
		}
		if _, err := l.conn.Write(back); err != nil {
			return err
		}
		if l.c.cfg.OnBeat != nil {
			l.c.cfg.OnBeat(peer)
		}
	}
}
