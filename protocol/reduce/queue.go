package reduce

import (
	"cmp"
	"container/heap"
)

// queue is a heap of the sources that are ready and have no place: first sources that have
// not stalled, by arrival, then stalled ones. So the cost of an event hardly depends on the
// number of sources.
type queue []*source

var _ heap.Interface = (*queue)(nil)

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if q[i].stalled != q[j].stalled {
		return q[j].stalled
	}
	return cmp.Less(q[i].arrival, q[j].arrival)
}
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].slot, q[j].slot = i+1, j+1
}
func (q *queue) Push(x any) {
	s := x.(*source)
	*q = append(*q, s)
	s.slot = len(*q)
}
func (q *queue) Pop() any {
	last := len(*q) - 1
	s := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	s.slot = 0
	return s
}

// changed brings the queue and the counts up to date after the readiness, a generation,
// the holders or the place of s may have changed.
func (c *Coordinator) changed(s *source) {
	ready := s.arrival > 0 && !s.deleted
	if whole := ready && s.final == s.gen; whole != s.whole {
		s.whole = whole
		if whole {
			c.whole++
		} else {
			c.whole--
		}
	}
	s.aside = false
	switch waits := ready && s.position < 0; {
	case waits && s.slot > 0:
		heap.Fix(&c.queue, s.slot-1)
	case waits:
		heap.Push(&c.queue, s)
	case s.slot > 0:
		heap.Remove(&c.queue, s.slot-1)
	}
}

// next returns the source whose turn it is to have a place, or nil. It sets aside sources
// whose holders take no place now.
func (c *Coordinator) next() *source {
	c.lookAside()
	for len(c.queue) > 0 {
		if s := c.queue[0]; c.usable(s) {
			return s
		}
		c.setAside()
	}
	return nil
}

// setAside removes the first source from the queue until the next event at a later time,
// or until its holders change.
func (c *Coordinator) setAside() {
	s := heap.Pop(&c.queue).(*source)
	s.aside = true
	c.aside = append(c.aside, s)
}

// lookAside puts the sources that were set aside back when time has passed: a holder may
// not be barred any more.
func (c *Coordinator) lookAside() {
	if c.asideAt != c.now {
		c.asideAt = c.now
		c.noneAside()
	}
}

func (c *Coordinator) noneAside() {
	for i, s := range c.aside {
		c.aside[i] = nil
		if s.aside {
			c.changed(s)
		}
	}
	c.aside = c.aside[:0]
}

// spare returns how many sources could have a place now and have not stalled, but at
// most that many.
func (c *Coordinator) spare(most int) int {
	c.lookAside()
	n := 0
	for _, s := range c.queue {
		if n == most {
			break
		}
		if !s.stalled && c.usable(s) {
			n++
		}
	}
	return n
}
