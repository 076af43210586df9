package directory

import "github.com/phalanx-go/phalanx"

// recordCost is what a replica holds for an id besides inline bytes and notes:
// its record, its holders, and the maps' share (BenchmarkRecord).
const recordCost = 800

// idCost is what a node's id costs besides its bytes: the header of a string.
const idCost = 16

// Needs returns how many bytes of memory a request with inline bytes would take
// in this owner. Their putter can be asked to wait with them.
func (s *Shard) Needs(r Request) int64 {
	p, ok := r.Body.(PutInline)
	if !ok || !s.owner() {
		return 0
	}
	if t, deleted := s.tombstones[r.Object]; deleted && p.After.Less(t.gen) {
		return 0
	}
	if o := s.objects[r.Object]; o != nil {
		if o.rec.State == Finished || o.rec.State == Deleted && p.After.Less(o.rec.Gen) {
			return 0 // it changes nothing, or replaces a lost object
		}
		if c := o.change; c != nil && c.rec.Origin == r.From && c.rec.OriginNum == r.Num {
			return 0 // it has been accepted
		}
	}
	return recordCost + int64(len(p.Bytes)+len(p.Note))
}

// Memory returns how many bytes this replica holds, of changes on their way too.
func (s *Shard) Memory() int64 { return s.memory }

func (s *Shard) weigh() int64 {
	total := int64(0)
	total += int64(len(s.tombstones)) * tombstoneCost
	for _, o := range s.objects {
		total += cost(&o.rec)
		if o.change != nil {
			total += extra(&o.change.rec)
		}
	}
	return total
}

func cost(r *Record) int64 { return recordCost + extra(r) }

func extra(r *Record) int64 {
	n := len(r.Bytes) + len(r.Note)
	for _, id := range r.Evicted {
		n += idCost + len(id)
	}
	return int64(n)
}

// remove forgets an id.
func (s *Shard) remove(id phalanx.ObjectID) {
	if o := s.objects[id]; o != nil {
		s.memory -= cost(&o.rec)
		if o.change != nil {
			s.memory -= extra(&o.change.rec)
		}
		delete(s.objects, id)
	} else if _, ok := s.tombstones[id]; ok {
		s.memory -= tombstoneCost
		delete(s.tombstones, id)
	}
}
