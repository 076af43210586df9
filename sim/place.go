package sim

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// place hosts one place of a Reduce on the node that has its source.
type place struct {
	r           *reduces
	key         placeKey
	name        string // the key, for sorting
	instance    uint64
	core        *reduce.Place
	coordinator phalanx.NodeID
	ticked      time.Duration

	source *copied // while the source is open
	whole  bool    // it was told so
	moved  int     // bytes of the source that it was told of
	edges  map[uint64]*edge
	apart  map[reduce.PlaceGen][]byte // what came of each child

	combine reduce.Combine
	out     []byte // what was combined of combine.Gen
	made    bool
	serve   reduce.Serve
	room    *copied         // holds the room of the target while there is no root
	root    *copied         // the target, at the root
	began   bool            // the target's first piece was announced
	circle  *circle         // in a ring
	failed  reduce.PlaceGen // the label under which the op has failed
	pulled  bool            // the stream of the place before was read: what came cannot come again
	kept    bool            // it was released, and goes on by itself
	quiet   bool            // nobody hears of its end
}

func newPlace(r *reduces, key placeKey) *place {
	r.instances++
	p := &place{r: r, key: key, name: fmt.Sprint(key), instance: r.instances, core: reduce.NewPlace(reduce.PlaceConfig{}), room: r.n.copyFor(copies.Copy{Object: key.target})}
	p.clear()
	p.step(reduce.PlaceTick{Now: r.n.clock()})
	return p
}

func (p *place) clear() {
	p.from(nil)
	p.edges, p.apart = map[uint64]*edge{}, map[reduce.PlaceGen][]byte{}
	p.combine, p.out, p.made = reduce.Combine{}, nil, false
	p.serve, p.root, p.began = reduce.Serve{}, nil, false
	p.circle, p.pulled, p.kept = nil, false, false
}

func (p *place) tick() {
	if p.r.n.w.now-p.ticked < 50*time.Millisecond {
		return
	}
	p.ticked = p.r.n.w.now
	if p.kept {
		p.goRound()
		return
	}
	p.step(reduce.PlaceTick{Now: p.r.n.clock()})
	p.sourceMoved()
	p.edgesTick()
}

// copyOf returns this node's copy of generation g of a source.
func (p *place) copyOf(object phalanx.ObjectID, g phalanx.Generation) *copied {
	if p.r.n.table.Whole(object, g) {
		return p.r.n.of(object)
	}
	return nil
}

// from has the place read from c from now on, which is not evicted until it reads from another
// one, or none.
func (p *place) from(c *copied) {
	if p.source != nil {
		p.r.n.unuse(p.source)
	}
	if p.source, p.whole, p.moved = nil, false, 0; c != nil && p.r.n.table.Use(&c.Copy) {
		p.source = c
	}
}

// commanded says what keeps this node from carrying out a command, and hands it
// on.
func (p *place) commanded(e reduce.Command) {
	ev := reduce.Commanded{State: e.State}
	held := p.core.State()
	if p.copyOf(e.State.Source, e.State.SourceGen) == nil && !(p.core.Runs() && held.Source == e.State.Source && held.SourceGen == e.State.SourceGen) {
		p.r.n.w.met["place without its source"]++
		ev.Unable, ev.Text = phalanx.ErrNotFound, "there is no copy here"
	}
	if (e.State.Root || e.State.Ring > 0) && p.root == nil && !p.r.n.memory.try(p.room, e.State.Meta.Size) {
		ev.Unable, ev.Text = phalanx.ErrNoSpace, "there is no room for the target"
	}
	p.step(ev)
	p.advance()
	p.free()
}

// free gives back the room that is held for a target when it is not wanted.
func (p *place) free() {
	if !p.kept && (!p.core.Runs() || !p.core.State().Root && p.core.State().Ring == 0) {
		p.r.n.memory.release(p.room)
	}
}

func (p *place) step(ev reduce.PlaceEvent) {
	for _, e := range p.core.Step(ev) {
		p.carryOut(e)
	}
}

