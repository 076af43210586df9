package dataplane

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/phalanx-go/phalanx"
)

const (
	// WindowMax is the most memory that a Window takes, WindowMin the least. Both are multiples of
	// PieceSize, so that neither a piece nor an element wraps around.
	WindowMax = 4 << 20
	WindowMin = 256 << 10
)

// ErrDropped says that a Window has dropped the byte that a reader asked for.
var ErrDropped = errors.New("the window is past this byte")

// Window holds the part of a reduce place's output that its one reader has not taken yet. Its
// memory is a ring: the writer waits before it would overwrite unread bytes. Checks and digest are
// those of the whole output.
//
//	0 .... kept ........ taken .... Watermark .... Arrived ........ Granted .... Size
//	 gone      was sent        checked           raw        may be written
//
// A few sent bytes stay (kept to taken), so that a reader whose stream broke can go on from there.
type Window struct {
	region    *Region
	ring      []byte // byte k is at k % len(ring)
	tail      int64  // how many sent bytes it keeps at least
	size      int64
	arrived   atomic.Int64
	watermark atomic.Int64 // Invariant: a multiple of PieceSize, or size
	complete  atomic.Bool
	refs      atomic.Int64
	subs      subscribers
	room      chan struct{} // capacity 1: Granted has risen

	mu      sync.Mutex
	checks  []Check
	digest  phalanx.Digest
	err     error
	granted int64       // never falls; Invariant: kept is granted - len(ring)
	taken   int64       // Invariant: kept <= taken
	reader  *windowRead // the last reader
}

// windowRead is one stream from a window.
type windowRead struct {
	cancel context.CancelFunc
	over   chan struct{} // closed once it no longer uses the ring
}

// NewWindow returns an empty window on size bytes. It waits for room for a small one until ctx
// ends. The caller owns the one reference.
func (p *Pool) NewWindow(ctx context.Context, size int64) (*Window, error) {
	if w := p.TryWindow(size); w != nil {
		return w, nil
	}
	r, err := p.Get(ctx, min(WindowMin, roundUp(size, PieceSize)))
	if err != nil {
		return nil, err
	}
	return newWindow(r, size), nil
}

// TryWindow returns an empty window as large as the free memory allows, or nil.
func (p *Pool) TryWindow(size int64) *Window {
	for n := min(WindowMax, roundUp(size, PieceSize)); ; n = max(WindowMin, n/2/PieceSize*PieceSize) {
		if r := p.TryGet(n); r != nil {
			return newWindow(r, size)
		}
		if n <= WindowMin {
			return nil
		}
	}
}

func newWindow(r *Region, size int64) *Window {
	n := int64(len(r.mem))
	w := &Window{region: r, ring: r.mem, size: size, tail: n / 4 / PieceSize * PieceSize,
		room: make(chan struct{}, 1), checks: make([]Check, 0, Pieces(size)), granted: min(n, size)}
	w.refs.Store(1)
	w.conclude()
	return w
}

// Size returns how many bytes the whole output has.
func (w *Window) Size() int64 { return w.size }

// Arrived returns how many bytes the writer has committed.
func (w *Window) Arrived() int64 { return w.arrived.Load() }

// Watermark returns how many committed bytes have their check.
func (w *Window) Watermark() int64 { return w.watermark.Load() }

// Complete reports whether the whole output has been committed and checked.
func (w *Window) Complete() bool { return w.complete.Load() }

// Digest returns the output's digest once it is complete.
func (w *Window) Digest() (phalanx.Digest, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.digest, w.complete.Load()
}

// Err returns the error of the first Fail.
func (w *Window) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Held returns the window's charge to the budget.
func (w *Window) Held() int64 { return w.region.charged }

// Retain adds a reference. Its caller must already have one.
func (w *Window) Retain() {
	if w.refs.Add(1) <= 1 {
		panic("dataplane: a released window is retained")
	}
}

// Release drops a reference. The last one gives the memory back.
func (w *Window) Release() {
	switch n := w.refs.Add(-1); {
	case n == 0:
		w.region.Release()
	case n < 0:
		panic("dataplane: a window is released twice")
	}
}

// Fail ends the window for its reader: an *Ended tells it why.
func (w *Window) Fail(err error) {
	w.mu.Lock()
	if w.err == nil {
		w.err = err
	}
	if w.reader != nil {
		w.reader.cancel() // the reader may be waiting for a receiver that reads nothing
	}
	w.mu.Unlock()
	w.subs.wake()
}

