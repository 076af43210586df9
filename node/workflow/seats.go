package workflow

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Seats are the actors that an attempt uses: those that its arguments hold, and those that it makes (workflow specification 1.4). They
// decide which calls the attempt makes to claim and to restore actors, on which nodes it makes them, whose fault it is if one is lost, and
// what nodes forget once the attempt has ended. The host makes the calls. Seats are not safe for concurrent use.
//
// Hosts: workflow, under the lock of the attempt; sim/workflows.
type Seats struct {
	by     string // the Prefix of the attempt: the versions that it makes are named by it
	all    []*Seat
	spread spread
	ids    int                // of actors that the attempt has asked nodes to make
	torn   map[core.Blob]bool // inputs whose actor is lost
	bereft bool
}

// NewSeats returns those of an attempt that uses no actor yet.
func NewSeats(by string) *Seats { return &Seats{by: by, spread: newSpread(by)} }

// Given adds an actor of an argument. The input from holds it; nil: the input is not known. snapshot says that there is a snapshot of
// this version.
func (s *Seats) Given(kind string, at ActorAt, from *core.Blob, snapshot bool) *Seat {
	seat := &Seat{of: s, kind: kind, at: at, from: from, snapshot: snapshot}
	s.all = append(s.all, seat)
	s.spread.added(at.Node)
	return seat
}

// Spawn adds an actor that the attempt is about to make.
func (s *Seats) Spawn(kind string) *Seat {
	seat := &Seat{of: s, kind: kind}
	s.all = append(s.all, seat)
	return seat
}

// Torn returns the inputs whose actor is lost, and was not lost by a call.
func (s *Seats) Torn() []core.Blob {
	return slices.SortedFunc(maps.Keys(s.torn), func(a, b core.Blob) int { return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Gen, b.Gen)) })
}

// Bereft reports whether an actor that the attempt has made is lost, and was not lost by a call. An attempt that fails for that is no failure of the task.
func (s *Seats) Bereft() bool { return s.bereft }

// lose notes whose fault it is that nobody can use an actor any more. A call that has ended the actor is a failure of the task, and is counted.
// Else an input was lost, or the attempt has lost an actor of its own with a node.
func (s *Seats) lose(seat *Seat, end ActorEnd) {
	switch {
	case end == ActorCrashed:
	case seat.from == nil:
		s.bereft = true
	case s.torn == nil:
		s.torn = map[core.Blob]bool{*seat.from: true}
	default:
		s.torn[*seat.from] = true
	}
}

// Leaves returns the versions of actors that nodes can forget once the attempt has ended. If it has ended well its output holds the
// actors of which Keep was called, and nodes forget all others that it has made or written. Else they forget these as well.
func (s *Seats) Leaves(well bool) (all []ActorAt) {
	for _, seat := range s.all {
		all = append(all, seat.leaves(well)...)
	}
	return all
}

// nextID returns the ID of an actor that the attempt asks a node to make. Each has another one: a node that did not answer may have made it.
func (s *Seats) nextID() string {
	s.ids++
	return ActorID(s.by, fmt.Sprint(s.ids))
}
