package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/phalanx-go/phalanx"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// reduces is the part of a node that reduces: the coordinators of the Reduces
// that were called here, and the places that coordinators anywhere have put here.
type reduces struct {
	n         *node
	coords    []*coordinator
	places    map[placeKey]*place
	instances uint64
	feeds     []*feed // outputs that parents elsewhere read
	leaving   []phalanx.NodeID
	unheard   map[reader]bool // places that ended, and their coordinator does not know it
}

// placeKey names one place of one Reduce.
type placeKey struct {
	target phalanx.ObjectID
	reduce phalanx.Generation
	place  int
}

// reader is one instance of a place: another one after a panic does not take what
// was sent to the first, nor have what that had.
type reader struct {
	placeKey
	instance uint64
}

// Messages between coordinators and places.
type (
	order  struct{ reduce.Effect } // Command, Stop, AskDelivered, Inspect
	report struct {
		from  reader
		event reduce.Event
	}
	watchPlace struct{ reader } // has its end told
	placeEnded struct{ reader }
)

// actor names the instance of a place on a node; "" is none.
func (r reader) actor(on phalanx.NodeID) string {
	if r.instance == 0 {
		return ""
	}
	return fmt.Sprintf("%s/%d", on, r.instance)
}

func newReduces(n *node) *reduces {
	return &reduces{n: n, places: map[placeKey]*place{}, unheard: map[reader]bool{}}
}

func (r *reduces) sortedPlaces() []*place {
	if len(r.places) == 0 {
		return nil
	}
	all := slices.Collect(maps.Values(r.places))
	slices.SortFunc(all, func(a, b *place) int { return strings.Compare(a.name, b.name) })
	return all
}

func (r *reduces) tick() {
	for _, c := range slices.Clone(r.coords) {
		c.tick()
	}
	for _, p := range r.sortedPlaces() {
		p.tick()
	}
	r.feeds = slices.DeleteFunc(r.feeds, func(f *feed) bool { return f.over })
	for _, f := range slices.Clone(r.feeds) {
		f.pump()
	}
}

func (r *reduces) receive(from phalanx.NodeID, m any) {
	switch m := m.(type) {
	case order:
		r.ordered(from, m.Effect)
	case report:
		r.reported(from, m)
	case watchPlace:
		r.watchPlace(from, m)
	case placeEnded:
		r.placeEnded(from, m)
	case openEdge:
		r.openEdge(from, m)
	case closeEdge:
		r.closeEdge(from, m)
	case edgePiece:
		if p := r.places[m.parent.placeKey]; p != nil && p.instance == m.parent.instance {
			p.edgePiece(m)
		}
	case edgeEnd:
		if p := r.places[m.parent.placeKey]; p != nil && p.instance == m.parent.instance {
			p.edgeEnd(m)
		}
	default:
		r.n.w.fail("unknown message %T", m)
	}
}

