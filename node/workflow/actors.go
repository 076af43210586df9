package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// ActorAt is an actor at one version, as an output that holds it says (workflow specification 1.4). It lives on one node, and goes on
// to other versions there; only that of its last writer can be used.
type ActorAt struct {
	Node    phalanx.NodeID // where it lives
	ID      string         // the Prefix of the attempt that has made it, and a name
	By      string         // the Prefix of the attempt that has made this version
	Version uint64         // counts the tasks that have written it, from 1
}

// Actor is an actor as an output holds it.
type Actor struct {
	ActorAt
	Kind  string           // as name@version
	Name  string           // that the task has given it
	State phalanx.ObjectID // its snapshot, which is one of the objects that the output names; "": it has none
}

// Actors are those of runs that live on a node, with the version at which each is. An attempt that writes one has moved the version
// away that it has read: if it does not end well, nobody can use the actor any more. It stays until its run has ended.
type Actors struct {
	runs map[string]map[string]ActorAt // by run and ID
}

// NewActors returns those of a node that has none.
func NewActors() *Actors { return &Actors{map[string]map[string]ActorAt{}} }

// Made notes an actor that an attempt has made, or has restored of a snapshot. It is at its first version, or at the one after that of
// the snapshot. first says that the node had none of that run.
func (s *Actors) Made(a ActorAt) (first bool) {
	run := RunOf(a.ID)
	if first = s.runs[run] == nil; first {
		s.runs[run] = map[string]ActorAt{}
	}
	s.runs[run][a.ID] = a
	return first
}

// Reads reports whether the node has an actor at a version.
func (s *Actors) Reads(a ActorAt) bool {
	has, is := s.runs[RunOf(a.ID)][a.ID]
	return is && has == a
}

// Writes moves an actor to the version of the attempt whose Prefix is by, and returns it; false: the node does not have it at the version
// a, nor has the attempt written that before.
func (s *Actors) Writes(a ActorAt, by string) (now ActorAt, ok bool) {
	now = ActorAt{Node: a.Node, ID: a.ID, By: by, Version: a.Version + 1}
	switch has, is := s.runs[RunOf(a.ID)][a.ID]; {
	case !is:
		return ActorAt{}, false
	case has == now:
		return now, true
	case has != a || RunOf(by) != RunOf(a.ID):
		return ActorAt{}, false
	}
	s.runs[RunOf(a.ID)][a.ID] = now
	return now, true
}

// Discard forgets an actor, and reports whether it was at that version.
func (s *Actors) Discard(a ActorAt) bool {
	if !s.Reads(a) {
		return false
	}
	s.Gone(a.ID)
	return true
}

// Gone forgets an actor.
func (s *Actors) Gone(id string) {
	run := RunOf(id)
	delete(s.runs[run], id)
	if len(s.runs[run]) == 0 {
		delete(s.runs, run)
	}
}

// At returns where an actor is; false: the node does not have it.
func (s *Actors) At(id string) (a ActorAt, ok bool) {
	a, ok = s.runs[RunOf(id)][id]
	return a, ok
}

// Free forgets the actors of runs that have ended, and returns their IDs.
func (s *Actors) Free(runs []core.Released) (ids []string) {
	for _, r := range runs {
		ids = slices.AppendSeq(ids, maps.Keys(s.runs[r.Run.String()]))
		delete(s.runs, r.Run.String())
	}
	slices.Sort(ids)
	return ids
}

// Of reports whether the node has actors of a run.
func (s *Actors) Of(u core.UID) bool { return len(s.runs[u.String()]) > 0 }

// None reports whether the node has no actors.
func (s *Actors) None() bool { return len(s.runs) == 0 }

// Runs returns of which runs the node has actors.
func (s *Actors) Runs() (all []core.UID) {
	for _, run := range slices.Sorted(maps.Keys(s.runs)) {
		if u, is := core.ParseUID(run); is {
			all = append(all, u)
		}
	}
	return all
}

// StateID returns the id of the object that has a snapshot of an actor. by is the Prefix of the attempt that has made the version, number
// tells the actors in its output apart.
func StateID(by string, number int) phalanx.ObjectID {
	return phalanx.ObjectID(fmt.Sprintf("%s.state%d", by, number))
}

// ActorID returns the ID of an actor that an attempt makes, or restores, under a name.
func ActorID(prefix, name string) string {
	return prefix + strings.NewReplacer("%", "%25", "/", "%2F").Replace(name)
}