func (p *place) carryOut(e reduce.PlaceEffect) {
	n := p.r.n
	if n.w.trace.out != nil {
		n.w.trace.say(n.w.now, string(n.id), "place %d of %s: %T%+v", p.key.place, p.key.target, e, e)
	}
	switch e := e.(type) {
	case reduce.OpenSource:
		p.from(p.copyOf(e.Source, e.Gen))
		if p.source != nil && p.source.Origin {
			n.w.met["target streams into another reduce"]++
		}
		n.after(0, func() { p.sourceMoved(); n.w.step(n, "source opened") })
	case reduce.CloseSource:
		p.from(nil)
	case reduce.OpenEdge:
		p.openEdge(e)
	case reduce.CloseEdge:
		p.closeEdge(e)
	case reduce.ResetOutput:
		n.w.met["place cleared"]++
		p.resetOutput()
	case reduce.Combine:
		p.combine = e
		n.after(0, func() { p.advance(); n.w.step(n, "combine") })
	case reduce.Serve:
		p.serve = e
		p.show()
	case reduce.Release:
		p.release(e.KeepTarget)
	case reduce.Report:
		p.report(e.Event)
	}
}

func (p *place) report(ev reduce.Event) {
	n := p.r.n
	switch e := ev.(type) {
	case reduce.Acked:
		e.Node = n.id
		ev = e
	case reduce.Refused:
		n.w.met["place refuses: "+e.Kind.Error()]++
		e.Node = n.id
		ev = e
	case reduce.Stopped:
		e.Node = n.id
		ev = e
	}
	n.w.send(n.id, p.coordinator, report{p.reader(), ev})
}

// sourceMoved looks at how far the source is.
func (p *place) sourceMoved() {
	s := p.core.State()
	if !p.core.Runs() || p.source == nil {
		return
	}
	if p.source.Dropped || p.source.Gen != s.SourceGen {
		moved, whole := p.moved, p.whole
		p.from(p.copyOf(s.Source, s.SourceGen))
		if p.moved, p.whole = moved, whole; p.source == nil {
			p.r.n.w.met["source of a place failed"]++
			p.step(reduce.SourceFailed{Gen: s.SourceGen, Text: "its copy is gone"})
			return
		}
	}
	switch {
	case p.source.whole && !p.whole:
		p.whole = true
		p.step(reduce.SourceComplete{Gen: s.SourceGen})
	case len(p.source.bytes) > p.moved:
		p.step(reduce.SourceMoved{Gen: s.SourceGen})
	}
	if p.source != nil {
		p.moved = len(p.source.bytes)
	}
	p.advance()
}

// input returns what has come of one input.
func (p *place) input(in reduce.CombineInput) ([]byte, bool) {
	if in.Self {
		if p.source == nil {
			return nil, false
		}
		return p.source.bytes, true
	}
	b, ok := p.apart[in.Gen]
	return b, ok && !in.Gen.IsZero()
}

// advance combines what has come, and shows it.
func (p *place) advance() {
	if !p.core.Runs() || p.combine.Gen.IsZero() || len(p.combine.Inputs) == 0 {
		return
	}
	if p.combine.Ring > 0 {
		p.turn()
		return
	}
	length := int(p.combine.Meta.Size)
	for _, in := range p.combine.Inputs {
		b, ok := p.input(in)
		if !ok {
			return
		}
		length = min(length, len(b))
	}
	for i := len(p.out); i < length; i++ {
		if source := p.refuses(i + 1); source != "" {
			p.opFailed(source)
			break
		}
		var sum byte
		for _, in := range p.combine.Inputs {
			b, _ := p.input(in)
			sum += b[i]
		}
		p.out = append(p.out, sum)
	}
	p.show()
	if !p.made && len(p.out) == int(p.combine.Meta.Size) {
		p.made = true
		if p.serve.Root {
			m := p.r.n.w.oracle.model(p.key.target)
			m.tried = append(m.tried, p.out)
		}
		p.step(reduce.OutputDone{Gen: p.combine.Gen, Size: p.combine.Meta.Size, Digest: digestOf(p.out)})
	}
	p.pumpFeeds()
}

