package directory

import (
	"container/heap"
	"time"

	"github.com/phalanx-go/phalanx"
)

// tombstone is a deleted object that no node uses any more, in the little space that it
// needs: a program may delete many objects in the twenty minutes for which each is
// remembered.
//
// Invariant: no id is in both Shard.tombstones and Shard.objects.
type tombstone struct {
	gen     phalanx.Generation
	after   phalanx.Generation // was deleted, and gen was released; zero: gen was deleted
	origin  phalanx.NodeID     // as in Record
	num     uint64
	expires time.Duration
}

// tombstoneCost is what a replica holds for a tombstone: the maps' share, the id, and
// its appointment (BenchmarkTombstone).
const tombstoneCost = 160

func (t tombstone) record(id phalanx.ObjectID) Record {
	r := Record{Object: id, State: Deleted, Gen: t.gen, Origin: t.origin, OriginNum: t.num}
	if !t.after.IsZero() {
		r.After, r.Released = t.after, t.gen
	}
	return r
}

// bury makes a tombstone of o, if it rests and nothing else is remembered of it. Its
// nodes' reports about copies count no longer: there are none.
func (s *Shard) bury(o *object) bool {
	if !o.rests() || len(o.over) > 0 {
		return false
	}
	id := o.rec.Object
	if s.owner() && !(o.booked && o.meets == o.expires) {
		heap.Push(&s.agenda, appointment{o.expires, id})
	}
	delete(s.objects, id)
	s.tombstones[id] = tombstone{o.rec.Gen, o.rec.After, o.rec.Origin, o.rec.OriginNum, o.expires}
	s.memory += tombstoneCost - cost(&o.rec)
	return true
}

// exhume returns the object of a tombstone: a request is about it, or its time has
// come. It returns nil if there is none.
func (s *Shard) exhume(id phalanx.ObjectID) *object {
	t, ok := s.tombstones[id]
	if !ok {
		return nil
	}
	delete(s.tombstones, id)
	o := &object{rec: t.record(id), expires: t.expires, booked: s.owner(), meets: t.expires}
	s.objects[id] = o
	s.ids.stale = true
	s.memory += cost(&o.rec) - tombstoneCost
	return o
}

// bookTombstones makes the appointments of a new owner.
func (s *Shard) bookTombstones() {
	for id, t := range s.tombstones {
		heap.Push(&s.agenda, appointment{t.expires, id})
	}
}
