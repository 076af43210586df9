package directory

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Picture is a replica's knowledge of one object, for tests and simulations.
type Picture struct {
	Record   Record // as it is applied; owned by the shard
	State    State  // as it is shown
	Changing bool   // a change is on its way to the backup
	Shown    bool   // by an owner that answers
	Holders  []HolderStat
	Leases   []LeaseStat
	Bars     []BarStat        // that hold
	Waiting  int              // Locates
	Waiters  []phalanx.NodeID // the senders of these, in order
	Creators int              // Begins behind the present creator
	Watchers int
	Pushes   int // that were not acknowledged
}

// LeaseStat describes one lease.
type LeaseStat struct {
	ID               uint64
	Sender, Receiver phalanx.NodeID
	Slow             bool // does not count against the sender's limit
}

// BarStat describes a pair that is kept apart.
type BarStat struct {
	Sender, Receiver phalanx.NodeID
	Until            time.Duration
}

// Owns reports whether this replica is the owner, and in which epoch.
func (s *Shard) Owns() (epoch uint64, owner bool) { return s.view.Epoch, s.owner() }

// Answers reports whether this replica is an owner that shows its records.
func (s *Shard) Answers() bool { return s.acts() }

// Warming reports whether the owner still waits for members' holdings.
func (s *Shard) Warming() bool { return len(s.warming) > 0 }

// Objects returns the ids that this replica knows, in order.
func (s *Shard) Objects() []phalanx.ObjectID {
	var ids []phalanx.ObjectID
	for id := range s.objects {
		ids = append(ids, id)
	}
	for id := range s.tombstones {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Inspect returns this replica's knowledge of id, and false if it has none.
func (s *Shard) Inspect(id phalanx.ObjectID) (Picture, bool) {
	o := s.objects[id]
	if o == nil {
		t, ok := s.tombstones[id]
		if !ok {
			return Picture{}, false
		}
		o = &object{rec: t.record(id)}
	}
	p := Picture{Record: o.rec, State: s.state(o), Changing: o.change != nil, Shown: s.acts(), Waiting: len(o.waiters), Creators: len(o.creators),
		Watchers: len(o.watchers), Pushes: len(o.pushes)}
	for _, r := range o.waiters {
		p.Waiters = append(p.Waiters, r.From)
	}
	for _, h := range o.holders {
		if h.gen == o.rec.Gen {
			p.Holders = append(p.Holders, HolderStat{Node: h.node, Complete: h.complete, Pinned: h.pinned, Origin: h.origin, Upstream: h.upstream})
		}
	}
	for _, l := range o.leases {
		p.Leases = append(p.Leases, LeaseStat{ID: l.id, Sender: l.sender, Receiver: l.receiver, Slow: l.slow})
	}
	for _, b := range o.bars {
		if b.until > s.now {
			p.Bars = append(p.Bars, BarStat{Sender: b.sender, Receiver: b.receiver, Until: b.until})
		}
	}
	return p, true
}
