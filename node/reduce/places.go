package reduce

import (
	"cmp"
	"maps"
	"slices"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// told is the last command of a place: where it runs, and the label of its output.
type told struct {
	node phalanx.NodeID
	gen  core.PlaceGen
}

// order sends an effect of the core to the places of a node.
func (r *Run) order(to phalanx.NodeID, e core.Effect) {
	if r.node.Member(to) {
		delete(r.strange, to)
		r.emit(Order{to, e})
		return
	}
	if _, known := r.strange[to]; !known {
		r.strange[to] = r.now
	}
}

// giveUpStrangers takes nodes for gone that are still no members: they left the view before
// this Reduce heard of them, and no later message will say so.
func (r *Run) giveUpStrangers() {
	for _, n := range slices.Sorted(maps.Keys(r.strange)) {
		if r.now-r.strange[n] < strangeFor {
			continue
		}
		delete(r.strange, n)
		if !r.node.Member(n) {
			r.do(core.NodeGone{Node: n, Down: true})
		}
	}
}

// join tells another node's coordinator that this node wants the target too, unless its
// sources are too small for a ring: then it fetches the target as all others do.
func (r *Run) join(e core.Join) {
	j, c := r.joining(), r.cfg
	if len(j.Has) > 0 && !core.RingFits(len(c.Sources), c.Num, c.Degree, j.Has[0].Meta.Size, cmp.Or(c.Grain, core.RingGrain)) {
		return
	}
	if r.node.Member(e.Node) {
		r.emit(Join{e.Node, e.Reduce, j})
	}
}

// joining lists the sources that this node has.
func (r *Run) joining() core.Joined {
	j := core.Joined{Node: r.cfg.Node}
	for _, id := range r.cfg.Sources {
		if gen, meta, ok := r.node.Whole(id); ok {
			j.Has = append(j.Has, core.Ready{Source: id, Node: j.Node, Gen: gen, Meta: meta, Kind: core.Complete, Final: true})
		}
	}
	return j
}

// reported takes a report of a place. The Run watches the actors of running places: the end of
// an actor tells it that the place is lost.
func (r *Run) reported(ev Reported) {
	if j, ok := ev.Event.(core.Joined); ok && ev.Target == r.cfg.Target { // it may know of Begun before this node
		r.do(j)
		return
	}
	if ev.Target != r.cfg.Target || ev.Reduce != r.core.Reduce() {
		return
	}
	if a, ok := ev.Event.(core.Acked); ok && ev.Place != "" {
		if t, ok := r.told[a.Place]; ok && t.node == a.Node {
			if _, known := r.places[ev.Place]; !known {
				r.emit(WatchPlace{ev.Place})
			}
			r.places[ev.Place] = core.PlaceLost{Place: a.Place, Gen: t.gen, Reason: core.LostPanic, Text: "the place's actor ended"}
		}
	}
	r.do(ev.Event)
}

func (r *Run) placeEnded(ev PlaceEnded) {
	lost, ok := r.places[ev.Place]
	if !ok {
		return
	}
	delete(r.places, ev.Place)
	if ev.Broke {
		lost.Reason, lost.Text = core.LostSuspected, "the connection to its node broke"
	}
	r.do(lost)
}
