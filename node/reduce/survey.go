package reduce

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// surveyFor is how long a Reduce waits at the start for the first answers about its
// sources: an owner that does not answer must not hold up the others.
const surveyFor = 250 * time.Millisecond

// survey watches the sources of a Reduce. It turns the owners' messages, each the whole
// state of one source, into events of the core. The core gets the sources that are ready
// at the start together.
type survey struct {
	watches watches
	index   map[phalanx.ObjectID]int
	last    []directory.Readiness // of each source
	known   []bool                // sources with a first answer
	left    int                   // sources without one
	first   bool                  // the core has not got the sources that are ready at the start
	until   time.Duration         // when it gets them at the latest
}

func newSurvey(ids []phalanx.ObjectID) *survey {
	s := &survey{watches: watches{ids: ids}, index: make(map[phalanx.ObjectID]int, len(ids)),
		last: make([]directory.Readiness, len(ids)), known: make([]bool, len(ids)), left: len(ids), first: true}
	for i, id := range ids {
		s.index[id] = i
	}
	return s
}

// begin opens the watches. After end it goes on with its knowledge of the sources.
func (s *survey) begin(now time.Duration, shards int, open func(source int) uint64) {
	s.until = now + surveyFor
	s.watches.begin(shards, open)
}

// end ends the survey and returns the numbers of the watches that it opened.
func (s *survey) end() []uint64 { return s.watches.end() }

// tick hands over the sources that are ready by now, if the survey has waited long enough.
func (s *survey) tick(now time.Duration) []core.Event {
	if !s.first || !s.watches.open() || now < s.until {
		return nil
	}
	return []core.Event{s.surveyed()}
}

// told takes a readiness for the watch with number num, if there is one.
func (s *survey) told(num uint64, r directory.Readiness) []core.Event {
	i, ok := s.watches.told(num)
	if !ok {
		return nil
	}
	return s.take(i, r)
}

// take returns the events of a new readiness of source i.
func (s *survey) take(i int, r directory.Readiness) []core.Event {
	old := s.last[i]
	s.last[i] = r
	var out []core.Event
	if !s.known[i] {
		if s.first && !located(r) {
			return finalOf(r)
		}
		s.known[i] = true
		s.left--
		switch {
		case bound(r.State):
		case !bound(old.State):
			out = append(out, core.SourceMissing{Source: r.Object, Gen: r.Gen, Kind: goneKind(r.State)})
		case s.first: // it was final, and no holder had reported it
			out = append(out, core.SourceGone{Source: r.Object, Gen: old.Gen, Kind: goneKind(r.State)})
		}
		if s.first {
			out = append(out, finalOf(r)...)
			if s.left == 0 {
				out = append(out, s.surveyed())
			}
			return out
		}
	}
	if !old.Gen.IsZero() && bound(old.State) {
		switch {
		case !bound(r.State) || r.State == directory.Lost && old.State != directory.Lost:
			out = append(out, core.SourceGone{Source: r.Object, Gen: old.Gen, Kind: goneKind(r.State)})
		case old.Gen.Less(r.Gen):
			out = append(out, core.SourceReset{Source: r.Object, Gen: r.Gen})
		default:
			for _, l := range old.Ready {
				if !slices.ContainsFunc(r.Ready, func(m directory.Location) bool { return m.Node == l.Node }) && len(r.Ready) < directory.MaxReady {
					out = append(out, core.HolderGone{Source: r.Object, Node: l.Node})
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

// surveyed hands over the sources that are ready by now.
func (s *survey) surveyed() core.Event {
	s.first = false
	var ready []core.Ready
	for _, r := range s.last {
		ready = append(ready, readyOf(r)...)
	}
	return core.Surveyed{Ready: ready}
}

// bytes returns the inline bytes of a source.
func (s *survey) bytes(id phalanx.ObjectID, gen phalanx.Generation) ([]byte, bool) {
	r := s.last[s.index[id]]
	return r.Bytes, r.Inline && r.Gen == gen
}

// located reports whether the owner knows where a final source is: an owner that has just
// taken the shard over hears that from the holders. A survey that did not wait for them would
// take the source that was put first for the last one.
func located(r directory.Readiness) bool {
	return r.State != directory.Finished || r.Inline || len(r.Ready) > 0
}

// finalOf returns SourceFinal if the generation of r is final, also if every copy is lost.
func finalOf(r directory.Readiness) []core.Event {
	if r.State != directory.Finished && r.State != directory.Lost {
		return nil
	}
	return []core.Event{core.SourceFinal{Source: r.Object, Gen: r.Gen}}
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

func readyOf(r directory.Readiness) []core.Ready {
	if r.State != directory.Begun && r.State != directory.Finished {
		return nil
	}
	final := r.State == directory.Finished
	out := make([]core.Ready, 0, len(r.Ready)+1)
	for _, l := range r.Ready {
		kind := core.Complete
		switch {
		case l.Complete:
		case r.Maker == directory.ByReduce:
			kind = core.Target
		default:
			kind = core.Origin
		}
		out = append(out, core.Ready{Source: r.Object, Node: l.Node, Gen: r.Gen, Meta: r.Meta, Kind: kind, Final: final})
	}
	if r.Inline && len(out) == 0 {
		out = append(out, core.Ready{Source: r.Object, Gen: r.Gen, Meta: r.Meta, Kind: core.Inline, Final: final})
	}
	return out
}