// ordered hands an effect of a coordinator to a place. Only a Command makes one: a place
// that is not here has ended, and has nothing.
func (r *reduces) ordered(from phalanx.NodeID, e reduce.Effect) {
	switch e := e.(type) {
	case reduce.Command:
		key := placeKey{e.State.Target, e.State.Reduce, e.State.Place}
		if p := r.places[key]; r.n.refuses && (p == nil || !p.core.Runs()) {
			r.n.w.met["refused by a node that leaves: place"]++
			r.n.w.send(r.n.id, from, report{reader{placeKey: key}, reduce.Refused{Place: key.place, Node: r.n.id, Attempt: e.State.Attempt,
				Version: e.State.Version, Kind: phalanx.ErrClosed, Text: "the node is leaving"}})
			return
		}
		p := r.place(key, from)
		p.commanded(e)
	case reduce.Stop:
		key := placeKey{e.Target, e.Reduce, e.Place}
		if r.places[key] == nil { // it has ended
			r.n.w.send(r.n.id, from, report{reader{placeKey: key}, reduce.Stopped{Place: e.Place, Node: r.n.id, Gen: e.Gen}})
			return
		}
		p := r.place(placeKey{e.Target, e.Reduce, e.Place}, from)
		p.step(reduce.Stopping{Place: e.Place, Attempt: e.Attempt, Gen: e.Gen, Final: e.Final, TargetGen: e.TargetGen})
	case reduce.AskDelivered:
		key := placeKey{e.Target, e.Reduce, e.Parent}
		if r.places[key] == nil {
			r.n.w.send(r.n.id, from, report{reader{placeKey: key}, reduce.NotDelivered{Parent: e.Parent, ParentGen: e.ParentGen, Child: e.Child, ChildGen: e.ChildGen}})
			return
		}
		p := r.place(placeKey{e.Target, e.Reduce, e.Parent}, from)
		p.step(reduce.Asked{ParentGen: e.ParentGen, Child: e.Child, ChildGen: e.ChildGen})
	case reduce.AskRuns:
		key := placeKey{e.Target, e.Reduce, e.Place}
		if p := r.places[key]; p != nil {
			p.step(reduce.AskedRuns{Place: e.Place, Gen: e.Gen})
			return
		}
		r.n.w.met["lost place found by asking"]++
		r.n.w.send(r.n.id, from, report{reader{placeKey: key}, reduce.PlaceLost{Place: e.Place, Gen: e.Gen, Reason: reduce.LostPanic, Text: "the place does not run any more"}})
	case reduce.Inspect:
		const page = 2 // places in one answer
		in := reduce.Inspected{Node: r.n.id, Attempt: e.Attempt, From: e.From}
		for _, p := range r.sortedPlaces() {
			if p.key.target == e.Target && p.key.reduce == e.Reduce {
				p.step(reduce.Inspecting{Attempt: e.Attempt})
				if p.core.Runs() && p.key.place >= e.From {
					in.Places = append(in.Places, p.core.Held())
				}
			}
		}
		slices.SortFunc(in.Places, func(a, b reduce.Held) int { return cmp.Compare(a.State.Place, b.State.Place) })
		if len(in.Places) > page {
			in.Next, in.Places = in.Places[page].State.Place, in.Places[:page]
			r.n.w.met["places told in parts"]++
		}
		r.n.w.send(r.n.id, from, report{reader{placeKey: placeKey{e.Target, e.Reduce, 0}}, in})
	}
}

// place returns the place called key, a new one if there is none.
func (r *reduces) place(key placeKey, from phalanx.NodeID) *place {
	p := r.places[key]
	if p == nil {
		p = newPlace(r, key)
		r.places[key] = p
	}
	p.coordinator = from
	if r.n.w.byID[from].over { // to watch it tells so
		r.n.after(r.n.w.short(), func() { r.connectionBroke(from) })
	}
	return p
}

// reported hands a report to its coordinator. A place that nobody wants any more
// is stopped.
func (r *reduces) reported(from phalanx.NodeID, m report) {
	if e, ok := m.event.(reduce.PlaceLost); ok && e.Reason == reduce.LostPanic {
		maps.DeleteFunc(r.n.w.byID[from].reduces.unheard, func(ended reader, _ bool) bool {
			return ended == m.from || ended.placeKey == m.from.placeKey && m.from.instance == 0
		})
	}
	known := false
	for _, c := range slices.Clone(r.coords) {
		if c.target == m.from.target {
			known = known || c.core.Reduce() == m.from.reduce
			c.sender, c.place = from, m.from
			c.step(rnode.Reported{Target: m.from.target, Reduce: m.from.reduce, Place: m.from.actor(from), Event: m.event})
		}
	}
	if known {
		return
	}
	if _, runs := m.event.(reduce.Acked); runs {
		r.n.w.met["orphaned place stopped"]++
		last := reduce.PlaceGen{Attempt: ^uint64(0), Seq: ^uint64(0)}
		r.n.w.send(r.n.id, from, order{reduce.Stop{Node: from, Target: m.from.target, Reduce: m.from.reduce, Attempt: ^uint64(0), Place: m.from.place, Gen: last}})
	}
}

