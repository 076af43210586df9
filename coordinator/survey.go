package coordinator

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// surveyFor is how long what is ready at the start is waited for: an owner that
// does not answer must not hold up the others.
const surveyFor = 250 * time.Millisecond

// survey turns what the directory tells of the sources, always the whole state
// of one, into the events of the core. What is ready at the start is handed over
// together.
type survey struct {
	ids   []phalanx.ObjectID
	last  []directory.Readiness
	known []bool
	index map[phalanx.ObjectID]int
	left  int // sources without a first answer
	first bool
}

func newSurvey(ids []phalanx.ObjectID) *survey {
	s := &survey{ids: ids, last: make([]directory.Readiness, len(ids)), known: make([]bool, len(ids)),
		index: map[phalanx.ObjectID]int{}, left: len(ids), first: true}
	for i, id := range ids {
		s.index[id] = i
	}
	return s
}

// take returns the events of a new readiness of source i.
func (s *survey) take(i int, r directory.Readiness) []reduce.Event {
	old := s.last[i]
	s.last[i] = r
	var out []reduce.Event
	if !s.known[i] {
		if s.first && !located(r) {
			return finalOf(r)
		}
		s.known[i] = true
		s.left--
		switch {
		case bound(r.State):
		case !bound(old.State):
			out = append(out, reduce.SourceMissing{Source: r.Object, Gen: r.Gen, Kind: goneKind(r.State)})
		case s.first: // it was final, and nobody had told where it is
			out = append(out, reduce.SourceGone{Source: r.Object, Gen: old.Gen, Kind: goneKind(r.State)})
		}
		if s.first {
			out = append(out, finalOf(r)...)
			if s.left == 0 {
				out = append(out, s.end())
			}
			return out
		}
	}
	if !old.Gen.IsZero() && bound(old.State) {
		switch {
		case !bound(r.State) || r.State == directory.Lost && old.State != directory.Lost:
			out = append(out, reduce.SourceGone{Source: r.Object, Gen: old.Gen, Kind: goneKind(r.State)})
		case old.Gen.Less(r.Gen):
			out = append(out, reduce.SourceReset{Source: r.Object, Gen: r.Gen})
		default:
			for _, l := range old.Ready {
				if !slices.ContainsFunc(r.Ready, func(m directory.Location) bool { return m.Node == l.Node }) && len(r.Ready) < directory.MaxReady {
					out = append(out, reduce.HolderGone{Source: r.Object, Node: l.Node})
				}
			}
		}
	}
	if !s.first {
		for _, rd := range readyOf(r) {
			out = append(out, rd)
		}
	}
	return append(out, finalOf(r)...)
}

// located reports whether the owner knows where a final source is: one that has just taken
// the shard over hears that from the holders. A survey that did not wait for them would
// take what was put first for what came last.
func located(r directory.Readiness) bool {
	return r.State != directory.Finished || r.Inline || len(r.Ready) > 0
}

// finalOf returns SourceFinal if the generation of r is final, also if every copy is lost.
func finalOf(r directory.Readiness) []reduce.Event {
	if r.State != directory.Finished && r.State != directory.Lost {
		return nil
	}
	return []reduce.Event{reduce.SourceFinal{Source: r.Object, Gen: r.Gen}}
}

// end hands over what is ready by now; nil if that was done.
func (s *survey) end() reduce.Event {
	if !s.first {
		return nil
	}
	s.first = false
	var ready []reduce.Ready
	for _, r := range s.last {
		ready = append(ready, readyOf(r)...)
	}
	return reduce.Surveyed{Ready: ready}
}

// bytes returns the inline bytes of a source.
func (s *survey) bytes(id phalanx.ObjectID, gen phalanx.Generation) ([]byte, bool) {
	r := s.last[s.index[id]]
	return r.Bytes, r.Inline && r.Gen == gen
}

func bound(s directory.State) bool {
	return s == directory.Begun || s == directory.Finished || s == directory.Lost
}

func goneKind(s directory.State) phalanx.Kind {
	switch s {
	case directory.Deleted:
		return phalanx.ErrDeleted
	case directory.Lost:
		return phalanx.ErrLost
	}
	return phalanx.ErrAborted
}

func readyOf(r directory.Readiness) []reduce.Ready {
	if r.State != directory.Begun && r.State != directory.Finished {
		return nil
	}
	final := r.State == directory.Finished
	out := make([]reduce.Ready, 0, len(r.Ready)+1)
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
