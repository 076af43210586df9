package sim

import (
	"fmt"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
)

// memory gives out a node's room in the order in which it was asked for, and
// evicts when there is none.
//
// Invariant: used is the sum of what is reserved, at most cap.
type memory struct {
	n       *node
	cap     int64 // 0: none
	used    int64
	queue   []*wish
	evictor *copies.Evictor[*copied]
	forced  *copied // one of its shard is the next to be asked about
	evicts  bool    // the evictor is at work
}

func newMemory(n *node) *memory {
	m := &memory{n: n, cap: n.w.shape.cap}
	m.evictor = copies.NewEvictor[*copied](m)
	return m
}

type wish struct {
	c     *copied
	bytes int64 // in all
	done  func(err *phalanx.Error)
}

// reserve asks for room for c, bytes in all, and calls done when it is there or
// can never be.
func (m *memory) reserve(c *copied, bytes int64, done func(*phalanx.Error)) *wish {
	if m.cap > 0 && bytes > m.cap {
		done(&phalanx.Error{Object: c.Object, Node: m.n.id, Kind: phalanx.ErrNoSpace,
			Err: fmt.Errorf("%d bytes do not fit under the cap of %d", bytes, m.cap)})
		return nil
	}
	w := &wish{c, bytes, done}
	m.queue = append(m.queue, w)
	m.serve()
	return w
}

// try reserves at once or not at all.
func (m *memory) try(c *copied, bytes int64) bool {
	if bytes <= c.room {
		return true
	}
	if len(m.queue) > 0 || m.cap > 0 && m.used+bytes-c.room > m.cap {
		m.n.w.met["no room at once"]++
		return false
	}
	m.resize(c, bytes)
	return true
}

func (m *memory) forget(w *wish) {
	m.queue = slices.DeleteFunc(m.queue, func(x *wish) bool { return x == w })
	m.serve()
}

func (m *memory) resize(c *copied, bytes int64) {
	m.used += bytes - c.room
	c.room = bytes
	m.serve()
}

func (m *memory) release(c *copied) { m.resize(c, 0) }

func (m *memory) serve() {
	for len(m.queue) > 0 {
		w := m.queue[0]
		if m.cap > 0 && m.used+w.bytes-w.c.room > m.cap {
			m.room()
			return
		}
		m.queue = m.queue[1:]
		m.used += w.bytes - w.c.room
		w.c.room = w.bytes
		w.done(nil)
	}
}

func (m *memory) tick() {
	if at, ok := m.evictor.Due(); ok && at <= m.n.clock() {
		m.step(copies.Tick{})
	}
	m.serve()
}

// short returns how many bytes are missing for the first that waits.
func (m *memory) short() int64 {
	if len(m.queue) == 0 || m.cap == 0 {
		return 0
	}
	w := m.queue[0]
	return max(0, m.used+w.bytes-w.c.room-m.cap)
}
