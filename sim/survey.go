package sim

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// survey watches the sources of a Reduce and turns what owners tell, always the
// whole state of one, into events. What is ready at the start is handed over together.
type survey struct {
	c     *coordinator
	ids   []phalanx.ObjectID
	nums  []uint64 // of the watches; 0: not begun
	last  []directory.Readiness
	known []bool
	first bool
}

func newSurvey(c *coordinator, ids []phalanx.ObjectID) *survey {
	return &survey{c: c, ids: ids, nums: make([]uint64, len(ids)), last: make([]directory.Readiness, len(ids)), known: make([]bool, len(ids)), first: true}
}

func (s *survey) begin() {
	n := s.c.n
	for i, id := range s.ids {
		s.nums[i] = n.client.numbers()
		n.client.watch(s.nums[i], id)
	}
	n.after(250*time.Millisecond, func() { // an owner that does not answer must not hold up the others
		s.surveyed()
		n.w.step(n, "surveyed")
	})
}

func (s *survey) end() {
	for i, num := range s.nums {
		if num != 0 {
			s.c.n.client.forget(num)
			s.nums[i] = 0
		}
	}
}

func (s *survey) surveyed() {
	if s.first && s.nums[0] != 0 {
		s.first = false
		var ready []reduce.Ready
		for _, r := range s.last {
			ready = append(ready, readyOf(r)...)
		}
		s.c.step(reduce.Surveyed{Ready: ready})
	}
}

func (s *survey) told(r directory.Readiness) {
	i := slices.Index(s.nums, r.Num)
	if i < 0 {
		return
	}
	old := s.last[i]
	s.last[i] = r
	if !s.known[i] && (r.State == directory.Unbound || r.State == directory.Deleted) {
		kind := phalanx.ErrAborted
		if r.State == directory.Deleted {
			kind = phalanx.ErrDeleted
		}
		switch {
		case old.State == directory.Unbound || old.State == directory.Deleted:
			s.c.step(reduce.SourceMissing{Source: r.Object, Gen: r.Gen, Kind: kind})
		case s.first: // it was final, and nobody had told where it is
			s.c.step(reduce.SourceGone{Source: r.Object, Gen: old.Gen, Kind: kind})
		}
	}
	if !s.known[i] && s.first {
		if r.State == directory.Finished && !r.Inline && len(r.Ready) == 0 { // the owner is yet to hear where it is
			s.final(r)
			return
		}
		s.known[i] = true
		s.final(r)
		if !slices.Contains(s.known, false) {
			s.surveyed()
		}
		return
	}
	s.known[i] = true
	var events []reduce.Event
	bound := func(st directory.State) bool {
		return st == directory.Begun || st == directory.Finished || st == directory.Lost
	}
	if !old.Gen.IsZero() && bound(old.State) {
		switch {
		case !bound(r.State) || r.State == directory.Lost && old.State != directory.Lost:
			kind := phalanx.ErrAborted
			switch r.State {
			case directory.Deleted:
				kind = phalanx.ErrDeleted
			case directory.Lost:
				kind = phalanx.ErrLost
				s.c.n.w.met["source of a reduce lost"]++
			}
			events = append(events, reduce.SourceGone{Source: r.Object, Gen: old.Gen, Kind: kind})
		case old.Gen.Less(r.Gen):
			s.c.n.w.met["source of a reduce starts over"]++
			events = append(events, reduce.SourceReset{Source: r.Object, Gen: r.Gen})
		default:
			for _, l := range old.Ready {
				if !slices.ContainsFunc(r.Ready, func(m directory.Location) bool { return m.Node == l.Node }) && len(r.Ready) < directory.MaxReady {
					events = append(events, reduce.HolderGone{Source: r.Object, Node: l.Node})
				}
			}
		}
	}
	if !s.first {
		for _, rd := range readyOf(r) {
			events = append(events, rd)
		}
	}
	for _, ev := range events {
		s.c.step(ev)
	}
	s.final(r)
}

// final says that a generation is final, also if there is no copy of it any more.
func (s *survey) final(r directory.Readiness) {
	if r.State == directory.Finished || r.State == directory.Lost {
		s.c.step(reduce.SourceFinal{Source: r.Object, Gen: r.Gen})
	}
}

func readyOf(r directory.Readiness) []reduce.Ready {
	if r.State != directory.Begun && r.State != directory.Finished {
		return nil
	}
	final := r.State == directory.Finished
	var out []reduce.Ready
	for _, l := range r.Ready {
		kind := reduce.Complete
		switch {
		case l.Complete:
		case r.Maker == directory.ByReduce:
			kind = reduce.Target
		default:
			kind = reduce.Origin
		}
		out = append(out, reduce.Ready{Source: r.Object, Node: l.Node, Gen: r.Gen, Meta: r.Meta, Kind: kind, Final: final})
	}
	if r.Inline && len(out) == 0 {
		out = append(out, reduce.Ready{Source: r.Object, Gen: r.Gen, Meta: r.Meta, Kind: reduce.Inline, Final: final})
	}
	return out
}

// bytes returns the inline bytes of a source.
func (s *survey) bytes(id phalanx.ObjectID, g phalanx.Generation) ([]byte, bool) {
	r := s.last[slices.Index(s.ids, id)]
	return r.Bytes, r.Inline && r.Gen == g
}
