package sim

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// Messages of a stream from a place to its parent.
type (
	openEdge struct {
		parent reader
		child  placeKey
		gen    reduce.PlaceGen
		stream uint64
		offset int
	}
	closeEdge struct {
		parent reader
		stream uint64
	}
	edgePiece struct {
		parent reader
		stream uint64
		gen    reduce.PlaceGen
		offset int
		bytes  []byte
	}
	edgeEnd struct {
		parent   reader
		stream   uint64
		complete bool
		busy     bool // the sender has no seat for the stream
		text     string
	}
)

// edge is a child's output on its way to this place.
type edge struct {
	reduce.OpenEdge
	gen      reduce.PlaceGen
	pipe     *pipe
	keep     bool // the bytes stay apart from the place's own output
	complete bool
	waits    bool // the ring's place waits for its own source before it asks
	heard    time.Duration
	busy     rnode.Busy
}

func (p *place) reader() reader { return reader{p.key, p.instance} }

func (p *place) openEdge(e reduce.OpenEdge) {
	n := p.r.n
	ed := &edge{OpenEdge: e, gen: e.Gen, keep: n.w.rng.IntN(2) == 0 && p.core.State().Ring == 0, heard: n.w.now, busy: rnode.Busy{Since: n.w.now}, pipe: &pipe{w: n.w, from: n.id, to: e.Node}}
	for _, s := range sortedStreams(p.edges) { // an earlier stream of the same label has ended
		if p.edges[s].gen == e.Gen {
			delete(p.edges, s)
		}
	}
	p.edges[e.Stream] = ed
	if p.core.State().Ring > 0 {
		if p.pulled {
			n.after(0, func() { p.endEdge(ed, false, "the ring cannot take its earlier bytes again") })
			return
		}
		p.pulled = true
		if ed.waits = p.circle == nil; ed.waits {
			n.after(0, func() { p.advance(); n.w.step(n, "combine") })
			return
		}
	}
	p.ask(ed)
}

// ask has the child send its output, beginning after the bytes that have already come.
func (p *place) ask(ed *edge) {
	if p.apart[ed.gen] == nil {
		p.apart[ed.gen] = []byte{}
	}
	child := p.key
	child.Place = ed.Place
	ed.heard = p.r.n.w.now
	ed.pipe.write(openEdge{parent: p.reader(), child: child, gen: ed.gen, stream: ed.Stream, offset: len(p.apart[ed.gen])})
}

func (p *place) closeEdge(e reduce.CloseEdge) {
	ed := p.edges[e.Stream]
	if ed == nil {
		return
	}
	delete(p.edges, e.Stream)
	if !ed.complete {
		ed.pipe.write(closeEdge{p.reader(), e.Stream})
	}
	if !e.Keep {
		delete(p.apart, e.Gen)
	}
}

func (p *place) edgePiece(m edgePiece) {
	ed := p.edges[m.stream]
	if ed == nil || ed.complete {
		return
	}
	if m.gen != ed.gen || m.offset != len(p.apart[ed.gen]) {
		p.r.n.w.fail("(9) place %d of %s has %d bytes of %v of place %d, and gets %v from %d", p.key.Place, p.key.Target, len(p.apart[ed.gen]), ed.gen, ed.Place, m.gen, m.offset)
	}
	ed.heard = p.r.n.w.now
	p.apart[ed.gen] = append(p.apart[ed.gen], m.bytes...)
	if p.circle != nil {
		p.circle.Moved++
	}
	if p.kept {
		p.turn()
		return
	}
	p.advance()
}

func (p *place) edgeEnd(m edgeEnd) {
	ed := p.edges[m.stream]
	if ed == nil || ed.complete {
		return
	}
	if m.busy {
		p.r.n.w.met["edge of a busy node"]++
		if pause, ok := ed.busy.Again(p.r.n.w.now); ok {
			p.r.n.after(pause, func() {
				if p.edges[m.stream] == ed {
					p.ask(ed)
				}
			})
			return
		}
		p.pulled = false // BUSY comes before the first byte
	}
	p.endEdge(ed, m.complete, m.text)
}

func (p *place) endEdge(ed *edge, complete bool, text string) {
	ed.complete = complete
	if p.circle != nil {
		p.ringEnded(ed, complete, text)
		return
	}
	if !complete {
		p.r.n.w.met["edge broken"]++
		delete(p.edges, ed.Stream)
	}
	p.step(reduce.EdgeEnded{Child: ed.Place, Gen: ed.gen, Stream: ed.Stream, Complete: complete, Kept: complete && ed.keep, Text: text})
	p.advance()
}

