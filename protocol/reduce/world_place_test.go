package reduce_test

import (
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// runAt returns the place at a node, a new one if there is none.
func (w *world) runAt(id phalanx.NodeID, pos int) *run {
	n := w.node(id)
	r := n.places[pos]
	if r == nil {
		r = &run{at: n, core: reduce.NewPlace(reduce.PlaceConfig{}), pos: pos}
		r.core.Step(reduce.Inspecting{Attempt: n.floor})
		r.core.Step(reduce.PlaceTick{Now: w.now})
		r.clear()
		n.places[pos] = r
	}
	return r
}

// commanded checks what a host checks, and hands a command on.
func (w *world) commanded(e reduce.Command) {
	r := w.runAt(e.Node, e.State.Place)
	n := r.at
	ev := reduce.Commanded{State: e.State}
	if o := w.src[e.State.Source]; !slices.Contains(o.holders, n.id) || o.gen != e.State.SourceGen {
		held := r.core.State()
		if !r.core.Runs() || held.Source != e.State.Source || held.SourceGen != e.State.SourceGen {
			ev.Unable, ev.Text = phalanx.ErrNotFound, "no copy here"
		}
	}
	w.place(r, ev)
}

func (r *run) clear() {
	r.since = map[uint64]time.Duration{}
	r.open, r.got, r.kept = map[uint64]reduce.OpenEdge{}, map[reduce.PlaceGen]value{}, map[reduce.PlaceGen]value{}
	r.combine, r.out, r.forgot, r.told = reduce.Combine{}, nil, false, false
}

// place carries out what the core of a place decides.
func (w *world) place(r *run, ev reduce.PlaceEvent) {
	effects := r.core.Step(ev)
	w.log("place event", ev)
	for _, e := range effects {
		w.log("place effect", e)
		switch e := e.(type) {
		case reduce.OpenSource:
			r.told = false
		case reduce.OpenEdge:
			r.open[e.Stream], r.since[e.Stream] = e, w.now
		case reduce.CloseEdge:
			delete(r.open, e.Stream)
			if !e.Keep {
				delete(r.kept, e.Gen)
				delete(r.got, e.Gen)
			}
		case reduce.ResetOutput:
			r.out, r.forgot = nil, false
			r.got = maps.Clone(r.kept)
		case reduce.Combine:
			r.combine = e
		case reduce.Serve:
			if !e.TargetGen.IsZero() && e.Root { // the others of a ring show the same
				if l, ok := w.served[e.TargetGen]; ok && l != e.Gen {
					w.t.Fatalf("%v of the target shows %v after %v", e.TargetGen, e.Gen, l)
				}
				w.served[e.TargetGen] = e.Gen
			}
		case reduce.Release:
			r.clear()
		case reduce.Report:
			ev := fill(e.Event, r.at.id)
			w.send("", func() { w.step(ev) })
		}
	}
}

// fill adds where a report came from.
func fill(ev reduce.Event, n phalanx.NodeID) reduce.Event {
	switch ev := ev.(type) {
	case reduce.Acked:
		ev.Node = n
		return ev
	case reduce.Refused:
		ev.Node = n
		return ev
	case reduce.Stopped:
		ev.Node = n
		return ev
	}
	return ev
}

// partial folds what has come, and reports whether that is everything.
func (w *world) partial(r *run) (value, bool) {
	v := value{}
	if r.combine.Ring > 0 {
		if r.out != nil {
			v = *r.out
		}
		return v, r.out != nil
	}
	for _, in := range r.combine.Inputs {
		var x value
		if in.Self {
			o := w.src[r.core.State().Source]
			if o.gen != r.core.State().SourceGen || !o.whole {
				return v, false
			}
			x = o.made()
		} else {
			got, ok := r.got[in.Gen]
			if in.Gen.IsZero() || !ok {
				return v, false
			}
			x = got
		}
		v = v.add(x)
	}
	return v, len(r.combine.Inputs) > 0
}

func (w *world) runs() []*run {
	var all []*run
	for _, id := range slices.Sorted(maps.Keys(w.nodes)) {
		n := w.nodes[id]
		for _, pos := range slices.Sorted(maps.Keys(n.places)) {
			if r := n.places[pos]; !n.dead && r.core.Runs() {
				all = append(all, r)
			}
		}
	}
	return all
}

// stream lets all bytes move that can.
func (w *world) stream() {
	for _, r := range w.runs() {
		w.read(r)
		if r.combine.Ring > 0 {
			w.turn(r)
			continue
		}
		if v, all := w.partial(r); all && r.out == nil && !r.forgot {
			r.out = &v
			if was, ok := w.known[r.combine.Gen]; ok && was != v {
				w.t.Fatalf("%v stands for %v and for %v", r.combine.Gen, was, v)
			}
			w.known[r.combine.Gen] = v
			ev := reduce.OutputDone{Gen: r.combine.Gen, Size: r.combine.Meta.Size, Digest: digest(v)}
			w.local(r.at, func() { w.place(r, ev) })
		}
		for _, s := range slices.Sorted(maps.Keys(r.open)) {
			w.pull(r, r.open[s])
		}
	}
}

// turn lets a place of a ring have everything, once all are there, and have all of
// their source.
func (w *world) turn(r *run) {
	for _, s := range slices.Sorted(maps.Keys(r.open)) {
		e := r.open[s]
		if w.node(e.Node).dead {
			w.pull(r, e)
			return
		}
		v, whole := w.around(r)
		if !whole {
			return
		}
		delete(r.open, s)
		r.out = &v
		w.known[r.combine.Gen] = v
		done := reduce.OutputDone{Gen: r.combine.Gen, Size: r.combine.Meta.Size, Digest: digest(v)}
		w.local(r.at, func() {
			w.place(r, reduce.EdgeEnded{Child: e.Place, Gen: e.Gen, Stream: e.Stream, Complete: true})
			w.place(r, done)
		})
	}
}

// around follows the edges of a ring once around, and returns what all places have.
func (w *world) around(r *run) (value, bool) {
	n := r.combine.Ring
	all := make([]value, n)
	at := r
	for range n {
		st := at.core.State()
		o := w.src[st.Source]
		if !at.core.Runs() || st.Ring != n || at.at.dead || w.hold[at.at.id] || o.gen != st.SourceGen || !o.whole || at.out == nil && len(at.open) == 0 {
			return value{}, false
		}
		all[st.Place] = o.made()
		prev := st.Children[0]
		next := w.node(prev.Node).places[prev.Place]
		if next == nil || next.core.State().Gen != prev.Gen {
			return value{}, false
		}
		at = next
	}
	sum := value{}
	for _, v := range all {
		sum = sum.add(v)
	}
	return sum, at == r
}

func (w *world) read(r *run) {
	o, st := w.src[r.core.State().Source], r.core.State()
	if !r.told && o.gen == st.SourceGen && o.whole {
		r.told = true
		w.local(r.at, func() { w.place(r, reduce.SourceComplete{Gen: st.SourceGen}) })
	}
}

// pull answers one open edge: the whole output if it is there, its end if the
// child is not there any more, or else nothing yet.
func (w *world) pull(r *run, e reduce.OpenEdge) {
	end := func(complete bool) {
		delete(r.open, e.Stream)
		w.local(r.at, func() {
			ev := reduce.EdgeEnded{Child: e.Place, Gen: e.Gen, Stream: e.Stream, Complete: complete}
			if _, ev.Kept = r.kept[e.Gen]; !complete {
				ev.Text = "connection lost"
			}
			w.place(r, ev)
		})
	}
	n := w.node(e.Node)
	child := n.places[e.Place]
	switch {
	case n.dead || w.hold[n.id]:
		if n.dead {
			end(false)
		}
	case child == nil || !child.core.Runs() || child.core.State().Gen.Compare(e.Gen) > 0:
		if w.now-r.since[e.Stream] > time.Second { // the command is not only late
			end(false)
		}
	case child.core.State().Gen != e.Gen:
	case child.forgot:
		child.forgot = false
		gen := e.Gen
		w.local(child.at, func() {
			if child.out == nil {
				w.place(child, reduce.OutputMissing{Gen: gen})
			}
		})
	case child.out != nil:
		r.got[e.Gen] = *child.out
		if w.keep() {
			r.kept[e.Gen] = *child.out
		}
		end(true)
	}
}

// kill ends a node. The coordinator hears of it by itself.
func (w *world) kill(n *node) {
	n.dead = true
	for _, o := range w.src {
		o.holders = slices.DeleteFunc(o.holders, func(h phalanx.NodeID) bool { return h == n.id })
	}
	n.places = map[int]*run{}
}
