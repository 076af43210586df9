package detector

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/detect"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

const (
	// dialFor bounds how long a peer is tried to be reached: after that it is
	// silent anyway.
	dialFor = time.Second
	// dialAgain is after how long another attempt begins beside attempts without
	// an answer. The first packet of a connection is sent again only after a
	// second: a lost packet would be silence, and raise a suspicion.
	dialAgain = 150 * time.Millisecond
)

// beater sends the heartbeats to one peer, and connects on a goroutine of its own.
type beater struct {
	d      *Detector
	node   phalanx.NodeID
	conn   atomic.Pointer[dataplane.Beats] // nil: there is none
	wanted chan struct{}                   // capacity 1
	cancel context.CancelFunc
}

func (d *Detector) newBeater(node phalanx.NodeID) *beater {
	ctx, cancel := context.WithCancel(d.ctx)
	b := &beater{d: d, node: node, wanted: make(chan struct{}, 1), cancel: cancel}
	d.beats.Go(func() { b.run(ctx) })
	return b
}

// beat sends a heartbeat, or asks for a connection. To have a goroutine send it would wake
// another thread. It does not wait: a peer that reads none is suspected, and its connection
// closed, long before there is no room for another one.
func (b *beater) beat() {
	if conn := b.conn.Load(); conn != nil {
		_ = conn.Send() // the reader hears of the end
		return
	}
	select {
	case b.wanted <- struct{}{}:
	default: // one is on its way
	}
}

func (b *beater) stop() { b.cancel() }

// run keeps a connection while there is one to be had.
func (b *beater) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.wanted:
		}
		conn := b.dial(ctx)
		if conn == nil {
			continue
		}
		b.converse(ctx, conn)
	}
}

// dial connects, which is a round trip, or tells why it could not.
func (b *beater) dial(ctx context.Context) *dataplane.Beats {
	dialling, cancel := context.WithTimeout(ctx, dialFor)
	defer cancel()
	conn, err := b.connect(dialling)
	switch {
	case err == nil:
		b.echoed()
		return conn
	case ctx.Err() != nil || dialling.Err() != nil: // the result is not needed, or the peer is silent
	case dataplane.IsGone(err):
		b.d.tell(detect.Refuses{Node: b.node, Now: b.d.cfg.Clock()})
	case errors.Is(err, phalanx.ErrFenced) || errors.Is(err, phalanx.ErrRefused): // in its view; but it is there
		b.echoed()
	case errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF): // it may be ending just now
		b.d.Broken(b.node)
	default:
		b.d.cfg.Log.WithError(err).Debug("a heartbeat could not be sent")
	}
	return nil
}

// connect makes attempts until one has an answer, or ctx ends.
func (b *beater) connect(ctx context.Context) (*dataplane.Beats, error) {
	type result struct {
		conn *dataplane.Beats
		err  error
	}
	results := make(chan result)
	again := time.NewTicker(dialAgain)
	defer again.Stop()
	for {
		b.d.beats.Go(func() {
			conn, err := b.d.cfg.Conns.OpenBeats(ctx, b.node)
			select {
			case results <- result{conn, err}:
			case <-ctx.Done(): // another was first
				if conn != nil {
					conn.Close()
				}
			}
		})
		select {
		case r := <-results:
			return r.conn, r.err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-again.C:
		}
	}
}

// converse has heartbeats sent until the connection ends.
func (b *beater) converse(ctx context.Context, conn *dataplane.Beats) {
	defer context.AfterFunc(ctx, conn.Close)()
	b.conn.Store(conn)
	for conn.Receive() == nil {
		b.echoed()
	}
	b.conn.Store(nil)
	if ctx.Err() == nil && !conn.Ours() {
		b.d.Broken(b.node)
	}
	conn.Close()
}

func (b *beater) echoed() { b.d.tell(detect.Echoed{Node: b.node, Now: b.d.cfg.Clock()}) }
