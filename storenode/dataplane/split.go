package dataplane

// The pool splits and joins idle regions, so that memory that was touched for a large object serves
// smaller ones, and the other way round.

// share returns how much of a larger region n bytes take.
func share(n int64) int64 {
	if n >= huge {
		return roundUp(n, huge)
	}
	return roundUp(n, int64(pageSize))
}

// split takes a share out of the idle region r: whole huge pages from its front, less than one from
// its back. So the rest still begins with a huge page.
func (r *Region) split(share int64) *Region {
	part := &Region{pool: r.pool, mapped: true, charged: share}
	if share >= huge {
		part.mem, r.mem = r.mem[:share:share], r.mem[share:]
	} else {
		at := r.charged - share
		part.mem, r.mem = r.mem[at:], r.mem[:at:at]
	}
	r.charged -= share
	return part
}

// join extends r by an idle region next to it, and reports whether it is next to r.
func (r *Region) join(idle *Region) bool {
	mem := joinMemory(r.mem, idle.mem)
	if mem == nil {
		mem = joinMemory(idle.mem, r.mem)
	}
	if mem == nil {
		return false
	}
	r.mem, r.charged = mem, r.charged+idle.charged
	return true
}
