package workflow

import (
	"slices"
	"strings"
)

// ways are the ways out of a rule that is broken: any of them, for any of its tasks, is enough.
type ways struct {
	checkpoint    []int // these get a checkpoint
	noEffect      []int // these have no effect, if that is so
	deterministic []int // these make the same bytes of the same inputs, if that is so
	noUndo        []int // these have no undo
	noCheckpoint  []int // these expand to graphs without checkpoints and effects
}

// calm adds what makes a task no source.
func (w *ways) calm(s shape, v int) {
	t := &s.Tasks[v]
	switch {
	case t.Caught || t.varies() != "" || t.waits() || s.grows(v):
	case t.Effect != Undo:
		add(&w.deterministic, v)
	case t.Deterministic:
		add(&w.noEffect, v)
		add(&w.noUndo, v)
	}
}

func add(to *[]int, v int) {
	if !slices.Contains(*to, v) {
		*to = append(*to, v)
	}
}

// toSave is the way out that has the output of a task saved.
func (s shape) toSave(v int) string {
	w := ways{checkpoint: []int{v}}
	return w.text(s)
}

func (w *ways) text(s shape) string { return strings.Join(w.texts(s), ", or ") }

func (w *ways) texts(s shape) (all []string) {
	say := func(tasks []int, before, after string) {
		if len(tasks) > 0 {
			all = append(all, before+strings.Join(s.names(tasks), " or ")+after)
		}
	}
	var versions, others []int
	for _, v := range w.checkpoint {
		if s.Tasks[v].Actor {
			versions = append(versions, v)
		} else {
			others = append(others, v)
		}
	}
	say(others, "checkpoint ", "")
	say(versions, "Snapshot ", "")
	say(w.noEffect, "declare ", " NoEffect")
	say(w.deterministic, "declare ", " Deterministic if that is so")
	say(w.noUndo, "give ", " no undo")
	say(w.noCheckpoint, "give ", " no checkpoint if their graphs need none")
	return all
}
