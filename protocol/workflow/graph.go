package workflow

import "time"

// Graph is a workflow. Each task comes after those that it reads or follows, so a task is named by
// its index.
type Graph struct {
	Tasks []Task
}

// Task is one task of a graph, with what its author promises of it (workflow specification 1.1, 1.2).
type Task struct {
	Name  string // of the task in this graph
	Reads []int  // the tasks whose outputs are its arguments, without repeats
	After []int  // the tasks that it follows without reading them

	Deterministic bool       // it makes the same bytes of the same inputs
	Checkpoint    Checkpoint // of its output
	Effect        Effect     // what outsiders see of it
	Compensates   bool       // another function of its inputs and its output makes up for it, if the run fails later
	Caught        bool       // its consumer takes its error
	Retries       int        // how many failures in a row are repaired, and one; 0: as many as RunConfig says
	Limit         Limit      // how many attempts of tasks with it run at once
	Arrival       bool       // its output shows in which order inputs arrive: a reduction of floats, or of some of its inputs
	Needs         int32      // it begins once so many of Reads have ended, and takes those that have; 0: all of them

	// What does not run on a node has no effect, and its output is recorded.
	Event string        // it waits for the signal of this name, which is its output
	Sleep time.Duration // it ends so long after it begins, without output

	// Its attempts return graphs (workflow specification 1.5). The output is that of the graph's sink. A task that has a
	// checkpoint as well may return a graph with effects.
	Expands bool

	// Actors (workflow specification 1.4).
	Actor    bool  // its output holds an actor: a version of it
	Snapshot bool  // then: the version is saved, before a writer begins; else it has no checkpoint
	Writes   []int // of Reads: it writes their actors, which moves these versions away; it reads those of the others
}

// MaxSleep is the longest Sleep.
const MaxSleep = 100 * 365 * 24 * time.Hour

// waits reports whether a task runs on no node.
func (t *Task) waits() bool { return t.Event != "" || t.Sleep != 0 }

// Checkpoint says whether the output of a task is saved.
type Checkpoint uint8

// The ways to save an output.
const (
	Async Checkpoint = iota // consumers need not wait for it
	Sync                    // consumers wait until it is saved
	Off                     // it is not saved, unless it is a result
)

// Effect says what outsiders see of a task, and what takes it back.
type Effect uint8

// The kinds of effects.
const (
	Idempotent Effect = iota // nothing takes it back; a repeat under the same key has no second effect
	None                     // there is none
	Undo                     // a function of the task's inputs takes it back
)

// Irreversible reports whether the task has an effect, and nothing takes it back.
func (t *Task) Irreversible() bool { return t.Effect == Idempotent }

// differs reports whether another attempt of the same inputs can have another output: an error that
// is caught counts as one.
func (t *Task) differs() bool { return !t.Deterministic && t.Sleep == 0 || t.Caught }

// varies says why the output of a task is not the same each time, whatever its author promises; "": it can be.
func (t *Task) varies() string {
	switch {
	case t.Event != "":
		return "is a signal"
	case t.Actor:
		return "holds an actor, which lives at another place each time"
	case t.Arrival || t.Needs > 0:
		return "shows in which order its inputs arrive"
	}
	return ""
}

// acts reports whether outsiders see something of a task. Only such a task has a compensation.
func (t *Task) acts() bool { return t.Effect != None }

// source reports whether its output, or its effect, can differ from one run to the next
// (workflow specification 1.6).
func (t *Task) source() bool { return t.differs() || t.Effect == Undo }

// final reports whether a task that has begun never begins again with other inputs: it has an effect that nothing
// takes back, or a signal that somebody has sent on the strength of what is above it.
func (t *Task) final() bool { return t.Irreversible() || t.Event != "" }

// shape is a graph with what follows from its edges.
type shape struct {
	*Graph
	edges lists  // by task: the parents, which the task reads or follows
	sink  []bool // nobody reads or follows it: it is a result
	loose bool   // results have no checkpoint: it is the graph of a task without one
	first lists  // by task with Writes: the tasks that read a version that it moves away; they end before it begins
}

func shapeOf(g *Graph) shape {
	s := shape{Graph: g, sink: make([]bool, len(g.Tasks))}
	s.edges = listsOf(len(g.Tasks), func(add func(list, item int)) {
		for v := range g.Tasks {
			for _, p := range g.Tasks[v].Reads {
				add(v, p)
			}
			for _, p := range g.Tasks[v].After {
				add(v, p)
			}
		}
	})
	for v := range s.sink {
		s.sink[v] = true
		for _, p := range s.parents(v) {
			s.sink[p] = false
		}
	}
	s.order()
	return s
}

// order has the readers of a version come before its writer.
func (s *shape) order() {
	writer := map[int]int{}
	for v := range s.Tasks {
		for _, p := range s.Tasks[v].Writes {
			writer[p] = v
		}
	}
	if len(writer) == 0 {
		return
	}
	s.first = listsOf(len(s.Tasks), func(add func(list, item int)) {
		for v := range s.Tasks {
			for _, p := range s.Tasks[v].Reads {
				if w, ok := writer[p]; ok && w != v {
					add(w, v)
				}
			}
		}
	})
}

// parents returns the tasks that v reads, and then those that it follows.
func (s shape) parents(v int) []int32 { return s.edges.of(v) }

// counts returns the event with which p is an input that those who read it may have.
func (s shape) counts(p int) node {
	if s.saves(p) && (s.Tasks[p].Checkpoint == Sync || s.Tasks[p].Caught) {
		return at(p, saved)
	}
	return at(p, end)
}

// saves reports whether a task has a checkpoint: results always have, and what is recorded is saved by that.
func (s shape) saves(v int) bool {
	if s.Tasks[v].Actor {
		return s.Tasks[v].Snapshot
	}
	return s.Tasks[v].Checkpoint != Off || s.sink[v] && !s.loose || s.Tasks[v].waits()
}

// grows reports whether a task expands, and its expansion is recorded before it begins: what is in it counts as
// part of the run. Inwards the task is final; outwards it is a source (workflow specification 1.5).
func (s shape) grows(v int) bool { return s.Tasks[v].Expands && s.saves(v) }

// source and final are those of the task, with what an expansion adds.
func (s shape) source(v int) bool { return s.Tasks[v].source() || s.grows(v) }
func (s shape) final(v int) bool  { return s.Tasks[v].final() || s.grows(v) }
