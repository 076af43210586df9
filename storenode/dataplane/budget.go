package dataplane

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/phalanx-go/phalanx/protocol/memory"
)

// Budget is a node's memory cap. Every holder of objects' bytes holds that many bytes of the
// budget, and reserves them first. A memory.Queue decides which request it grants next. It is safe
// for concurrent use.
type Budget struct {
	cap     int64
	began   time.Time
	waiting atomic.Int32 // 1 if a request waits, else 0; read without mu

	mu       sync.Mutex
	queue    *memory.Queue
	peak     int64
	pinned   int64 // bytes taken by copies that are not evicted
	reserved int64 // bytes taken by uploads under way and the directory
	last     uint64
	granted  map[uint64]chan struct{} // by waiting request; closed when it is granted
	timer    *time.Timer              // for the queue's next Tick; nil before there was one
	due      time.Duration            // when the timer fires; negative: it is stopped
	pressure func(need int64)
	reclaim  func(need int64) bool // gives unused memory back; reports false when there is none
}

// NewBudget returns a budget of capacity bytes.
func NewBudget(capacity int64) *Budget {
	return &Budget{cap: capacity, began: time.Now(), queue: memory.New(memory.Config{Cap: capacity}), granted: map[uint64]chan struct{}{}, due: -1}
}

// OnPressure sets the function that the budget calls, without a lock held, when a caller has to
// make room: the waiting requests that can be granted lack need bytes.
func (b *Budget) OnPressure(f func(need int64)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pressure = f
}

// Reserve takes n bytes, and waits for them until ctx ends. It fails at once if n is more than the
// cap. Both errors are ErrNoSpace with the numbers.
func (b *Budget) Reserve(ctx context.Context, n int64) error { return b.reserve(ctx, n, memory.Waits) }

// ReserveIfPossible is Reserve that fails at once if pinned and reserved bytes leave no room for n.
func (b *Budget) ReserveIfPossible(ctx context.Context, n int64) error {
	return b.reserve(ctx, n, memory.Bounded)
}

// ReserveWithin is ReserveIfPossible that waits no longer than wait. With a wait of 0 or less it is ReserveNow.
func (b *Budget) ReserveWithin(ctx context.Context, n int64, wait time.Duration) error {
	if wait <= 0 {
		return b.ReserveNow(n)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, waited(wait))
	defer cancel()
	return b.ReserveIfPossible(ctx, n)
}

func (b *Budget) reserve(ctx context.Context, n int64, patience memory.Patience) error {
	if err := b.check(n); err != nil {
		return err
	}
	if b.TryReserve(n) {
		return nil
	}
	granted := make(chan struct{})
	b.mu.Lock()
	b.last++
	id := b.last
	b.granted[id] = granted
	met, why, evict := b.step(memory.Ask{ID: id, Bytes: n, Patience: patience})
	need, press := b.queue.Need(), b.pressure
	if why != 0 {
		delete(b.granted, id)
		err := b.full(n, reasonOf(why))
		b.mu.Unlock()
		return err
	}
	b.mu.Unlock()
	if met {
		return nil
	}
	if evict && need > 0 {
		b.tidy(need)
		if press != nil {
			press(need)
		}
	}
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	if _, waits := b.granted[id]; !waits {
		b.mu.Unlock()
		return nil // granted meanwhile
	}
	delete(b.granted, id)
	_, _, evict = b.step(memory.Gone{ID: id})
	err := b.full(n, context.Cause(ctx))
	b.unlock(evict)
	return err
}