// edgesTick gives up on children that are silent: a live child answers each opening within a
// second.
func (p *place) edgesTick() {
	for _, s := range sortedStreams(p.edges) {
		if ed := p.edges[s]; ed != nil && !ed.complete && p.r.n.w.now-ed.heard > 30*time.Second {
			p.endEdge(ed, false, "silence")
		}
	}
}

func sortedStreams(m map[uint64]*edge) []uint64 {
	var all []uint64
	for s := range m {
		all = append(all, s)
	}
	slices.Sort(all)
	return all
}

// feed is an output of this node that a parent reads.
type feed struct {
	r      *reduces
	open   openEdge
	reader rnode.Reader
	pipe   *pipe
	next   int
	of     *place // in a ring: its output is read
	busy   bool
	over   bool
}

func (r *reduces) openEdge(from phalanx.NodeID, m openEdge) {
	for _, f := range r.feeds {
		if f.pipe.to == from && f.open.parent == m.parent && f.open.stream == m.stream {
			return
		}
	}
	f := &feed{r: r, open: m, pipe: &pipe{w: r.n.w, from: r.n.id, to: from}, reader: rnode.Reader{Want: m.gen, Since: r.n.w.now}, next: m.offset}
	if _, turn := f.turn(); turn == rnode.Later && slices.ContainsFunc(r.feeds, func(o *feed) bool { _, turn := o.turn(); return !o.over && turn == rnode.Later }) {
		f.pipe.write(edgeEnd{parent: m.parent, stream: m.stream, busy: true, text: "no seat is free"}) // it has one
		return
	}
	r.feeds = append(r.feeds, f)
	f.pump()
}

// place returns the place whose output the parent reads or may read; nil: there is none. A place that
// goes on alone has the key's output until the next place under the key begins one.
func (f *feed) place() *place {
	p := f.r.places[f.open.child]
	switch i := slices.IndexFunc(f.r.alone, func(a *place) bool { return a.key == f.open.child }); {
	case f.of != nil:
		return f.of
	case i >= 0 && (p == nil || p.combine.Gen.IsZero()):
		return f.r.alone[i]
	}
	return p
}

// turn returns the place that the parent asks for, or nil, and the answer.
func (f *feed) turn() (*place, rnode.Turn) {
	p, makes := f.place(), reduce.PlaceGen{}
	if p != nil && (p.kept || p.core.Runs()) {
		makes = p.combine.Gen
	}
	return p, f.reader.Turn(f.r.n.w.now, makes)
}

func (r *reduces) closeEdge(from phalanx.NodeID, m closeEdge) {
	for _, f := range r.feeds {
		if f.pipe.to == from && f.open.parent == m.parent && f.open.stream == m.stream {
			f.over = true
		}
	}
}

func (f *feed) pump() {
	w := f.r.n.w
	if f.over || f.busy {
		return
	}
	p, turn := f.turn()
	switch turn {
	case rnode.Later:
		return
	case rnode.Passed:
		f.end(false, "it has another label by now")
		return
	case rnode.Absent:
		f.end(false, "there is no such place")
		return
	}
	if p.circle != nil {
		f.of = p
	}
	if w.chance(w.weather.broken) {
		f.end(false, "the connection broke")
		return
	}
	switch {
	case p.given || f.next < p.gone:
		p.r.n.after(0, func() { p.missing(); w.step(p.r.n, "missing") })
	case f.next < len(p.out):
		end := min(f.next+int(w.shape.piece), len(p.out))
		f.pipe.write(edgePiece{f.open.parent, f.open.stream, f.open.gen, f.next, p.out[f.next:end:end]})
		if f.next, f.busy = end, true; p.run.Room() == rnode.SmallRoom {
			p.gone = end
		} else if p.circle != nil {
			p.circle.Moved++
		}
		f.r.n.after(w.draw(w.shape.pieceTime), func() {
			f.busy = false
			f.pump()
			w.step(f.r.n, "edge piece sent")
		})
	case p.circle != nil:
		if f.next == p.circle.sends() {
			f.end(true, "")
			p.circle.Given = true
		}
	case p.made:
		f.end(true, "")
		p.sent = true
	}
}

// missing has the output made again, of which the parent asks for bytes that are not kept.
func (p *place) missing() {
	if p.given || p.gone > 0 {
		p.step(reduce.OutputMissing{Gen: p.combine.Gen})
	}
}

func (f *feed) end(complete bool, text string) {
	if f.over {
		return
	}
	f.over = true
	f.pipe.write(edgeEnd{parent: f.open.parent, stream: f.open.stream, complete: complete, text: text})
}
