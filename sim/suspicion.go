package sim

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/member"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/detect"
	"github.com/phalanx-go/phalanx/protocol/join"
	"github.com/phalanx-go/phalanx/protocol/transfer"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// accusation tells a voter of a suspicion.
type accusation struct {
	node  phalanx.NodeID
	cause detect.Cause
	told  time.Duration
}

func (n *node) stepDetector(ev detect.Event) {
	for _, e := range n.detector.Step(ev) {
		switch e := e.(type) {
		case detect.Beat:
			n.beat(e.Node)
		case detect.Suspect:
			n.w.met["node suspected: "+e.Cause.String()]++
			n.refusing[e.Node] = e.Cause == detect.Refused
			n.tellLeaver()
			n.suspect(e.Node)
		case detect.Trust:
			n.w.met["node trusted again"]++
			n.routes.Forget(e.Node)
			delete(n.refusing, e.Node)
			n.tellLeaver()
			n.look()
		case detect.Accuse:
			n.w.send(n.id, e.To, accusation{e.Node, e.Cause, e.Told})
		case detect.Remove:
			n.w.met["removal proposed"]++
			n.stepView(view.Propose{Command: view.RemoveMember{Node: e.Node, Dead: e.Dead}, Now: n.clock()})
		}
	}
}

// beat sends a heartbeat on a connection of its own: the weather does not reach it, faults do.
func (n *node) beat(to phalanx.NodeID) {
	w, from, dest := n.w, n.host, w2host(n.w, to)
	back := func(ev func() detect.Event) {
		w.after(w.short(), func() {
			if w.linked(dest, from) {
				n.run(func() { n.stepDetector(ev()); w.step(n, "heartbeat") })
			}
		})
	}
	w.after(w.short(), func() {
		switch {
		case w.walls[[2]*host{from, dest}] > 0 && !w.linked(from, dest): // the firewall answers, on this side of the cut
			w.met["connection refused by a firewall"]++
			n.after(w.short(), func() {
				n.stepDetector(detect.Refuses{Node: to, Now: n.clock()})
				w.step(n, "refused by a firewall")
			})
		case !w.linked(from, dest) || dest.off || w.deaf[[2]*host{from, dest}] > 0:
		case dest.life == nil || dest.life.id != to:
			if dest.hung {
				return
			}
			back(func() detect.Event { return detect.Refuses{Node: to, Now: n.clock()} })
		default:
			dest.life.after(0, func() {
				if w.linked(dest, from) { // without a way back TCP brings no heartbeats
					dest.life.stepDetector(detect.Heard{Node: n.id, Now: dest.life.clock()})
				}
				back(func() detect.Event {
					n.overdue.Hear(to)
					return detect.Echoed{Node: to, Now: n.clock()}
				})
			})
		}
	})
}

func w2host(w *world, id phalanx.NodeID) *host { return w.byID[id].host }

// watched tells the detector the time and the open streams.
func (n *node) watched() {
	if at, ok := n.detector.Due(); !ok || at > n.clock() {
		return
	}
	var streams []phalanx.NodeID
	for _, o := range n.out {
		if !o.over && o.pipe.to != n.id {
			streams = append(streams, o.pipe.to)
		}
	}
	for _, id := range sortedObjects(n.fetches) {
		if f := n.fetches[id]; f.sender != "" {
			streams = append(streams, f.sender)
		}
	}
	slices.Sort(streams)
	overdue, next := n.overdue.At(n.clock())
	n.stepDetector(detect.Tick{Streams: slices.Compact(streams), Overdue: overdue, Owed: next, Now: n.clock()})
}

func members(v view.View) []phalanx.NodeID {
	all, _ := v.IDs("")
	return all
}

// breakWith breaks with a node that is no member any more, which notices that if it lives.
func (n *node) breakWith(s member.Gone) {
	id := s.Member.ID
	n.gone[id] = true
	n.reduces.nodeGone(id, true)
	n.streamsBroke(id)
	n.closes(id, false)
	part := func() {
		if !member.At(n.view, s.Member.Control) {
			n.reduces.connectionBroke(id)
			n.closes(id, true)
		}
	}
	if s.Lingers {
		n.after(member.Lingering, part)
	} else {
		part()
	}
}

// suspect breaks with a node that this node does not trust to answer.
func (n *node) suspect(id phalanx.NodeID) {
	n.routes.Suspect(id)
	n.reduces.nodeGone(id, false)
	n.sever(id)
	n.stepView(view.PeerBroken{Node: id, Now: n.clock()})
	n.closes(id, true)
	n.look()
}

