package sim

import (
	"fmt"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// memory gives out a node's room in the order in which it was asked for, and
// evicts when there is none.
//
// Invariant: used is the sum of what is reserved, at most cap.
type memory struct {
	n     *node
	cap   int64 // 0: none
	used  int64
	queue []*wish
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
		done(&phalanx.Error{Object: c.object, Node: m.n.id, Kind: phalanx.ErrNoSpace,
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
			m.evict()
			return
		}
		m.queue = m.queue[1:]
		m.used += w.bytes - w.c.room
		w.c.room = w.bytes
		w.done(nil)
	}
}

func (m *memory) tick() { m.serve() }

// evict asks the owner for leave to drop the copy that was not used for longest.
func (m *memory) evict() {
	var oldest *copied
	for _, id := range sortedObjects(m.n.table) {
		c := m.n.table[id]
		if c.evicting {
			return // one at a time
		}
		if c.pinned || m.n.serving(c) > 0 || m.n.reduces.uses(c) || oldest != nil && oldest.used <= c.used {
			continue
		}
		oldest = c
	}
	if oldest != nil {
		m.evictCopy(oldest)
	}
}

// evictCopy asks the owner for leave to drop c.
func (m *memory) evictCopy(c *copied) {
	c.evicting, c.again = true, false
	m.n.client.report(c.object, directory.Evict{Gen: c.gen}, func(_ phalanx.NodeID, r directory.Result) {
		c.evicting = false
		if m.n.table[c.object] != c {
			return
		}
		if r.Kind != 0 {
			m.n.w.met["eviction refused"]++
			c.used = m.n.w.now // another one first
			return
		}
		if c.pinned { // by a Put that came meanwhile
			m.n.announceComplete(c)
			return
		}
		m.n.w.met["eviction granted"]++
		m.n.drop(c)
		if c.again { // which may have come after the leave was given
			m.n.client.report(c.object, directory.Drop{Gen: c.gen}, nil)
		}
	})
}
