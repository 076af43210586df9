package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

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

// evictPatience is how long an owner's answer is waited for: then another shard's
// copy is asked about too.
const evictPatience = 250 * time.Millisecond

// short returns how many bytes are missing for the first that waits.
func (m *memory) short() int64 {
	if len(m.queue) == 0 || m.cap == 0 {
		return 0
	}
	w := m.queue[0]
	return m.used + w.bytes - w.c.room - m.cap
}

// evict asks owners for leave to drop the copies that were not used for longest, one
// of each shard at a time, until what they may grant is enough.
func (m *memory) evict() {
	short := m.short()
	busy := map[int]bool{}
	var idle []*copied
	for _, id := range sortedObjects(m.n.table) {
		c := m.n.table[id]
		switch {
		case c.evicting:
			busy[m.shard(c)] = true
			if m.n.w.now-c.asked < evictPatience {
				short -= c.room
			}
		case !c.pinned && !m.n.inUse(c):
			idle = append(idle, c)
		}
	}
	slices.SortStableFunc(idle, func(a, b *copied) int { return cmp.Compare(a.used, b.used) })
	for _, c := range idle {
		if short > 0 && !busy[m.shard(c)] {
			busy[m.shard(c)] = true
			short -= c.room
			m.evictCopy(c, false)
		}
	}
}

func (m *memory) shard(c *copied) int { return c.object.Shard(m.n.w.shape.shards) }

// evictCopy asks the owner for leave to drop c. In any case it is used then, if that
// is possible; else only while somebody waits for room.
func (m *memory) evictCopy(c *copied, inAnyCase bool) {
	n := m.n
	c.evicting, c.again, c.asked = true, false, n.w.now
	n.client.report(c.object, directory.Evict{Gen: c.gen}, func(_ phalanx.NodeID, r directory.Result) {
		c.evicting = false
		if n.table[c.object] != c {
			return
		}
		switch {
		case r.Kind != 0:
			n.w.met["eviction refused"]++
			c.used = n.w.now // another one first
		case c.pinned, n.inUse(c), !inAnyCase && m.short() <= 0: // since it was asked for
			if n.inUse(c) {
				n.w.met["eviction spares what is used meanwhile"]++
			}
			n.announceComplete(c)
		default:
			n.w.met["eviction granted"]++
			c.evicted = true
			n.drop(c)
			n.client.report(c.object, directory.Drop{Gen: c.gen, Granted: !c.again}, nil)
		}
	})
}