// ReserveNow takes n bytes if they are free, even before a waiting request whose turn it is: it is
// for callers that cannot wait. It fails as Reserve does.
func (b *Budget) ReserveNow(n int64) error {
	if err := b.check(n); err != nil {
		return err
	}
	if b.take(n, memory.Takes) {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.full(n, errNotNow)
}

// TryReserve takes n bytes if they are free and no waiting request has its turn.
func (b *Budget) TryReserve(n int64) bool { return n >= 0 && b.take(n, memory.Tries) }

// take asks for n bytes without waiting. It gives unused memory back for them.
func (b *Budget) take(n int64, patience memory.Patience) bool {
	for {
		b.mu.Lock()
		met, _, _ := b.step(memory.Ask{Bytes: n, Patience: patience})
		missing := b.queue.Used() + n - b.cap
		b.mu.Unlock()
		if met {
			return true
		}
		if n > b.cap || missing <= 0 || !b.tidy(missing) {
			return false
		}
	}
}

// Force takes n bytes, free or not, that the budget cannot refuse. Others wait until enough
// bytes are free again.
func (b *Budget) Force(n int64) {
	b.mu.Lock()
	b.step(memory.Taken{Bytes: n})
	need, press := b.queue.Used()-b.cap, b.pressure
	b.mu.Unlock()
	if need > 0 && !b.tidy(need) && press != nil {
		press(need)
	}
}

// Press asks the pool and the evictor to free n bytes.
func (b *Budget) Press(n int64) {
	b.mu.Lock()
	need, press := b.queue.Used()+n-b.cap, b.pressure
	b.mu.Unlock()
	if need > 0 && !b.tidy(need) && press != nil {
		press(need)
	}
}

// Missing returns how many bytes to evict: the waiting requests that can be granted lack them, or
// they exceed the cap.
func (b *Budget) Missing() int64 {
	b.mu.Lock()
	need := b.queue.Need()
	b.mu.Unlock()
	if need <= 0 || !b.tidy(need) {
		return max(0, need)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, b.queue.Need())
}

// Release gives n bytes back.
func (b *Budget) Release(n int64) {
	b.mu.Lock()
	evict := false
	defer func() { b.unlock(evict) }() // also when the queue panics: no caller holds the bytes
	_, _, evict = b.step(memory.Freed{Bytes: n})
}

// unlock unlocks mu, and with evict asks for room. It does not give unused memory back, as its
// callers may hold locks: OnPressure's function does.
func (b *Budget) unlock(evict bool) {
	need, press := b.queue.Need(), b.pressure
	b.mu.Unlock()
	if evict && need > 0 && press != nil {
		press(need)
	}
}

// Last adds to the taken bytes that are pinned, and reserved: evictions do not free them. Negative
// numbers subtract.
func (b *Budget) Last(pinned, reserved int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pinned += pinned
	b.reserved += reserved
	b.step(memory.Lasts{Bytes: pinned + reserved})
}

// Used returns how many bytes are taken, including idle memory of a Pool.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue.Used()
}

// Peak returns the most bytes that were ever taken.
func (b *Budget) Peak() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.peak
}

// Cap returns the capacity in bytes.
func (b *Budget) Cap() int64 { return b.cap }

// Lasting returns how many bytes are pinned, and reserved, by the calls of Last.
func (b *Budget) Lasting() (pinned, reserved int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pinned, b.reserved
}

// Waiting returns how many requests wait, and for how many bytes.
func (b *Budget) Waiting() (requests int, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue.Waiting()
}

// contended reports whether a request waits.
func (b *Budget) contended() bool { return b.waiting.Load() > 0 }

// tidy gives unused memory back, and reports whether there was any.
func (b *Budget) tidy(need int64) bool {
	b.mu.Lock()
	f := b.reclaim
	b.mu.Unlock()
	return f != nil && f(need)
}

// step gives the queue ev, and wakes the requests that it grants. It reports whether the queue
// grants a request that does not wait, or why it refuses it, and whether more bytes must be evicted
// than before. It needs mu.
func (b *Budget) step(ev memory.Event) (met bool, why memory.Reason, evict bool) {
	asked, asks := ev.(memory.Ask)
	for _, e := range b.queue.Step(time.Since(b.began), ev) {
		switch e := e.(type) {
		case memory.Grant:
			if asks && e.ID == asked.ID {
				met = true
			}
			if granted := b.granted[e.ID]; granted != nil {
				delete(b.granted, e.ID)
				close(granted)
			}
		case memory.Refuse:
			why = e.Why
		case memory.Evict:
			evict = true
		}
	}
	b.peak = max(b.peak, b.queue.Used())
	requests, _ := b.queue.Waiting()
	b.waiting.Store(int32(min(requests, 1)))
	b.arm()
	return met, why, evict
}

// arm sets the timer for the queue's next Tick, unless it fires earlier already.
func (b *Budget) arm() {
	due, ok := b.queue.Due()
	switch {
	case !ok:
		if b.due >= 0 {
			b.due = -1
			b.timer.Stop()
		}
		return
	case b.due >= 0 && b.due <= due:
		return
	}
	b.due = due
	after := max(due-time.Since(b.began), 0)
	if b.timer == nil {
		b.timer = time.AfterFunc(after, b.tick)
		return
	}
	b.timer.Reset(after)
}

func (b *Budget) tick() {
	b.mu.Lock()
	if b.due < 0 { // stopped just as it fired
		b.mu.Unlock()
		return
	}
	b.due = -1
	_, _, evict := b.step(memory.Tick{})
	need, press := b.queue.Need(), b.pressure
	b.mu.Unlock()
	if evict && need > 0 && !b.tidy(need) && press != nil {
		press(need)
	}
}
