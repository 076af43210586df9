package reduce

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/phalanx-go/phalanx"
)

// PlaceGen labels one output of a place: the coordinator's attempt that gave
// it, and a number that rises within the attempt, over all places. The zero
// PlaceGen stands for none.
type PlaceGen struct{ Attempt, Seq uint64 }

// Compare orders labels by the time at which they were given.
func (g PlaceGen) Compare(h PlaceGen) int {
	return cmp.Or(cmp.Compare(g.Attempt, h.Attempt), cmp.Compare(g.Seq, h.Seq))
}

// IsZero reports whether g is no label.
func (g PlaceGen) IsZero() bool { return g == PlaceGen{} }

// String returns "attempt/seq", or "-" for none.
func (g PlaceGen) String() string {
	if g.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%d/%d", g.Attempt, g.Seq)
}

// Peer is the place at the other end of an edge. Node and Gen are zero while it
// is empty.
type Peer struct {
	Place int // position
	Node  phalanx.NodeID
	Gen   PlaceGen
}

// Child is a place whose output is combined. Node, Gen, Source and SourceGen
// are zero while it is empty. A child that is dead but has delivered everything
// is still named.
type Child struct {
	Order     int // of combining: 0 comes before the place's own source, which is 1
	Place     int // position
	Node      phalanx.NodeID
	Gen       PlaceGen
	Source    phalanx.ObjectID
	SourceGen phalanx.Generation
}

// State is all that a place is to do. The greater (Attempt, Version) replaces
// the lesser.
type State struct {
	Target    phalanx.ObjectID
	Reduce    phalanx.Generation // the target's first generation, which names this Reduce
	TargetGen phalanx.Generation // of the root, and in a ring: serve readers under it; zero: not granted yet
	Attempt   uint64             // of the coordinator that says so
	Version   uint64             // rises with each change, within the attempt
	Place     int                // position
	Gen       PlaceGen           // label of the output
	Source    phalanx.ObjectID
	SourceGen phalanx.Generation
	Op        phalanx.Op
	Meta      phalanx.Meta // of the source, every child's stream and the output
	Root      bool
	Parent    Peer    // unless Root; in a ring the next place
	Children  []Child // by Order; read only; in a ring the place before
	Ring      int     // how many places form a ring; 0: a tree
}

// same reports whether s and o want the same, regardless of attempt and version.
func (s State) same(o State) bool {
	return s.Target == o.Target && s.Reduce == o.Reduce && s.TargetGen == o.TargetGen && s.Place == o.Place &&
		s.Gen == o.Gen && s.Source == o.Source && s.SourceGen == o.SourceGen && s.Op == o.Op &&
		s.Meta.Equal(o.Meta) && s.Root == o.Root && s.Parent == o.Parent && slices.Equal(s.Children, o.Children) && s.Ring == o.Ring
}

// older reports whether a state of (attempt, version) replaces s.
func (s State) older(attempt, version uint64) bool {
	return cmp.Or(cmp.Compare(s.Attempt, attempt), cmp.Compare(s.Version, version)) < 0
}

// String returns s on one line, without the fields that all places share.
func (s State) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "v%d place %d gen %v: %s@%v", s.Version, s.Place, s.Gen, s.Source, s.SourceGen)
	if s.Ring > 0 {
		fmt.Fprintf(&b, " in a ring of %d", s.Ring)
	}
	if s.Root {
		fmt.Fprintf(&b, " root of %s@%v", s.Target, s.TargetGen)
	} else {
		fmt.Fprintf(&b, " -> %v", s.Parent)
	}
	for _, c := range s.Children {
		fmt.Fprintf(&b, " <%d %v", c.Order, Peer{c.Place, c.Node, c.Gen})
	}
	return b.String()
}

// String returns "position:node:gen", or "position:-" for an empty place.
func (p Peer) String() string {
	if p.Gen.IsZero() {
		return fmt.Sprintf("%d:-", p.Place)
	}
	return fmt.Sprintf("%d:%s:%v", p.Place, p.Node, p.Gen)
}
