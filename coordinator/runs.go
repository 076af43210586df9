package coordinator

import (
	"maps"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// runs are the reduces that a node coordinates. To find the reduce of a place's report
// costs the same however many there are. The zero value is empty; it is not safe
// for concurrent use.
type runs struct {
	next     uint64
	byOrder  map[uint64]*run
	byTarget map[phalanx.ObjectID][]*run // in the order in which they were asked for
}

// add adds r as the youngest run.
func (s *runs) add(r *run) {
	if s.byOrder == nil {
		s.byOrder, s.byTarget = map[uint64]*run{}, map[phalanx.ObjectID][]*run{}
	}
	s.next++
	r.order = s.next
	s.byOrder[r.order] = r
	s.byTarget[r.req.Target] = append(s.byTarget[r.req.Target], r)
}

// remove removes r, if it is there.
func (s *runs) remove(r *run) {
	if s.byOrder[r.order] != r {
		return
	}
	delete(s.byOrder, r.order)
	rest := slices.DeleteFunc(s.byTarget[r.req.Target], func(o *run) bool { return o == r })
	if s.byTarget[r.req.Target] = rest; len(rest) == 0 {
		delete(s.byTarget, r.req.Target)
	}
}

// all returns the runs in the order in which they were asked for.
func (s *runs) all() []*run {
	out := make([]*run, 0, len(s.byOrder))
	for _, n := range slices.Sorted(maps.Keys(s.byOrder)) {
		out = append(out, s.byOrder[n])
	}
	return out
}
