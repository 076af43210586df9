package put

import (
	"iter"
	"maps"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// Running has the Puts that run on a node, and the orders for their objects meanwhile. A Put that has
// its answer hears of no order any more, and its copy may not be in the table yet. So the node first
// notes an order here, and then looks at its table; a Put first enters its copy, and then looks here.
// P stands for a Put. The zero Running has none.
type Running[P comparable] struct {
	objects map[phalanx.ObjectID]*object[P]
}

type object[P comparable] struct {
	puts  []P // in the order in which they began
	since Since
}

// Since has the orders for an object since the first of its running Puts began.
type Since struct {
	Deleted  phalanx.Generation // the greatest that was deleted
	Aborted  phalanx.Generation // the greatest whose binding was released
	Reset    phalanx.Generation // the greatest that has replaced another
	Unlisted bool               // the owner may have heard that this node has no copy
}

// Add notes that a Put of an object begins.
func (r *Running[P]) Add(id phalanx.ObjectID, p P) {
	if r.objects == nil {
		r.objects = map[phalanx.ObjectID]*object[P]{}
	}
	o := r.objects[id]
	if o == nil {
		o = &object[P]{}
		r.objects[id] = o
	}
	o.puts = append(o.puts, p)
}

// Remove notes that a Put has ended: its copy is in the table, or will never be.
func (r *Running[P]) Remove(id phalanx.ObjectID, p P) {
	o := r.objects[id]
	if o == nil {
		return
	}
	o.puts = slices.DeleteFunc(o.puts, func(q P) bool { return q == p })
	if len(o.puts) == 0 {
		delete(r.objects, id)
	}
}

// Of returns the Puts of an object. The caller owns the slice.
func (r *Running[P]) Of(id phalanx.ObjectID) []P {
	if o := r.objects[id]; o != nil {
		return slices.Clone(o.puts)
	}
	return nil
}

// Has reports whether a Put of the object runs.
func (r *Running[P]) Has(id phalanx.ObjectID) bool { return r.objects[id] != nil }

// Objects returns the objects that are put, in order.
func (r *Running[P]) Objects() []phalanx.ObjectID { return slices.Sorted(maps.Keys(r.objects)) }

// All returns every Put, by object. Puts may end while the caller looks at them.
func (r *Running[P]) All() iter.Seq[P] {
	return func(yield func(P) bool) {
		for _, id := range r.Objects() {
			for _, p := range r.Of(id) {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// Order notes an order of the owner that copies.Forwarded lets through.
func (r *Running[P]) Order(p directory.Push) {
	o := r.objects[p.Object]
	if o == nil {
		return
	}
	note := func(g *phalanx.Generation) {
		if g.Less(p.Gen) {
			*g = p.Gen
		}
	}
	switch p.Order {
	case directory.PushDrop:
		note(&o.since.Deleted)
	case directory.PushAbort:
		note(&o.since.Aborted)
	case directory.PushReset:
		note(&o.since.Reset)
	}
}

// Ends reports whether the copy of a Put that others could read goes as soon as it is complete. The order came
// when the Put had its answer, and its copy was still a part: a part is left to the Put.
func (s Since) Ends(gen phalanx.Generation) bool {
	return !s.Aborted.Less(gen) || gen.Less(s.Reset)
}

// Unlist notes that the owner of an object hears that this node has no copy, unless the node then finds
// one in its table.
func (r *Running[P]) Unlist(id phalanx.ObjectID) {
	if o := r.objects[id]; o != nil {
		o.since.Unlisted = true
	}
}

// Since returns the orders for an object since the first of its running Puts began.
func (r *Running[P]) Since(id phalanx.ObjectID) Since {
	if o := r.objects[id]; o != nil {
		return o.since
	}
	return Since{}
}
