package workflow

import (
	"slices"
	"strings"
)

// cycle says why a task can never begin: it waits, by the rule Settle, for what comes after it.
func (e *Events) cycle(from node) *CheckError {
	path := e.around(from, false)
	if path == nil {
		path = e.around(from, true)
	}
	err := &CheckError{Rule: Settle}
	var why []string
	var out ways
	var reads []string
	for i, v := range path {
		switch v.kind() {
		case end:
			if w := path[(i+len(path)-1)%len(path)]; w.kind() == begin && !slices.Contains(e.edges.of(w.task()), int32(v.task())) {
				err.Rule = Actors
				why = append(why, e.name(w.task())+" waits for "+e.name(v.task())+", which reads a version that it writes, and comes after it")
				reads = append(reads, "have "+e.name(v.task())+" read what "+e.name(w.task())+" makes")
			}
		case begin:
			err.Path = append(err.Path, e.name(v.task()))
		case covered:
			if path[i-1].kind() == begin { // the wait of an irreversible task
				waits, reads := e.wait(path[i:])
				why = append(why, e.name(v.task())+" waits for "+e.name(waits)+", which depends on "+e.name(reads)+" (no checkpoint) and comes after "+e.next(path, i))
				switch {
				case e.grows(v.task()):
					add(&out.noCheckpoint, v.task())
				case e.Tasks[v.task()].Event == "":
					add(&out.noEffect, v.task())
				}
			}
		case settled:
			if !e.saves(v.task()) {
				add(&out.checkpoint, v.task())
			}
			if k := path[(i+len(path)-1)%len(path)].kind(); k == covered || k == fixed { // it is waited for as a source
				out.calm(e.shape, v.task())
			}
		}
	}
	err.Why = strings.Join(why, "; ")
	err.Fix = strings.Join(append(reads, out.texts(e.shape)...), ", or ")
	return err
}

// around returns a shortest cycle through a node, without the node at the end; nil: there is none. The
// closure of Settle is harder to follow than the rest, so there is a look without it first.
func (e *Events) around(from node, closure bool) []node {
	before := map[node]node{}
	todo := []node{from}
	for len(todo) > 0 {
		v := todo[0]
		todo = todo[1:]
		closed := false
		e.requires(v, e.consumers, func(w node) {
			if e.of[w] != e.of[from] || closed || w.kind() == fixed && !closure {
				return
			}
			if w == from {
				closed = true
				return
			}
			if _, seen := before[w]; !seen {
				before[w] = v
				todo = append(todo, w)
			}
		})
		if closed {
			path := []node{v}
			for v != from {
				v = before[v]
				path = append(path, v)
			}
			slices.Reverse(path)
			return path
		}
	}
	return nil
}

// wait returns, of a path that begins where an irreversible task waits, the task that has to be
// saved and one without checkpoint that needs it.
func (e *Events) wait(path []node) (waits, reads int) {
	for _, v := range path {
		switch v.kind() {
		case settled:
			if !e.saves(v.task()) {
				reads = v.task()
			}
		case saved:
			return v.task(), reads
		}
	}
	return 0, 0 // not reached: covered leads to what happens by way of saved only
}

// next names the irreversible task of a cycle after which the one comes that is waited for at path[i].
func (e *Events) next(path []node, i int) string {
	for j := i + 1; ; j++ {
		v := path[j%len(path)]
		switch {
		case j%len(path) == i:
			return "it"
		case v.kind() == covered && path[(j-1)%len(path)].kind() == begin:
			return e.name(v.task())
		}
	}
}
