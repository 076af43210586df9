package dataplane

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
)

const (
	// HeapMax is the size up to which memory comes from the Go heap: a mapping
	// costs a system call and a page fault.
	HeapMax = 64 << 10

	huge = 2 << 20
)

// Pool hands out memory from a Budget. Larger regions lie outside the Go heap. The pool keeps
// released ones, because memory that was touched before is up to twice as fast to fill. Idle
// regions still count against the budget. The pool drops them as soon as a request waits for room,
// and after a minute of idleness.
type Pool struct {
	budget *Budget

	mu     sync.Mutex
	idle   []*Region // oldest first
	kept   int64     // bytes in idle
	held   int64     // bytes handed out and mapped
	recent int64     // a falling maximum of held; it bounds idle memory
	warm   int64     // recent does not fall below the bytes that Warm touched
	closed bool

	idleness idleness
}

// Region is contiguous memory from a Pool. Its holder alone may use it.
type Region struct {
	pool    *Pool
	mem     []byte
	mapped  bool
	charged int64 // of the budget; at least len(mem), and the capacity of mem if it is mapped and does not grow
}

// NewPool returns a pool on budget. A budget has one pool.
func NewPool(budget *Budget) *Pool {
	p := &Pool{budget: budget}
	budget.mu.Lock()
	budget.reclaim = p.reclaim
	budget.mu.Unlock()
	return p
}

// Budget returns the pool's budget.
func (p *Pool) Budget() *Budget { return p.budget }

// Charge returns the charge of n bytes to the budget. An idle region may have up to a quarter more,
// which is charged already.
func Charge(n int64) int64 {
	if n <= HeapMax {
		return n
	}
	return roundUp(n, int64(pageSize))
}

// Get returns n bytes of undefined content. It waits for room until ctx ends.
func (p *Pool) Get(ctx context.Context, n int64) (*Region, error) {
	if r := p.reuse(n); r != nil {
		return r, nil
	}
	if err := p.budget.Reserve(ctx, Charge(n)); err != nil {
		return nil, err
	}
	return p.charged(n)
}

// getWithin is Get that waits as Budget.ReserveWithin does.
func (p *Pool) getWithin(ctx context.Context, n int64, wait time.Duration) (*Region, error) {
	if r := p.reuse(n); r != nil {
		return r, nil
	}
	if err := p.budget.ReserveWithin(ctx, Charge(n), wait); err != nil {
		return nil, err
	}
	return p.charged(n)
}

// TryGet returns n bytes if there is room now, else nil.
func (p *Pool) TryGet(n int64) *Region {
	if r := p.reuse(n); r != nil {
		return r
	}
	if !p.budget.TryReserve(Charge(n)) {
		return nil
	}
	r, err := p.charged(n)
	if err != nil {
		return nil
	}
	return r
}

// GetReserved returns n bytes for a caller that holds Charge(n) of the budget, which the region
// takes over.
func (p *Pool) GetReserved(n int64) (*Region, error) {
	if r := p.reuse(n); r != nil {
		p.budget.Release(Charge(n))
		return r, nil
	}
	return p.charged(n)
}

// charged makes a new region of n bytes for which the budget is already charged.
func (p *Pool) charged(n int64) (*Region, error) {
	r := &Region{pool: p, charged: Charge(n)}
	if n <= HeapMax {
		r.mem = make([]byte, n)
		return r, nil
	}
	mem, err := mapMemory(r.charged)
	if err != nil {
		p.budget.Release(r.charged)
		return nil, noMemory(n, err)
	}
	r.mem, r.mapped = mem[:n], true
	p.hold(r.charged)
	return r, nil
}

// reuse returns n bytes of the smallest idle region that is large enough, or nil.
func (p *Pool) reuse(n int64) *Region {
	if n <= HeapMax {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	best := -1
	for i, r := range p.idle {
		if r.charged >= n && (best < 0 || r.charged < p.idle[best].charged) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	r := p.takeLocked(best, n, n/4)
	p.holdLocked(r.charged)
	r.mem = r.mem[:n]
	return r
}

// takeLocked takes n bytes out of an idle region, or all of it if at most spare bytes would be
// left.
func (p *Pool) takeLocked(i int, n, spare int64) *Region {
	r := p.idle[i]
	if k := share(n); k < r.charged && n+spare < r.charged {
		r = r.split(k)
	} else {
		p.idle = slices.Delete(p.idle, i, i+1)
	}
	p.kept -= r.charged
	p.idleness.least = min(p.idleness.least, p.kept)
	return r
}

func (p *Pool) hold(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holdLocked(n)
}

func (p *Pool) holdLocked(n int64) {
	p.held += n
	p.recent = max(p.held, p.recent-p.recent/16, p.warm) // some forty requests forget a peak
}

// Bytes returns the memory.
func (r *Region) Bytes() []byte { return r.mem }

// Release gives r back. The caller must not touch its memory afterwards.
func (r *Region) Release() {
	p := r.pool
	if !r.mapped {
		r.mem = nil
		p.budget.Release(r.charged)
		return
	}
	r.mem = r.mem[:r.charged]
	if int64(cap(r.mem)) > r.charged { // a growable region that was not trimmed
		r.mem = shrinkMemory(r.mem, r.charged)
	}
	n := r.charged
	p.mu.Lock()
	p.held -= n
	p.kept += n
	p.idle = slices.DeleteFunc(p.idle, r.join)
	p.idle = append(p.idle, r)
	need := p.kept + p.held - p.recent
	if p.closed {
		need = p.kept
	} else {
		p.tendLocked()
	}
	p.mu.Unlock()
	if p.budget.contended() {
		need = max(need, n)
	}
	if need > 0 {
		p.reclaim(need)
	}
}

// Idle returns how many bytes the pool keeps for reuse.
func (p *Pool) Idle() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept
}

// Warm touches n bytes ahead of need and leaves them idle. The pool may later give back idle memory
// beyond n. Warm reports whether there was room.
func (p *Pool) Warm(n int64) bool {
	r := p.TryGet(n)
	if r == nil {
		return false
	}
	for i := 0; i < len(r.mem); i += pageSize {
		r.mem[i] = 0
	}
	p.mu.Lock()
	p.warm = n
	p.mu.Unlock()
	r.Release()
	return true
}

// reclaim drops idle memory, oldest first, until need bytes are free, and
// reports whether there was any.
func (p *Pool) reclaim(need int64) bool { return p.drop(need, need/4) }

// drop is reclaim that takes a whole region if at most spare bytes of it would be left.
func (p *Pool) drop(need, spare int64) bool {
	var drop []*Region
	freed := int64(0)
	p.mu.Lock()
	for len(p.idle) > 0 && freed < need {
		r := p.takeLocked(0, need-freed, spare)
		drop = append(drop, r)
		freed += r.charged
	}
	p.mu.Unlock()
	for _, r := range drop { // unmapping takes a while, so not under mu
		unmapMemory(r.mem)
	}
	if freed > 0 {
		p.budget.Release(freed)
	}
	return freed > 0
}

func noMemory(n int64, err error) error {
	return &phalanx.Error{Op: "reserve", Kind: phalanx.ErrNoSpace, Err: fmt.Errorf("mapping %d bytes: %w", n, err)}
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }
