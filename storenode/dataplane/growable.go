package dataplane

// A growable region serves an object of unknown size. It is contiguous, because
// its address range is reserved at once, and it is paid for in steps.

const maxStep = 64 << 20

// growable returns an empty region that can grow up to the budget's cap.
func (p *Pool) growable() *Region { return &Region{pool: p} }

// grow returns a region of at least n bytes with the content of r, in the same
// place where that can be. Readers of r may go on; r is not released. On an
// error r is as before.
func (r *Region) grow(n int64, reserve func(int64) error) (*Region, error) {
	p := r.pool
	to := r.step(n)
	if err := reserve(to - r.charged); err != nil {
		return r, err
	}
	next := &Region{pool: p, charged: to}
	if to <= HeapMax {
		next.mem = make([]byte, to)
		return next, nil
	}
	mem, err := growMemory(r.mem, to, max(to, p.budget.Cap()/huge*huge))
	if err != nil {
		p.budget.Release(to - r.charged)
		return r, noMemory(n, err)
	}
	next.mem, next.mapped = mem, true
	if r.mapped {
		p.hold(to - r.charged)
	} else {
		p.hold(to)
	}
	return next, nil
}

// step returns the size to grow to for n bytes: some more than that, in huge
// pages, if that can fit at all.
func (r *Region) step(n int64) int64 {
	if n <= HeapMax {
		return HeapMax
	}
	to := roundUp(max(n, r.charged+min(r.charged/4, maxStep)), huge)
	if to > r.pool.budget.Cap() {
		return Charge(n)
	}
	return to
}

// trim returns r with just its first n bytes and gives the rest back.
func (r *Region) trim(n int64) *Region {
	t := &Region{pool: r.pool, mem: r.mem[:n:n], mapped: r.mapped, charged: r.charged}
	if !r.mapped {
		return t // at most HeapMax, all of it kept
	}
	t.charged = roundUp(max(n, 1), int64(pageSize))
	t.mem = shrinkMemory(r.mem, t.charged)[:n]
	r.pool.hold(t.charged - r.charged)
	r.pool.budget.Release(r.charged - t.charged)
	return t
}
