package sim

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// press has the evictor look for room although there is some, and for that of c first.
func (m *memory) press(c *copied) {
	m.forced = c
	m.step(copies.Pressed{Need: 1})
}

// room tells the evictor what is missing. What it drops for that may let others go on, who
// want more.
func (m *memory) room() {
	if m.evicts {
		return
	}
	m.evicts = true
	defer func() { m.evicts = false }()
	m.do(m.evictor.Step(m.n.clock(), copies.Room{Missing: m.short()}))
}

// step takes an event, and asks about as much as is missing then.
func (m *memory) step(ev copies.EvictorEvent) {
	m.do(m.evictor.Step(m.n.clock(), ev))
	m.room()
}

func (m *memory) do(effects []copies.EvictorEffect[*copied]) {
	n := m.n
	for _, e := range effects {
		switch e := e.(type) {
		case copies.Ask[*copied]:
			m.ask(e)
		case copies.Keep[*copied]:
			if e.Copy.evicting, e.Copy.refused = false, e.Refused; e.Refused {
				n.w.met["eviction refused"]++
			}
		case copies.Evict[*copied]:
			if e.Copy.evicting = false; e.Copy.Pinned || n.inUse(e.Copy) {
				if n.inUse(e.Copy) {
					n.w.met["eviction spares what is used meanwhile"]++
				}
				m.do(m.evictor.Step(n.clock(), copies.Used[*copied](e)))
				continue
			}
			n.w.met["eviction granted"]++
			e.Copy.evicted = true
			n.drop(e.Copy)
			n.client.report(e.Copy.Object, directory.Drop{Gen: e.Copy.Gen, Granted: !e.Copy.again}, nil)
		case copies.Stay[*copied]:
			n.announceComplete(e.Copy)
		case copies.Forget[*copied]:
			n.w.met["leave for a copy that is gone"]++
			n.client.report(e.Copy.Object, directory.Drop{Gen: e.Copy.Gen, Granted: true}, nil)
		}
	}
}

func (m *memory) ask(a copies.Ask[*copied]) {
	a.Copy.again = false
	m.n.client.report(a.Copy.Object, directory.Evict{Gen: a.Copy.Gen}, func(_ phalanx.NodeID, r directory.Result) {
		if r.Waiting {
			return
		}
		is := copies.Present
		switch m.n.table[a.Copy.Object] {
		case a.Copy:
		case nil:
			is = copies.Dropped
		default:
			is = copies.Replaced
		}
		m.step(copies.Granted[*copied]{Copy: a.Copy, Shard: a.Shard, Bytes: a.Copy.room, OK: r.Kind == 0, Is: is, Room: copies.Room{Missing: m.short()}})
	})
}

// Victim and Reconsider implement copies.Idle.
func (m *memory) Victim(busy func(shard int) bool) (victim *copied, shard int, bytes int64, ok bool) {
	for _, id := range sortedObjects(m.n.table) {
		c := m.n.table[id]
		switch {
		case c.evicting || c.Pinned || busy(m.shard(c)):
		case c == m.forced: // somebody may have begun to use it since it was chosen
			victim = c
		case c.refused || m.n.inUse(c) || victim != nil && (victim == m.forced || victim.used <= c.used):
		default:
			victim = c
		}
	}
	if victim == nil {
		return nil, 0, 0, false
	}
	victim.evicting, m.forced = true, nil
	return victim, m.shard(victim), victim.room, true
}

// Reconsider lets Victim choose what was refused.
func (m *memory) Reconsider() {
	for _, c := range m.n.table {
		c.refused = false
	}
}

func (m *memory) shard(c *copied) int { return c.Object.Shard(m.n.w.shape.shards) }
