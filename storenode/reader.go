package storenode

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// Reader reads an object while it arrives. It never shows a byte that was not
// checked, and ends with io.EOF only when the object is final. If the bytes are
// replaced by another generation it fails with ErrReset, if their creator gives
// up with ErrAborted: what was read until then counts for nothing.
type Reader struct {
	ctx    context.Context // ends the reads; there is one per Open, as for an http.Request
	copy   *objectCopy
	table  *Table
	sub    *dataplane.Sub
	at     int64
	leave  func()
	closed sync.Once
}

// newReader reads c, whose buffer it retains. leave is called once on Close.
func newReader(ctx context.Context, t *Table, c *objectCopy, leave func()) *Reader {
	r := &Reader{ctx: ctx, copy: c, table: t, leave: leave}
	c.viewers.Add(1)
	if c.buffer != nil {
		c.buffer.Retain()
		r.sub = c.buffer.Subscribe()
	}
	return r
}

// Meta describes the object. Its size may be phalanx.UnknownSize until EOF.
func (r *Reader) Meta() phalanx.Meta {
	r.table.mu.Lock()
	defer r.table.mu.Unlock()
	return r.copy.meta
}

// Info describes the object; its digest is zero as long as it is not final.
func (r *Reader) Info() Info {
	r.table.mu.Lock()
	defer r.table.mu.Unlock()
	return r.copy.info()
}

var _ io.ReadCloser = (*Reader)(nil)
var _ io.WriterTo = (*Reader)(nil)

// Read reads what has arrived and waits if there is nothing.
func (r *Reader) Read(p []byte) (int, error) {
	b, err := r.next()
	n := copy(p, b)
	r.at += int64(n)
	return n, err
}

// WriteTo writes the whole object to w, straight from the store's memory.
func (r *Reader) WriteTo(w io.Writer) (int64, error) {
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
func (r *Reader) Skip(n int64) error {
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
func (r *Reader) next() ([]byte, error) {
	c := r.copy
	if c.buffer == nil {
		if r.at == int64(len(c.inline)) {
			return nil, io.EOF
		}
		return c.inline[r.at:], nil
	}
	for {
		if err := c.buffer.Err(); err != nil {
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
		case <-over:
			if c.buffer.Err() == nil {
				return nil, io.EOF
			}
		case <-r.ctx.Done():
			return nil, contextError("open", c.object, r.ctx.Err(), "", "its bytes have not all arrived")
		}
	}
}

// failure says to a reader why the bytes are gone.
func (r *Reader) failure(err error) error {
	kind := phalanx.ErrAborted
	if e, ok := err.(*dataplane.Ended); ok && e.Reason == dataplane.Reset {
		kind = phalanx.ErrReset
	} else if k, ok := kindOf(err); ok {
		kind = k
	}
	return &phalanx.Error{Op: "open", Object: r.copy.object, Kind: kind, Err: fmt.Errorf("after %d bytes: %w", r.at, err)}
}

// Close ends the reading. Closing twice is harmless.
func (r *Reader) Close() error {
	r.closed.Do(func() {
		r.copy.viewers.Add(-1)
		if r.copy.buffer != nil {
			r.sub.Close()
			r.copy.buffer.Release()
		}
		if r.leave != nil {
			r.leave()
		}
	})
	return nil
}
