package reduce

import (
	"fmt"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// CheckSource reports whether a place can read generation want of its source from the node's copy of
// the object, which is of generation has; zero: the node has none. A part of a copy will do: its other
// bytes are on their way, or it fails.
func CheckSource(has, want phalanx.Generation) *phalanx.Error {
	switch {
	case has.Less(want):
		return &phalanx.Error{Kind: phalanx.ErrNotFound, Err: fmt.Errorf("generation %v of the source is not on this node", want)}
	case want.Less(has):
		return &phalanx.Error{Kind: phalanx.ErrReset, Err: fmt.Errorf("the source is in generation %v here", has)}
	}
	return nil
}

// Source follows the bytes of a place's source.
type Source struct {
	Gen   phalanx.Generation
	Every int64 // bytes that are a sign of life
	begun bool
	told  int64
	over  bool
}

// Sees takes the state of the source, and returns the event of the core; nil: there is none. Failed
// is why no more bytes come, or nil. Once all bytes are here the place goes on with them, also if the
// copy is dropped.
func (s *Source) Sees(bytes int64, whole bool, failed error) core.PlaceEvent {
	switch {
	case s.over:
	case failed != nil:
		s.over = true
		return core.SourceFailed{Gen: s.Gen, Text: failed.Error()}
	case whole:
		s.over = true
		return core.SourceComplete{Gen: s.Gen}
	case !s.begun || bytes-s.told >= s.Every:
		s.begun, s.told = true, bytes
		return core.SourceMoved{Gen: s.Gen}
	}
	return nil
}

// Over reports whether Sees has returned its last event.
func (s *Source) Over() bool { return s.over }
