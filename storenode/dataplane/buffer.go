package dataplane

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Buffer holds the bytes of one generation of one object at this node, or of a reduce place's
// output, with their checks. One writer adds the bytes in order; any number of readers follow it.
//
//	0 ........ Watermark ........ Arrived ........ Size
//	 checked              raw                 to come
//
// Arrived bytes may be sent on or combined; an application may read only checked bytes, and only
// these count as held.
type Buffer struct {
	pool      *Pool
	region    atomic.Pointer[Region]
	arrived   atomic.Int64
	watermark atomic.Int64 // Invariant: a multiple of PieceSize, or size
	size      atomic.Int64
	complete  atomic.Bool
	refs      atomic.Int64
	subs      subscribers

	raw bool // the writer is a receiver, and the checks come from the origin; only the writer reads it

	mu     sync.Mutex
	checks []Check // of the first pieces, without a gap
	digest phalanx.Digest
	err    error
}

// NewBuffer returns an empty buffer for size bytes, or phalanx.UnknownSize. It waits for room until
// ctx ends. The caller owns the one reference.
func (p *Pool) NewBuffer(ctx context.Context, size int64) (*Buffer, error) {
	if size == phalanx.UnknownSize {
		return newBuffer(p, p.growable(), size), nil
	}
	r, err := p.Get(ctx, size)
	if err != nil {
		return nil, err
	}
	return newBuffer(p, r, size), nil
}

// NewBufferWithin is NewBuffer that waits for room no longer than wait, and fails at once if pinned
// and reserved bytes leave none. With a wait of 0 or less it does not wait.
func (p *Pool) NewBufferWithin(ctx context.Context, size int64, wait time.Duration) (*Buffer, error) {
	if size == phalanx.UnknownSize {
		return newBuffer(p, p.growable(), size), nil
	}
	r, err := p.getWithin(ctx, size, wait)
	if err != nil {
		return nil, err
	}
	return newBuffer(p, r, size), nil
}

// TryBuffer returns an empty buffer if there is room for it now, else nil.
func (p *Pool) TryBuffer(size int64) *Buffer {
	if size == phalanx.UnknownSize {
		return newBuffer(p, p.growable(), size)
	}
	r := p.TryGet(size)
	if r == nil {
		return nil
	}
	return newBuffer(p, r, size)
}

// NewBufferReserved returns an empty buffer to a caller that holds Charge(size) of the budget. The
// buffer takes that over, also on an error.
func (p *Pool) NewBufferReserved(size int64) (*Buffer, error) {
	r, err := p.GetReserved(size)
	if err != nil {
		return nil, err
	}
	return newBuffer(p, r, size), nil
}

func newBuffer(p *Pool, r *Region, size int64) *Buffer {
	b := &Buffer{pool: p}
	b.region.Store(r)
	b.size.Store(size)
	b.refs.Store(1)
	if size > 0 {
		b.checks = make([]Check, 0, Pieces(size))
	}
	b.conclude()
	return b
}

// Arrived returns how many bytes are here, checked or not.
func (b *Buffer) Arrived() int64 { return b.arrived.Load() }

// Watermark returns how many bytes are here and checked.
func (b *Buffer) Watermark() int64 { return b.watermark.Load() }

// Size returns the final number of bytes, or phalanx.UnknownSize.
func (b *Buffer) Size() int64 { return b.size.Load() }

// Complete reports whether all bytes are here and checked.
func (b *Buffer) Complete() bool { return b.complete.Load() }

// Digest returns the object's digest once the buffer is complete.
func (b *Buffer) Digest() (phalanx.Digest, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.digest, b.complete.Load()
}

// Err returns the error of the first Fail.
func (b *Buffer) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Fail ends the buffer for its readers and streams: no more bytes come, and the bytes here no
// longer count. An *Ended tells receivers downstream why; any other error does so by its Kind.
func (b *Buffer) Fail(err error) {
	b.mu.Lock()
	if b.err == nil {
		b.err = err
	}
	b.mu.Unlock()
	b.subs.wake()
}

// Bytes returns the bytes from lo to hi, at most Arrived, without copying them.
// They are read-only, and valid while the caller holds a reference.
func (b *Buffer) Bytes(lo, hi int64) []byte {
	mem := b.there()
	if hi > int64(len(mem)) {
		panic(fmt.Sprintf("dataplane: bytes %d to %d of %d that arrived", lo, hi, len(mem)))
	}
	return mem[lo:hi:hi]
}

// there returns the bytes that arrived. The order of the loads matters: Resume stores in the
// opposite order, so that replaced memory never meets an earlier length.
func (b *Buffer) there() []byte {
	r := b.region.Load()
	return r.mem[:min(b.arrived.Load(), int64(len(r.mem)))]
}

func (b *Buffer) next(pos, limit, end int64) []byte {
	there := b.there()
	end = min(end, int64(len(there)), pos+limit)
	if end <= pos {
		return nil
	}
	return there[pos:end]
}

func (b *Buffer) took(int64) {}

// Held returns the buffer's charge to the budget.
func (b *Buffer) Held() int64 { return b.region.Load().charged }

// Retain adds a reference. Its caller must already have one.
func (b *Buffer) Retain() {
	if b.refs.Add(1) <= 1 {
		panic("dataplane: a released buffer is retained")
	}
}

// Release drops a reference. The last one gives the memory back.
func (b *Buffer) Release() {
	switch n := b.refs.Add(-1); {
	case n == 0:
		b.region.Load().Release()
	case n < 0:
		panic("dataplane: a buffer is released twice")
	}
}

// Retained reports whether a caller has a reference.
func (b *Buffer) Retained() bool { return b.refs.Load() > 0 }

// checksFrom copies known checks from piece on into dst, and returns how many.
func (b *Buffer) checksFrom(piece int64, dst []Check) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if piece >= int64(len(b.checks)) {
		return 0
	}
	return copy(dst, b.checks[piece:])
}

// conclude marks the buffer as complete once it is.
func (b *Buffer) conclude() {
	if size := b.size.Load(); size == phalanx.UnknownSize || b.watermark.Load() != size || b.complete.Load() {
		return
	}
	b.mu.Lock()
	b.digest = DigestOf(b.checks)
	b.complete.Store(true)
	b.mu.Unlock()
}
