package sim

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// press has the evictor make room although some is free, and first in the shard of c.
func (m *memory) press(c *copied) {
	m.forced = c
	m.evict(copies.Pressed{Need: 1})
}

// room tells the evictor how many bytes are missing. A copy that the evictor drops may let others
// go on that want more.
func (m *memory) room() {
	if m.evicts {
		return
	}
	m.evicts = true
	defer func() { m.evicts = false }()
	m.do(m.evictor.Step(m.n.clock(), copies.Room{Missing: m.short()}))
}

// evict gives the evictor an event, and then the bytes that are missing.
func (m *memory) evict(ev copies.EvictorEvent) {
	m.do(m.evictor.Step(m.n.clock(), ev))
	m.room()
}

func (m *memory) do(effects []copies.EvictorEffect[*copied]) {
	n := m.n
	for _, e := range effects {
		switch e := e.(type) {
		case copies.Ask[*copied]:
			m.leave(e)
		case copies.Keep[*copied]:
			n.table.Keep(&e.Copy.Copy, e.Refused)
			if e.Refused {
				n.w.met["eviction refused"]++
			}
		case copies.Evict[*copied]:
			if !n.table.Evict(&e.Copy.Copy, nil) {
				n.w.met["eviction spares what is used meanwhile"]++
				m.do(m.evictor.Step(n.clock(), copies.Used[*copied](e)))
				continue
			}
			n.w.met["eviction granted"]++
			e.Copy.evicted = true
			if e.Copy.again {
				n.reportDrop(e.Copy.Object, e.Copy.Gen)
				continue
			}
			n.client.report(e.Copy.Object, directory.Drop{Gen: e.Copy.Gen, Granted: true}, nil)
		case copies.Stay[*copied]:
			n.client.report(e.Copy.Object, e.Copy.Announcement(e.Copy.Pinned), nil)
		case copies.Forget[*copied]:
			n.w.met["leave for a copy that is gone"]++
			n.client.report(e.Copy.Object, directory.Drop{Gen: e.Copy.Gen, Granted: true}, nil)
		}
	}
}

// leave asks the owner for leave to evict a copy.
func (m *memory) leave(a copies.Ask[*copied]) {
	a.Copy.again = false
	m.n.client.report(a.Copy.Object, directory.Evict{Gen: a.Copy.Gen}, func(_ phalanx.NodeID, r directory.Result) {
		if r.Waiting {
			return
		}
		is := m.n.table.Standing(&a.Copy.Copy)
		m.evict(copies.Granted[*copied]{Copy: a.Copy, Shard: a.Shard, Bytes: a.Copy.room, OK: r.Kind == 0, Is: is, Room: copies.Room{Missing: m.short()}})
	})
}

// Victim and Reconsider implement copies.Idle. Victim looks first in the shard of a forced copy.
func (m *memory) Victim(busy func(shard int) bool) (victim *copied, shard int, bytes int64, ok bool) {
	t, shards, first := m.n.table, m.n.w.shape.shards, m.forced
	m.forced = nil
	var v *copies.Copy
	if first != nil {
		v, shard = t.Victim(shards, func(s int) bool { return busy(s) || s != first.Object.Shard(shards) })
	}
	if v == nil {
		v, shard = t.Victim(shards, busy)
	}
	if v == nil {
		return nil, 0, 0, false
	}
	return copyOf(v), shard, copyOf(v).room, true
}

// Reconsider lets Victim choose copies again whose eviction was refused.
func (m *memory) Reconsider() { m.n.table.Reconsider() }