// Granted returns the end of the bytes that may be written. Room signals when it rises.
func (w *Window) Granted() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	free := min(w.taken/PieceSize*PieceSize, w.watermark.Load()) - w.tail
	w.granted = max(w.granted, min(free+int64(len(w.ring)), w.size))
	return w.granted
}

// Room returns the channel that wakes the writer.
func (w *Window) Room() <-chan struct{} { return w.room }

// At returns the memory of the bytes from lo on: up to hi, or less where the ring ends. The writer
// may use bytes below Granted that it has not committed.
func (w *Window) At(lo, hi int64) []byte {
	n := int64(len(w.ring))
	at := lo % n
	end := min(at+hi-lo, n)
	return w.ring[at:end:end]
}

// Commit says that the next n bytes are there. It tells the reader, and then computes their checks.
func (w *Window) Commit(n int) {
	if n == 0 {
		return
	}
	at := w.arrived.Add(int64(n))
	w.subs.wake()
	start := w.watermark.Load()
	for done := start; done < at; {
		end := min(done+PieceSize, w.size)
		if end > at {
			break
		}
		c := CheckOf(w.At(done, end))
		w.mu.Lock()
		w.checks = append(w.checks, c)
		w.mu.Unlock()
		w.watermark.Store(end)
		done = end
	}
	if w.watermark.Load() > start {
		w.conclude()
		w.subs.wake()
		w.wakeWriter()
	}
}

func (w *Window) conclude() {
	if w.watermark.Load() != w.size {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.digest = DigestOf(w.checks)
	w.complete.Store(true)
}

func (w *Window) wakeWriter() {
	select {
	case w.room <- struct{}{}:
	default:
	}
}

// Subscribe returns a subscription that starts now.
func (w *Window) Subscribe() *Sub { return w.subs.add() }

// join makes the caller the reader from a byte on, once the last reader has ended. The context that
// it returns ends with ctx, with Fail, and when another reader joins. The caller must call leave.
func (w *Window) join(ctx context.Context, from int64) (reading context.Context, leave func(), err error) {
	reading, cancel := context.WithCancel(ctx)
	me := &windowRead{cancel: cancel, over: make(chan struct{})}
	leave = func() { cancel(); close(me.over) }
	w.mu.Lock()
	if from < w.granted-int64(len(w.ring)) {
		err = w.dropped(from)
		w.mu.Unlock()
		leave()
		return nil, nil, err
	}
	before := w.reader
	w.reader = me
	w.mu.Unlock()
	if before != nil {
		before.cancel()
		select {
		case <-before.over:
		case <-reading.Done():
			// The next reader waits for this one, which has to wait for the one before.
			go func() { <-before.over; leave() }()
			return nil, nil, context.Cause(reading)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case reading.Err() != nil: // another reader has joined
		err = context.Cause(reading)
	case from < w.granted-int64(len(w.ring)): // the reader before has read on
		err = w.dropped(from)
	default:
		w.taken = from
		w.wakeWriter()
		return reading, leave, nil
	}
	leave()
	return nil, nil, err
}

func (w *Window) dropped(from int64) error {
	return fmt.Errorf("byte %d is asked for, %d is the first that is kept: %w", from, w.granted-int64(len(w.ring)), ErrDropped)
}

func (w *Window) next(pos, limit, end int64) []byte {
	end = min(end, w.arrived.Load(), pos+limit)
	if end <= pos {
		return nil
	}
	return w.At(pos, end)
}

func (w *Window) checksFrom(piece int64, dst []Check) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if piece >= int64(len(w.checks)) {
		return 0
	}
	return copy(dst, w.checks[piece:])
}

func (w *Window) took(pos int64) {
	w.mu.Lock()
	w.taken = pos
	w.mu.Unlock()
	w.wakeWriter()
}

// SendRing is SendBuffer of a place's part of a ring.
func (w *Writer) SendRing(ctx context.Context, r *Ring, opts SendOptions) error {
	return w.sendStock(ctx, r, 0, opts)
}

// SendWindow is SendBuffer from a window; the receiver becomes its reader. If the window has
// dropped the byte, it returns ErrDropped; the stream is still open.
func (w *Writer) SendWindow(ctx context.Context, win *Window, from int64, opts SendOptions) error {
	if err := startable(win, from); err != nil {
		return errors.Join(err, w.Gone(faultOf(err)))
	}
	reading, leave, err := win.join(ctx, from)
	if err != nil {
		return err
	}
	defer leave()
	return w.sendStock(reading, win, from, opts)
}
