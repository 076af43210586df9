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

// reduces is the part of a node that reduces: the coordinators of the Reduces called here, and the
// places that coordinators anywhere have put here.
type reduces struct {
	n         *node
	coords    []*coordinator
	places    map[placeKey]*place
	alone     []*place // of rings whose target is final
	instances uint64
	feeds     []*feed // outputs that parents elsewhere read
	leaving   []phalanx.NodeID
	unheard   map[reader]bool // places that ended without their coordinator's knowledge
}

// placeKey names one place of one Reduce.
type placeKey = rnode.Key

// reader is one instance of a place. After a panic the next instance takes no message to the last
// one, and has none of its bytes.
type reader struct {
	placeKey
	instance uint64
}

// Messages between coordinators and places.
type (
	order struct {
		by string // the actor of the coordinator
		reduce.Effect
	}
	report struct {
		from  reader
		event reduce.Event
	}
	watchPlace struct{ reader } // asks to hear when the instance ends
	placeEnded struct{ reader }

	watchCoordinator struct { // asks a place's coordinator's node likewise
		by string
		reader
	}
	coordinatorEnded struct {
		by string
		reader
	}
)

// actor names the actor of the instance on a node; "" if there is no instance.
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
	for _, p := range slices.Clone(r.alone) {
		p.goRound()
	}
	r.feeds = slices.DeleteFunc(r.feeds, func(f *feed) bool { return f.over })
	for _, f := range slices.Clone(r.feeds) {
		f.pump()
	}
}

func (r *reduces) receive(from phalanx.NodeID, m any) {
	switch m := m.(type) {
	case order:
		r.ordered(from, m)
	case report:
		r.reported(from, m)
	case watchPlace:
		r.watchPlace(from, m)
	case placeEnded:
		r.placeEnded(from, m)
	case watchCoordinator:
		r.watchCoordinator(from, m)
	case coordinatorEnded:
		if p := r.places[m.placeKey]; p != nil && p.instance == m.instance {
			p.happens(rnode.CoordinatorEnded{Coordinator: m.by})
		}
	case openEdge:
		r.openEdge(from, m)
	case closeEdge:
		r.closeEdge(from, m)
	case edgePiece:
		if p := r.instance(m.parent); p != nil {
			p.edgePiece(m)
		}
	case edgeEnd:
		if p := r.instance(m.parent); p != nil {
			p.edgeEnd(m)
		}
	default:
		r.n.w.fail("unknown message %T", m)
	}
}

// instance returns an instance of a place that reads streams, or nil.
func (r *reduces) instance(of reader) *place {
	all := append(slices.Clone(r.alone), r.places[of.placeKey])
	if i := slices.IndexFunc(all, func(p *place) bool { return p != nil && p.reader() == of }); i >= 0 {
		return all[i]
	}
	return nil
}

// ordered hands an order of a coordinator to a place.
func (r *reduces) ordered(from phalanx.NodeID, m order) {
	if in, ok := m.Effect.(reduce.Inspect); ok {
		r.inspected(from, in)
		return
	}
	v := rnode.Obey(m.Effect, r.n.id, r.n.refuses, func(key placeKey) bool { return r.places[key] != nil })
	switch v.Answer.(type) {
	case reduce.Refused:
		r.n.w.met["refused by a node that leaves: place"]++
	case reduce.PlaceLost:
		r.n.w.met["lost place found by asking"]++
	}
	if v.Answer != nil {
		r.n.w.send(r.n.id, from, report{reader{placeKey: v.Key}, v.Answer})
		return
	}
	if v.Starts {
		if slices.ContainsFunc(r.alone, func(p *place) bool { return p.key == v.Key }) {
			r.n.w.met["place ordered beside its ring that goes on alone"]++
		}
		r.places[v.Key] = newPlace(r, v.Key)
		r.places[v.Key].first = m
	}
	r.places[v.Key].ordered(from, m.by, v.Event)
}

