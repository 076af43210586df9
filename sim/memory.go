package sim

import (
	"fmt"
	"math"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	core "github.com/phalanx-go/phalanx/protocol/memory"
)

// memory hosts a node's memory.Queue, which decides whose wish is next, and the evictor.
//
// Invariant: the queue's bytes are the sum of the room of all copies, at most cap.
type memory struct {
	n       *node
	cap     int64 // 0: none
	queue   *core.Queue
	wishes  map[uint64]*wish // the wishes that wait
	last    uint64           // the number of the last wish
	evictor *copies.Evictor[*copied]
	forced  *copied // the evictor asks first about a copy of its shard
	evicts  bool    // the evictor is at work
}

func newMemory(n *node) *memory {
	m := &memory{n: n, cap: n.w.shape.cap, wishes: map[uint64]*wish{}}
	all := m.cap
	if all == 0 {
		all = math.MaxInt64 / 2
	}
	m.queue = core.New(core.Config{Cap: all})
	m.evictor = copies.NewEvictor[*copied](m)
	return m
}

// wish is a request for room.
type wish struct {
	id    uint64
	c     *copied
	bytes int64 // in addition to the room that c has
	done  func(err *phalanx.Error)
}

// reserve asks for room for c, bytes in all. It calls done when c has the room, or never can have
// it.
func (m *memory) reserve(c *copied, bytes int64, done func(*phalanx.Error)) *wish {
	return m.ask(c, bytes, core.Waits, done)
}

// reserveIfPossible is reserve that fails at once if pinned and reserved bytes leave no room.
func (m *memory) reserveIfPossible(c *copied, bytes int64, done func(*phalanx.Error)) *wish {
	return m.ask(c, bytes, core.Bounded, done)
}

func (m *memory) ask(c *copied, bytes int64, how core.Patience, done func(*phalanx.Error)) *wish {
	m.last++
	w := &wish{m.last, c, bytes - c.room, done}
	m.wishes[w.id] = w
	m.step(core.Ask{ID: w.id, Bytes: w.bytes, Patience: how})
	return m.wishes[w.id] // nil: the wish does not wait
}

// try reserves at once or not at all.
func (m *memory) try(c *copied, bytes int64) bool {
	if bytes <= c.room {
		return true
	}
	m.last++
	for _, e := range m.queue.Step(m.n.clock(), core.Ask{ID: m.last, Bytes: bytes - c.room, Patience: core.Tries}) {
		if _, granted := e.(core.Grant); granted {
			c.room = bytes
			return true
		}
	}
	m.n.w.met["no room at once"]++
	return false
}

// forget ends a wish that waits.
func (m *memory) forget(w *wish) {
	if m.wishes[w.id] != nil {
		delete(m.wishes, w.id)
		m.step(core.Gone{ID: w.id})
	}
}

// resize sets the room of c to bytes, without asking for more.
func (m *memory) resize(c *copied, bytes int64) {
	more := bytes - c.room
	c.room = bytes
	switch {
	case more > 0:
		m.step(taken(more))
	case more < 0:
		m.step(core.Freed{Bytes: -more})
	}
}

// taken is room that no call asked for.
func taken(bytes int64) core.Event { return core.Taken{Bytes: bytes} }

func (m *memory) release(c *copied) { m.resize(c, 0) }

// lasts tells the queue how much of c's room eviction cannot free.
func (m *memory) lasts(c *copied) {
	var now int64
	if pinned, reserved := c.Lasts(); pinned || reserved {
		now = c.room
	}
	if was := c.lasting; now != was {
		c.lasting = now
		m.step(core.Lasts{Bytes: now - was})
	}
}

func (m *memory) used() int64 { return m.queue.Used() }

func (m *memory) step(ev core.Event) {
	short := false
	for _, e := range m.queue.Step(m.n.clock(), ev) {
		switch e := e.(type) {
		case core.Grant:
			w := m.wishes[e.ID]
			delete(m.wishes, e.ID)
			w.c.room += w.bytes
			w.done(nil)
		case core.Refuse:
			w := m.wishes[e.ID]
			delete(m.wishes, e.ID)
			w.done(&phalanx.Error{Object: w.c.Object, Node: m.n.id, Kind: phalanx.ErrNoSpace,
				Err: fmt.Errorf("%d bytes more do not fit under the cap of %d: %v", w.bytes, m.cap, e.Why)})
		case core.Evict:
			short = true
		}
	}
	if m.queue.Turn() {
		m.n.w.met["wish has its turn"]++
	}
	if short {
		m.room()
	}
}

func (m *memory) tick() {
	if at, ok := m.evictor.Due(); ok && at <= m.n.clock() {
		m.evict(copies.Tick{})
	}
	if at, ok := m.queue.Due(); ok && at <= m.n.clock() {
		m.step(core.Tick{})
	}
}

// short returns how many bytes the waiting wishes lack that can be met.
func (m *memory) short() int64 { return max(0, m.queue.Need()) }
