package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// reader is the source of a storenode.Reader's bytes.
type reader struct {
	ctx    context.Context // ends the reads; there is one per Open, as for an http.Request
	idle   time.Duration   // and so does such a wait; 0: it does not
	late   *time.Timer     // of that; nil: there was none yet
	table  *Table
	object phalanx.ObjectID
	copy   *objectCopy // retained; written by the goroutine that reads, with the table's lock held
	sub    *dataplane.Sub
	at     int64
	leave  func()

	mu      sync.Mutex
	reading bool
	closed  bool
	why     error         // it ends early, or was closed
	end     chan struct{} // closed with that
}

// newReader reads c for cl; nil if that was dropped. leave is called once on Close.
func newReader(cl *call, t *Table, c *objectCopy, leave func()) *reader {
	if !t.retain(c) {
		return nil
	}
	r := &reader{ctx: cl.ctx, idle: cl.idle, object: c.Object, copy: c, table: t, leave: leave, end: make(chan struct{})}
	if c.buffer != nil {
		r.sub = c.buffer.Subscribe()
	}
	return r
}

// begin keeps the bytes until done, also if the reader is closed meanwhile.
func (r *reader) begin() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return closedError(r.object)
	}
	r.reading = true
	return nil
}

func closedError(id phalanx.ObjectID) error {
	return &phalanx.Error{Op: "open", Object: id, Kind: phalanx.ErrClosed, Err: errors.New("the reader was closed")}
}

func (r *reader) done() {
	r.mu.Lock()
	r.reading = false
	closed := r.closed
	r.mu.Unlock()
	if closed {
		r.free()
	}
}

// Meta describes the object. Its size may be phalanx.UnknownSize until EOF.
func (r *reader) Meta() phalanx.Meta {
	r.table.mu.Lock()
	defer r.table.mu.Unlock()
	return r.copy.Meta
}

// Info describes the object; its digest is zero as long as it is not final.
func (r *reader) Info() storenode.Info {
	r.table.mu.Lock()
	defer r.table.mu.Unlock()
	return r.copy.info()
}

var _ storenode.Arriving = (*reader)(nil)

// Read reads the bytes that have arrived, and waits if there are none.
func (r *reader) Read(p []byte) (int, error) {
	if err := r.begin(); err != nil {
		return 0, err
	}
	defer r.done()
	b, err := r.next()
	n := copy(p, b)
	r.at += int64(n)
	return n, err
}

// WriteTo writes the whole object to w, straight from the store's memory.
func (r *reader) WriteTo(w io.Writer) (int64, error) {
	if err := r.begin(); err != nil {
		return 0, err
	}
	defer r.done()
	total := int64(0)
	for {
		b, err := r.next()
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
		n, err := w.Write(b[:min(len(b), 1<<20)])
		total += int64(n)
		r.at += int64(n)
		if err != nil {
			return total, err
		}
	}
}

// Skip moves on by n bytes without reading them, once they have arrived.
func (r *reader) Skip(n int64) error {
	if err := r.begin(); err != nil {
		return err
	}
	defer r.done()
	for n > 0 {
		b, err := r.next()
		if err != nil {
			return err
		}
		k := min(n, int64(len(b)))
		r.at += k
		n -= k
	}
	return nil
}

// next returns bytes that have arrived and were not read.
func (r *reader) next() ([]byte, error) {
	for {
		c := r.copy
		if c.buffer == nil {
			if r.at == int64(len(c.inline)) {
				return nil, io.EOF
			}
			return c.inline[r.at:], nil
		}
		if err := c.buffer.Err(); err != nil {
			if r.goOn() {
				continue
			}
			return nil, r.failure(err)
		}
		if w := c.buffer.Watermark(); w > r.at {
			return c.buffer.Bytes(r.at, w), nil
		}
		var over <-chan struct{}
		if c.buffer.Complete() {
			over = c.over
		}
		select {
		case <-r.sub.C:
		case <-r.patience():
			node, why := r.table.awaits(c)
			return nil, &phalanx.Error{Op: "open", Object: c.Object, Node: node, Kind: phalanx.ErrDeadline, Err: fmt.Errorf("%s: no bytes have come for %v", why, r.idle)}
		case <-over:
			if c.buffer.Err() == nil {
				return nil, io.EOF
			}
		case <-r.end:
			return nil, r.ended()
		case <-r.ctx.Done():
			node, why := r.table.awaits(c)
			return nil, ContextError("open", c.Object, context.Cause(r.ctx), node, why)
		}
	}
}

// goOn has the reader go on with the complete copy that has replaced its copy, a part of the
// same bytes. It reports whether there is one.
func (r *reader) goOn() bool {
	was, next := r.copy, r.table.successor(r.copy)
	if next == nil {
		return false
	}
	r.sub.Close()
	r.sub = nil
	if next.buffer != nil {
		r.sub = next.buffer.Subscribe()
	}
	r.table.mu.Lock()
	r.copy = next
	r.table.mu.Unlock()
	r.table.release(was)
	return true
}

// patience returns a channel on which something comes once a wait that begins now has
// been too long.
func (r *reader) patience() <-chan time.Time {
	switch {
	case r.idle == 0:
		return nil
	case r.late == nil:
		r.late = time.NewTimer(r.idle)
	default:
		r.late.Reset(r.idle)
	}
	return r.late.C
}

// failure returns a reader's error for bytes that are gone.
func (r *reader) failure(err error) error {
	kind := phalanx.ErrAborted
	if e, ok := err.(*dataplane.Ended); ok && e.Reason == dataplane.Reset {
		kind = phalanx.ErrReset
	} else if k, ok := kindOf(err); ok {
		kind = k
	}
	return &phalanx.Error{Op: "open", Object: r.object, Kind: kind, Err: fmt.Errorf("after %d bytes: %w", r.at, err)}
}

// Close ends the reading. Closing twice is harmless.
func (r *reader) Close() error {
	r.mu.Lock()
	first, reading := !r.closed, r.reading
	r.closed = true
	r.mu.Unlock()
	r.fail(closedError(r.object))
	if first && !reading {
		r.free()
	}
	return nil
}

// fail ends the reading of bytes that have not arrived: the node waits for them no longer.
func (r *reader) fail(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.why == nil {
		r.why = withOp("open", r.object, why)
		close(r.end)
	}
}

func (r *reader) ended() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.why
}

func (r *reader) free() {
	if r.late != nil {
		r.late.Stop()
	}
	if r.sub != nil {
		r.sub.Close()
	}
	r.table.release(r.copy)
	if r.leave != nil {
		r.leave()
	}
}