// inspected reports the places of a Reduce that run here.
func (r *reduces) inspected(from phalanx.NodeID, e reduce.Inspect) {
	const page = 2 // places in one answer
	in := reduce.Inspected{Node: r.n.id, Attempt: e.Attempt, From: e.From}
	for _, p := range r.sortedPlaces() {
		if p.key.Target == e.Target && p.key.Reduce == e.Reduce && p.key.Place >= e.From {
			p.step(reduce.Inspecting{Attempt: e.Attempt})
			if p.core.Runs() {
				in.Places = append(in.Places, p.core.Held())
			}
		}
	}
	slices.SortFunc(in.Places, func(a, b reduce.Held) int { return cmp.Compare(a.State.Place, b.State.Place) })
	if len(in.Places) > page {
		in.Next, in.Places = in.Places[page].State.Place, in.Places[:page]
		r.n.w.met["places told in parts"]++
	}
	r.n.w.send(r.n.id, from, report{reader{placeKey: placeKey{Target: e.Target, Reduce: e.Reduce, Place: 0}}, in})
}

// watchCoordinator tells a place when its coordinator ends, at once if it has already ended.
func (r *reduces) watchCoordinator(from phalanx.NodeID, m watchCoordinator) {
	w := watcher{from, m.reader}
	for _, c := range r.coords {
		if c.name == m.by {
			if !slices.Contains(c.watchers, w) {
				c.watchers = append(c.watchers, w)
			}
			return
		}
	}
	r.n.w.send(r.n.id, from, coordinatorEnded(m))
}

// reported hands a report to the coordinators of its target.
func (r *reduces) reported(from phalanx.NodeID, m report) {
	if e, ok := m.event.(reduce.PlaceLost); ok && e.Reason == reduce.LostPanic {
		maps.DeleteFunc(r.n.w.byID[from].reduces.unheard, func(ended reader, _ bool) bool {
			return ended == m.from || ended.placeKey == m.from.placeKey && m.from.instance == 0
		})
	}
	for _, c := range slices.Clone(r.coords) {
		if c.target == m.from.Target {
			c.sender, c.place = from, m.from
			c.step(rnode.Reported{Target: m.from.Target, Reduce: m.from.Reduce, Place: m.from.actor(from), Event: m.event})
		}
	}
}

// watchPlace tells a coordinator at once if an actor has ended. Later the actor tells.
func (r *reduces) watchPlace(from phalanx.NodeID, m watchPlace) {
	if p := r.places[m.placeKey]; p == nil || p.instance != m.instance {
		r.n.w.send(r.n.id, from, placeEnded(m))
	}
}

// placeEnded tells the coordinators that watch a place's actor that it has ended.
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
	if t := r.n.whole(id); t != nil {
		return t.Gen, t.Meta, true
	}
	return phalanx.Generation{}, phalanx.Meta{}, false
}

// moved tells the places that bytes of a source have come or gone.
func (r *reduces) moved(object phalanx.ObjectID) {
	for _, p := range r.sortedPlaces() {
		if p.core.Runs() && p.core.State().Source == object {
			p.sourceMoved()
		}
	}
}

// left names something that has not ended, or returns "".
func (r *reduces) left() string {
	for _, c := range r.coords {
		return fmt.Sprintf("a coordinator of %s", c.target)
	}
	for _, p := range append(r.sortedPlaces(), r.alone...) {
		if p.core.Runs() || p.kept {
			return fmt.Sprintf("place %d of %s: %v", p.key.Place, p.key.Target, p.core.State())
		}
	}
	for c := range r.n.table.All() {
		if c.Origin && !c.Complete {
			return fmt.Sprintf("%s, and has not heard that it is final", c.Object)
		}
	}
	for _, f := range r.feeds {
		if !f.over {
			return fmt.Sprintf("a stream of place %d of %s", f.open.child.Place, f.open.child.Target)
		}
	}
	return ""
}

// forgot reports whether a place has lost an earlier instance, and its coordinator cannot know that
// the later one lacks the bytes of the first.
func (r *reduces) forgot(key placeKey) bool {
	for ended := range r.unheard {
		if ended.placeKey == key {
			return true
		}
	}
	return false
}