// closes has a node that can hear it notice that its connections with this one are closed.
func (n *node) closes(id phalanx.NodeID, control bool) {
	if o := n.w.byID[id]; !o.over && n.w.linked(n.host, o.host) {
		o.after(n.w.short(), func() {
			o.broken(n.id, control)
			n.w.step(o, "connection closed")
		})
	}
}

// broken hears that the connections with a node broke.
func (n *node) broken(id phalanx.NodeID, control bool) {
	n.streamsBroke(id)
	if control {
		n.reduces.connectionBroke(id)
		n.joins(join.Broken{})
		n.stepView(view.PeerBroken{Node: id, Now: n.clock()})
	}
	n.stepDetector(detect.Broken{Node: id, Now: n.clock()})
}

// sever closes the connections with a node.
func (n *node) sever(id phalanx.NodeID) {
	n.streamsBroke(id)
	n.reduces.connectionBroke(id)
}

// streamsBroke ends the streams with a node.
func (n *node) streamsBroke(id phalanx.NodeID) {
	for _, o := range slices.Clone(n.out) {
		if o.pipe.to == id && !o.over {
			o.end(&ending{why: transfer.Broken})
		}
	}
	for _, object := range sortedObjects(n.fetches) {
		f := n.fetches[object]
		if in := n.in[f.stream]; f.stream != 0 && f.sender == id && in != nil && !in.over {
			in.pipe.write(closing{f.stream})
			f.ended(transfer.Broken, phalanx.Generation{})
		}
	}
	n.reduces.streamsBroke(id)
}

// nodeGone tells the coordinators here about a node that is gone.
func (r *reduces) nodeGone(id phalanx.NodeID, down bool) {
	for _, c := range slices.Clone(r.coords) {
		c.step(rnode.NodeGone{Node: id, Down: down})
	}
}

// connectionBroke ends watches over actors of another node: coordinators hear of their places
// there, and places whose coordinator was there end.
func (r *reduces) connectionBroke(id phalanx.NodeID) {
	for _, c := range slices.Clone(r.coords) {
		for _, name := range c.actorsAt(id) {
			c.placeEnded(name, true)
		}
	}
	for _, p := range r.sortedPlaces() {
		if p.coordinator == id {
			p.happens(rnode.CoordinatorEnded{Coordinator: p.by})
		}
	}
}

// gone ends a place that has ended itself because of ev.
func (r *reduces) gone(p *place, ev rnode.PlaceEvent) {
	if p.kept { // the place goes on without an actor
		r.tellLost(p)
		return
	}
	why := "it is stopped"
	switch ev.(type) {
	case rnode.CoordinatorEnded:
		why = "its coordinator is gone"
	case rnode.GivenUp:
		why = "its node leaves"
	}
	r.lose(p, why)
}

// lose ends a place at once. The actors that watch it hear of it if they can reach its node.
func (r *reduces) lose(p *place, why string) {
	if p.core.Runs() {
		r.n.w.met["place ended: "+why]++
	}
	runs := p.core.Runs()
	for _, s := range sortedStreams(p.edges) {
		if ed := p.edges[s]; !ed.complete {
			ed.pipe.write(closeEdge{p.reader(), s})
		}
	}
	p.release(false)
	delete(r.places, p.key)
	if runs {
		r.unheard[p.reader()] = true
	}
	r.tellLost(p)
}

// tellLost tells the coordinator of a place once that it has ended. The coordinator does not hear
// of it if that message gets lost.
func (r *reduces) tellLost(p *place) {
	if r.n.w.byID[p.coordinator].over {
		delete(r.unheard, p.reader())
		return
	}
	if p.quiet {
		return
	}
	r.n.w.send(r.n.id, p.coordinator, placeEnded{p.reader()})
}

// streamsBroke ends the streams between places here and on another node.
func (r *reduces) streamsBroke(id phalanx.NodeID) {
	for _, f := range slices.Clone(r.feeds) {
		if f.pipe.to == id && !f.over {
			f.end(false, "the connection broke")
		}
	}
	for _, p := range append(r.sortedPlaces(), r.alone...) {
		for _, s := range sortedStreams(p.edges) {
			if ed := p.edges[s]; ed != nil && ed.pipe.to == id && !ed.complete {
				ed.pipe.write(closeEdge{p.reader(), s})
				p.endEdge(ed, false, "the connection broke")
			}
		}
	}
}