func (p *place) pumpFeeds() {
	for _, f := range p.r.feeds {
		if f.open.child == p.key {
			f.pump()
		}
	}
}

// show lets everyone read the target at the root, once it has a generation.
func (p *place) show() {
	n := p.r.n
	if p.circle != nil {
		p.showRing()
		return
	}
	if !p.serve.Root || p.serve.TargetGen.IsZero() || p.serve.Gen != p.combine.Gen {
		return
	}
	if p.root == nil || p.root.Gen != p.serve.TargetGen {
		p.hide(p.serve.TargetGen)
		if !p.showRoot(copies.Copy{Object: p.key.target, Gen: p.serve.TargetGen, Meta: p.combine.Meta, Origin: true}) {
			return
		}
		p.began = false
		p.announce(directory.Announce{Gen: p.root.Gen, Origin: true, Meta: p.root.Meta})
	}
	if p.root.Complete || p.root.Dropped {
		return
	}
	if !p.began && len(p.out) > 0 {
		p.began = true
		p.announce(directory.Announce{Gen: p.root.Gen, Origin: true, Begun: true, Meta: p.root.Meta})
	}
	p.root.bytes = p.out
	if len(p.out) == int(p.combine.Meta.Size) {
		p.root.fill(p.out)
	}
	n.pump(p.root)
}

// showRoot lets this node read the target, and with a root everyone.
func (p *place) showRoot(c copies.Copy) bool {
	n := p.r.n
	root := n.copyFor(c)
	root.room, p.room.room = p.room.room, 0
	root.back = p.room
	if _, ok := n.table.Show(&root.Copy); !ok {
		n.w.met["root finds a newer generation"]++
		p.room.room, root.room = root.room, 0
		return false
	}
	p.root = root
	n.ownShown(p.key.target)
	return true
}

// announce tells the target's owner about the root's copy. If the target is final by now the owner
// may not have known whom to tell.
func (p *place) announce(a directory.Announce) {
	n, target := p.r.n, p.key.target
	n.client.report(target, a, func(_ phalanx.NodeID, r directory.Result) {
		if r.State == directory.Finished && r.Gen == a.Gen {
			n.settle(directory.Push{Object: target, Gen: r.Gen, Meta: r.Meta, Digest: r.Digest})
		}
	})
}

// hide takes the root's copy from its readers; those of next start over with it.
func (p *place) hide(next phalanx.Generation) {
	root := p.root
	p.root = nil
	switch {
	case root == nil:
	case next.IsZero():
		p.r.n.table.Drop(&root.Copy, nil)
	default:
		p.r.n.table.Drop(&root.Copy, &copies.Ended{Why: copies.Reset, Gen: next})
	}
}

func (p *place) resetOutput() {
	p.out, p.made = nil, false
	p.circle, p.pulled = nil, false
	for _, e := range p.edges {
		if e.complete && !e.keep {
			delete(p.apart, e.gen)
		}
	}
	if p.root != nil && !p.root.Complete {
		p.hide(phalanx.Generation{})
	}
	for _, f := range p.r.feeds { // readers of other labels are turned away
		if f.open.child == p.key && !f.over {
			f.check()
		}
	}
}

func (p *place) release(keepTarget bool) {
	n := p.r.n
	if p.kept {
		return
	}
	if keepTarget && p.circle != nil {
		p.keepRing()
		return
	}
	if root := p.root; root != nil {
		if !root.Complete && !(keepTarget && root.whole && p.serve.Root) {
			p.hide(phalanx.Generation{})
			n.reportDrop(root.Object, root.Gen) // its digest may be on the way to the owner, who would count on this copy
		} else {
			root.back = nil // it stays, and its owner tells that it is final
		}
	}
	for _, f := range p.r.feeds {
		if f.open.child == p.key {
			f.end(false, "its place was released")
		}
	}
	p.clear()
	n.memory.release(p.room)
	n.w.met["place released"]++
}