// watchPlace tells a coordinator at once that an actor has ended, if it has. Else the actor tells.
func (r *reduces) watchPlace(from phalanx.NodeID, m watchPlace) {
	if p := r.places[m.placeKey]; p == nil || p.instance != m.instance {
		r.n.w.send(r.n.id, from, placeEnded(m))
	}
}

// placeEnded tells who watches the actor of a place that it has ended.
func (r *reduces) placeEnded(from phalanx.NodeID, m placeEnded) {
	for _, c := range slices.Clone(r.coords) {
		if c.placeEnded(m.actor(from), false) {
			delete(r.n.w.byID[from].reduces.unheard, m.reader)
		}
	}
}

// The node of a Run.

var _ rnode.Node = (*reduces)(nil)

func (r *reduces) Num() uint64                   { return r.n.client.numbers() }
func (r *reduces) Shards() int                   { return r.n.w.shape.shards }
func (r *reduces) View() uint64                  { return r.n.view.Number }
func (r *reduces) Member(id phalanx.NodeID) bool { return r.n.view.Has(id) }
func (r *reduces) Whole(id phalanx.ObjectID) (phalanx.Generation, phalanx.Meta, bool) {
	if t := r.n.table[id]; t != nil && t.complete {
		return t.gen, t.meta, true
	}
	return phalanx.Generation{}, phalanx.Meta{}, false
}

// target returns the copy that a root on this node makes of object, if any.
func (r *reduces) target(object phalanx.ObjectID) *copied {
	for _, p := range r.sortedPlaces() {
		if p.key.target == object && p.root != nil && p.serve.Root && !p.root.gone && !p.root.complete {
			return p.root
		}
	}
	return nil
}

func (r *reduces) objects(all map[phalanx.ObjectID]bool) {
	for key := range r.places {
		all[key.target] = true
	}
}

// root returns the place that makes a copy of object, or nil.
func (r *reduces) root(object phalanx.ObjectID) *place {
	for _, p := range r.sortedPlaces() {
		if p.key.target == object && p.root != nil && !p.root.complete {
			return p
		}
	}
	return nil
}

func (r *reduces) expects(object phalanx.ObjectID) bool {
	for key, p := range r.places {
		if key.target == object && p.core.Runs() && p.core.State().Root {
			return true
		}
	}
	return false
}

// moved tells the places that bytes of a source have come, or are gone.
func (r *reduces) moved(object phalanx.ObjectID) {
	for _, p := range r.sortedPlaces() {
		if p.core.Runs() && p.core.State().Source == object {
			p.sourceMoved()
		}
	}
}

// uses reports whether a place reads c, so that it must not be evicted.
func (r *reduces) uses(c *copied) bool {
	for _, p := range r.places {
		if p.core.Runs() && p.core.State().Source == c.object && p.core.State().SourceGen == c.gen {
			return true
		}
	}
	return false
}

// left says what has not ended, or "".
func (r *reduces) left() string {
	for _, c := range r.coords {
		return fmt.Sprintf("a coordinator of %s", c.target)
	}
	for _, p := range r.sortedPlaces() {
		if p.core.Runs() || p.kept {
			return fmt.Sprintf("place %d of %s: %v", p.key.place, p.key.target, p.core.State())
		}
	}
	for _, f := range r.feeds {
		if !f.over {
			return fmt.Sprintf("a stream of place %d of %s", f.open.child.place, f.open.child.target)
		}
	}
	return ""
}

// forgot reports whether an earlier instance of a place has ended, and its
// coordinator cannot know that a later one does not have what that had.
func (r *reduces) forgot(key placeKey) bool {
	for ended := range r.unheard {
		if ended.placeKey == key {
			return true
		}
	}
	return false
}
