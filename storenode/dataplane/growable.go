package dataplane

// A growable region serves an object of unknown size. It is contiguous, because it reserves its
// address range at once; it pays for memory in steps.

const maxStep = 64 << 20

// growable returns an empty region that can grow up to the budget's cap.
func (p *Pool) growable() *Region { return &Region{pool: p} }

// grow returns a region of at least n bytes with the content of r, in the same place if possible.
// Readers of r may go on; grow does not release r. An error leaves r as it was.
func (r *Region) grow(n int64, reserve func(int64) error) (*Region, error) {
	p := r.pool
	least, to := r.step(n)
	if !p.budget.TryReserve(to - r.charged) {
		if err := reserve(least - r.charged); err != nil {
			return r, err
		}
		to = least
	}
	next := &Region{pool: p, charged: to}
	if to <= HeapMax {
		next.mem = make([]byte, to)
		return next, nil
	}
	mem, err := growMemory(r.mem, to, Charge(max(to, p.budget.Cap())))
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

// step returns the least size to grow to for n bytes, and the preferred size: somewhat more, in
// huge pages.
func (r *Region) step(n int64) (least, prefer int64) {
	if n <= HeapMax {
		return HeapMax, HeapMax
	}
	limit := r.pool.budget.Cap()
	least = max(Charge(n), min(roundUp(n, MaxData), limit/int64(pageSize)*int64(pageSize)))
	prefer = roundUp(max(n, r.charged+min(r.charged/4, maxStep)), huge)
	if prefer > limit {
		prefer = least
	}
	return least, prefer
}

// trim returns r with only its first n bytes, and gives the rest back.
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
