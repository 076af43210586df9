package dataplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/phalanx-go/phalanx"
)

// Budget is a node's memory cap. Whoever holds bytes of objects, or means to,
// holds that many bytes of the budget. Reservations that have to wait are
// served in order, also when a later one would fit.
type Budget struct {
	cap     int64
	waiting atomic.Int32 // len(queue), read without mu

	mu       sync.Mutex
	used     int64 // Invariant: 0 <= used; more than cap only by Force
	peak     int64
	queue    []*reservation
	pressure func(need int64)
	reclaim  func(need int64) bool // gives unused memory back; false when there is none
}

type reservation struct {
	n       int64
	granted chan struct{}
}

// NewBudget returns a budget of capacity bytes.
func NewBudget(capacity int64) *Budget { return &Budget{cap: capacity} }

// OnPressure sets what is called, without a lock held, whenever a reservation
// has to wait: need bytes are missing for it and for those before it.
func (b *Budget) OnPressure(f func(need int64)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pressure = f
}

// Reserve takes n bytes, waiting for them in order until ctx ends. More than
// the cap fails at once. Both fail with ErrNoSpace and the numbers.
func (b *Budget) Reserve(ctx context.Context, n int64) error {
	if n < 0 {
		return &phalanx.Error{Op: "reserve", Kind: phalanx.ErrInvalid, Err: fmt.Errorf("%d bytes", n)}
	}
	if n > b.cap {
		return &phalanx.Error{Op: "reserve", Kind: phalanx.ErrNoSpace,
			Err: fmt.Errorf("%d bytes are more than the cap of %d", n, b.cap)}
	}
	if b.TryReserve(n) {
		return nil
	}
	r := &reservation{n: n, granted: make(chan struct{})}
	b.mu.Lock()
	b.queue = append(b.queue, r)
	b.waiting.Store(int32(len(b.queue)))
	b.grant()
	need, pressure := b.short(), b.pressure
	b.mu.Unlock()
	if need > 0 {
		b.tidy(need)
		if pressure != nil {
			pressure(need)
		}
	}
	select {
	case <-r.granted:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.queue, r)
	if i < 0 {
		return nil // granted meanwhile
	}
	err := b.full(n, b.before(i), context.Cause(ctx))
	b.queue = slices.Delete(b.queue, i, i+1)
	b.waiting.Store(int32(len(b.queue)))
	b.grant()
	return err
}

// ReserveNow is TryReserve with Reserve's error.
func (b *Budget) ReserveNow(n int64) error {
	if b.TryReserve(n) {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.full(n, b.before(len(b.queue)), errNotNow)
}

// Lack returns the error, for the reason why, of whoever does not wait any
// longer for n bytes: ErrNoSpace, or if nobody waits for so many, and it has got
// them or not yet asked, ErrDeadline.
func (b *Budget) Lack(n int64, why error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.queue, func(r *reservation) bool { return r.n == n })
	if i < 0 {
		return &phalanx.Error{Op: "reserve", Kind: phalanx.ErrDeadline, Err: fmt.Errorf("there was room for %d bytes, but not the time to begin", n)}
	}
	return b.full(n, b.before(i), why)
}

// before returns how many bytes the first k that wait want.
func (b *Budget) before(k int) int64 {
	sum := int64(0)
	for _, r := range b.queue[:k] {
		sum += r.n
	}
	return sum
}

var errNotNow = errors.New("it cannot wait")

func (b *Budget) full(n, before int64, why error) error {
	return &phalanx.Error{Op: "reserve", Kind: phalanx.ErrNoSpace,
		Err: fmt.Errorf("%d bytes are needed, %d of %d are free, %d are waited for by others before: %w",
			n, max(b.cap-b.used, 0), b.cap, before, why)}
}

// TryReserve takes n bytes if they are free and nobody waits before.
func (b *Budget) TryReserve(n int64) bool {
	for {
		b.mu.Lock()
		missing, queued := b.used+n-b.cap, len(b.queue) > 0
		if missing <= 0 && !queued && n >= 0 {
			b.take(n)
			b.mu.Unlock()
			return true
		}
		b.mu.Unlock()
		if queued || n < 0 || n > b.cap || !b.tidy(missing) {
			return false
		}
	}
}

// Force takes n bytes whether they are free or not: for what cannot be refused.
// Others wait until enough was given back.
func (b *Budget) Force(n int64) {
	b.mu.Lock()
	b.take(n)
	need, pressure := b.used-b.cap, b.pressure
	b.mu.Unlock()
	if need > 0 && !b.tidy(need) && pressure != nil {
		pressure(need)
	}
}

// Press asks for n bytes to be made free, by whoever can.
func (b *Budget) Press(n int64) {
	b.mu.Lock()
	need, pressure := b.used+n-b.cap, b.pressure
	b.mu.Unlock()
	if need > 0 && !b.tidy(need) && pressure != nil {
		pressure(need)
	}
}

// Missing returns how many bytes those that wait are short of, or by how many
// the cap is exceeded.
func (b *Budget) Missing() int64 {
	b.mu.Lock()
	need := b.short()
	b.mu.Unlock()
	if need <= 0 || !b.tidy(need) {
		return max(0, need)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, b.short())
}

// Release gives n bytes back.
func (b *Budget) Release(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n < 0 || n > b.used {
		panic(fmt.Sprintf("dataplane: %d of %d bytes released", n, b.used))
	}
	b.used -= n
	b.grant()
}

// Used returns how much is taken, by idle memory of a Pool too.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Peak returns the most that was ever taken.
func (b *Budget) Peak() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.peak
}

// Cap returns how much there is.
func (b *Budget) Cap() int64 { return b.cap }

// contended reports whether a reservation waits.
func (b *Budget) contended() bool { return b.waiting.Load() > 0 }

// tidy has unused memory given back and reports whether there was any.
func (b *Budget) tidy(need int64) bool {
	b.mu.Lock()
	f := b.reclaim
	b.mu.Unlock()
	return f != nil && f(need)
}

func (b *Budget) take(n int64) {
	b.used += n
	b.peak = max(b.peak, b.used)
}

// short returns how many bytes all that wait are short of; what was forced is
// short too.
func (b *Budget) short() int64 {
	return b.used - b.cap + b.before(len(b.queue))
}

func (b *Budget) grant() {
	n := 0
	for _, r := range b.queue {
		if b.used+r.n > b.cap {
			break
		}
		b.take(r.n)
		close(r.granted)
		n++
	}
	if n > 0 {
		b.queue = slices.Delete(b.queue, 0, n)
		b.waiting.Store(int32(len(b.queue)))
	}
}
