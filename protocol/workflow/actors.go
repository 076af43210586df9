package workflow

import (
	"fmt"
	"slices"
)

// actors checks who makes and writes the versions of actors (workflow specification 1.4, Checks: Actors). A task whose output
// is made again under its key has to make the same bytes, so it makes no actor. Cycles of readers and writers are found with
// those of the rule Settle.
func (s shape) actors() *CheckError {
	writer := map[int]int{}
	for v := range s.Tasks {
		t, name := &s.Tasks[v], s.name(v)
		refuse := func(why, fix string) *CheckError {
			return &CheckError{Rule: Actors, Path: []string{name}, Why: why, Fix: fix}
		}
		switch {
		case t.Snapshot && !t.Actor:
			return refuse(name+" has a snapshot, and its output holds no actor", "checkpoint it")
		case t.Actor && t.waits():
			return refuse(name+" waits, and its output holds an actor", "have a task behind it make the actor")
		case t.Expands && (t.Actor || len(t.Writes) > 0):
			return refuse(name+" returns a graph, and makes or writes an actor", "have tasks of the graph make what they write")
		case t.Actor && t.Effect == Idempotent:
			return refuse(name+" has an idempotent effect, and its output holds an actor: a repeat under its key makes another actor", s.insteadOfKeys(v))
		case t.Actor && !t.Snapshot && s.sink[v] && !s.loose:
			return refuse("the result "+name+" holds an actor, whose version is not saved", "Snapshot "+name+", or have a task read it")
		}
		for _, p := range t.Writes {
			if !slices.Contains(t.Reads, p) || !s.Tasks[p].Actor {
				return refuse(fmt.Sprintf("%s writes an actor of task %d, which it does not read or which makes none", name, p), "have it read a task that makes one")
			}
			if w, ok := writer[p]; ok {
				return &CheckError{Rule: Actors, Path: s.names([]int{p, w, v}), Why: fmt.Sprintf("%s and %s write the same version, that of %s", s.name(w), name, s.name(p)),
					Fix: fmt.Sprintf("have one of them only read it, or have %s write what %s makes", name, s.name(w))}
			}
			writer[p] = v
		}
	}
	for v := range s.Tasks {
		for _, p := range s.Tasks[v].Reads {
			if w, ok := writer[p]; ok && w != v && !s.saves(p) {
				return &CheckError{Rule: Actors, Path: s.names([]int{p, v, w}),
					Why: fmt.Sprintf("%s reads the version of %s, which %s moves away and of which there is no snapshot: %s could not read it again", s.name(v), s.name(p), s.name(w), s.name(v)),
					Fix: fmt.Sprintf("Snapshot %s, or have %s read what %s makes", s.name(p), s.name(v), s.name(w))}
			}
		}
	}
	return nil
}

// insteadOfKeys returns the ways out for a task that makes an actor and is repeated under its key.
func (s shape) insteadOfKeys(v int) string {
	fix := "have a task behind it make the actor"
	if s.Tasks[v].Compensates {
		return "give " + s.name(v) + " an Undo, or " + fix
	}
	return "declare " + s.name(v) + " NoEffect, give it an Undo, or " + fix
}

// move notes that an attempt of v begins: the versions that it writes are where it is, and nowhere else.
func (x *Execution) move(v int) {
	s := x.scope(v)
	for _, p := range x.Tasks[v].Writes {
		x.facts[v] |= moved
		x.Lost(s.base + p)
	}
}

// read reports whether an attempt goes on that reads a version which v writes, or has to begin of those in all.
func (r *Run) read(v int, all []int) bool {
	s := r.x.scope(v)
	if len(r.x.Tasks[v].Writes) == 0 {
		return false
	}
	return slices.ContainsFunc(s.first.of(int(r.x.local[v])), func(l int32) bool {
		w := s.base + int(l)
		return !r.tasks[w].running.IsZero() || slices.Contains(all, w)
	})
}

// Failed notes that an attempt has not ended well: what it has moved away is gone. It reports whether that may be
// something.
func (x *Execution) Failed(v int) (moves bool) {
	moves = x.facts[v]&moved != 0
	x.facts[v] &^= moved
	return moves
}

// holds reports whether an attempt of v that goes on has the version that p has made.
func (x *Execution) holds(v, p int) bool {
	return x.facts[v]&moved != 0 && slices.Contains(x.Tasks[v].Writes, p-x.scope(v).base)
}
