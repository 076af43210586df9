package history

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/phalanx-go/phalanx"
)

// phase is where an id is in its life.
type phase int

const (
	unbound phase = iota
	final
	lost // and perhaps found again
	deleted
	nothing // unbound, or deleted if a Put was running
)

// state is the state of one id. A deleted id keeps its last version.
type state struct {
	phase   phase
	version string
	was     string // the version before it was lost and replaced, or deleted and put again
	doomed  uint64 // the Puts with ErrDeleted that have taken effect
}

// step returns whether o can have happened in state s, and the state after it.
func (s state) step(o Op) (bool, state) {
	switch o.Call {
	case Put:
		return s.put(o)
	case Get:
		return s.get(o), s
	case Stat:
		return s.stat(o), s
	case Delete:
		if s.phase == unbound || s.phase == nothing {
			s.phase = nothing
		} else {
			s.phase = deleted
		}
		return true, s
	default: // Loss
		if s.phase == final {
			s.phase = lost
		}
		return true, s
	}
}

func (s state) put(o Op) (bool, state) {
	bound := state{final, o.Version, s.was, s.doomed | o.doomed}
	if s.phase == lost || s.phase == deleted {
		bound.was = s.version
	}
	switch {
	case o.Outcome == phalanx.ErrDeleted:
		return s.phase == deleted && s.doomed&o.doomed != 0, s
	case o.Outcome == phalanx.ErrExists:
		return s.phase == final && s.version != o.Version || s.phase == lost, s
	case o.End == Never: // its outcome is not known
		if s.phase != final {
			return true, bound
		}
		return true, s
	case s.phase == final:
		s.doomed |= o.doomed
		return s.version == o.Version, s
	default:
		return true, bound
	}
}

func (s state) get(o Op) bool {
	switch o.Outcome {
	case phalanx.ErrNotFound:
		return s.phase == unbound || s.phase == nothing || s.phase == deleted && o.free
	case phalanx.ErrDeleted:
		return s.phase == deleted || s.phase == nothing
	}
	if o.Stale && s.was != "" && s.was == o.Version {
		return true
	}
	return (s.phase == final || s.phase == lost || s.phase == deleted && o.Stale) && s.version == o.Version
}

func (s state) stat(o Op) bool {
	switch {
	case o.Outcome == phalanx.ErrNotFound:
		return s.phase == unbound || s.phase == nothing || s.phase == deleted && o.free
	case o.Outcome == phalanx.ErrDeleted:
		return s.phase == deleted || s.phase == nothing
	case o.State == "begun":
		return s.phase != final
	case o.State == "lost":
		return s.phase == lost
	}
	return s.phase == final || s.phase == lost
}

var model = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(s, input, _ any) (bool, any) {
		ok, next := s.(state).step(input.(Op))
		return ok, next
	},
}

// Wrong is an object whose history cannot be.
type Wrong struct {
	Object phalanx.ObjectID
	Ops    []Op // in the order of their beginning
}

// String returns a line for each op.
func (w Wrong) String() string {
	lines := []string{"the calls on " + string(w.Object) + " have no valid order:"}
	for _, o := range w.Ops {
		lines = append(lines, "  "+o.String())
	}
	return strings.Join(lines, "\n")
}

// Verdict is the result of Check.
type Verdict struct {
	Objects   int
	Ops       int
	Wrong     []Wrong            // sorted by object
	Undecided []phalanx.ObjectID // the search took too long
}

// Check judges the histories of all objects, each for at most patience.
func Check(ops []Op, patience time.Duration) Verdict {
	objects := map[phalanx.ObjectID][]Op{}
	for _, o := range ops {

		objects[o.Object] = append(objects[o.Object], o)
	}
	v := Verdict{Objects: len(objects), Ops: len(ops)}
	for _, id := range slices.Sorted(maps.Keys(objects)) {
		all := objects[id]
		slices.SortStableFunc(all, byTime)
		var judged []porcupine.Operation
		for i, o := range all {
			o.doomed = 1 << (i % 64)
			for _, o := range prepare(o, all) {
				judged = append(judged, porcupine.Operation{Input: o, Call: int64(o.Begin), Return: int64(o.End)})
			}
		}
		switch porcupine.CheckOperationsTimeout(model, judged, patience) {
		case porcupine.Illegal:
			v.Wrong = append(v.Wrong, Wrong{id, all})
		case porcupine.Unknown:
			v.Undecided = append(v.Undecided, id)
		}
	}
	return v
}
