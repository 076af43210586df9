package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// place hosts one place of a Reduce on the node that has its source.
type place struct {
	r           *reduces
	key         placeKey
	name        string // the key, for sorting
	instance    uint64
	run         *rnode.Place
	core        *reduce.Place  // of run
	coordinator phalanx.NodeID // where it runs
	by          string         // the coordinator's actor
	first       order          // has started it

	source *copied // while the source is open
	reads  rnode.Source
	edges  map[uint64]*edge
	apart  map[reduce.PlaceGen][]byte // bytes that have come, of each child's output

	combine reduce.Combine
	out     []byte // the combined bytes of combine.Gen
	made    bool
	sink    *filled         // the memory of out
	given   bool            // its memory was given up since
	sent    bool            // a parent has all of it
	missed  reduce.PlaceGen // the label of the output that is made again
	gone    int             // bytes that are not kept any more, in a window
	room    *copied         // holds the room of the target while there is no root
	wish    *wish           // for that; nil: there is none
	wanted  reduce.PlaceGen // the output that room was asked for
	roomy   reduce.PlaceGen // the output that has it
	root    *copied         // the target, at the root
	began   bool            // the place has announced the target's first piece
	circle  *circle         // in a ring
	failed  reduce.PlaceGen // the label under which the op has failed, or takes long
	call    []rnode.Call    // of a slow op
	pulled  bool            // the place has read from the place before, which cannot send those bytes again
	kept    bool            // the place has ended, and its ring goes on alone
	quiet   bool            // its coordinator does not hear of its end
}

func newPlace(r *reduces, key placeKey) *place {
	r.instances++
	p := &place{r: r, key: key, name: fmt.Sprint(key), instance: r.instances, room: r.n.copyFor(copies.Copy{Object: key.Target})}
	p.run = rnode.NewPlace(r.n.clock(), rnode.PlaceConfig{Node: r.n.id, Grain: ringGrain, Can: func(phalanx.Op, phalanx.DType) bool { return true }})
	p.core = p.run.Core()
	p.clear()
	return p
}

func (p *place) clear() {
	p.from(nil)
	p.edges, p.apart = map[uint64]*edge{}, map[reduce.PlaceGen][]byte{}
	p.combine, p.out, p.made, p.sink = reduce.Combine{}, nil, false, &filled{}
	p.given, p.sent, p.gone = false, false, 0
	p.root, p.began = nil, false
	p.circle, p.pulled, p.kept, p.call = nil, false, false, nil
}

func (p *place) tick() {
	if at, ok := p.run.Due(); ok && at <= p.r.n.clock() {
		p.step(rnode.OpRuns(p.r.n.clock(), p.combine.Gen, phalanx.Sum, p.call))
		p.happens(rnode.PlaceTick{})
		p.sourceMoved()
		p.edgesTick()
	}
}

// from has the place read from c from now on. The evictor spares c until the place reads from
// another copy, or none.
func (p *place) from(c *copied) {
	if p.source != nil {
		p.r.n.unuse(p.source)
	}
	if p.source = nil; c != nil && p.r.n.table.Use(&c.Copy) {
		p.source = c
	}
}

// ordered takes an order of a coordinator.
func (p *place) ordered(from phalanx.NodeID, by string, ev reduce.PlaceEvent) {
	p.coordinator, p.by = from, by
	p.happens(rnode.Ordered{Coordinator: by, Event: ev})
	p.advance()
}

// reserve gets the whole target's room at the root and in a ring, which can take long. An inner
// place needs little.
func (p *place) reserve(e reduce.Combine) {
	m, s := p.r.n.memory, p.core.State()
	if e.Gen == p.wanted {
		return
	}
	p.giveBack()
	p.wanted = e.Gen
	whole := p.run.Room() == rnode.WholeRoom
	if n := p.r.n; !whole && m.cap > 0 && n.w.rng.IntN(2) == 0 { // another place waits for room soon
		n.after(n.w.draw(300*time.Millisecond), p.r.shrink)
	}
	if !whole || m.try(p.room, e.Meta.Size) {
		p.hasRoom(e.Gen)
		return
	}
	later := func(ev reduce.PlaceEvent) { p.r.n.after(0, func() { p.step(ev); p.advance() }) }
	p.r.n.after(0, p.r.shrink)
	later(reduce.OutputWaits{Gen: e.Gen, Text: "there is no room for the target"})
	p.wish = m.reserve(p.room, e.Meta.Size, func(err *phalanx.Error) {
		p.wish = nil
		if err != nil {
			later(reduce.SourceFailed{Gen: s.SourceGen, Text: err.Error()})
			return
		}
		p.r.n.w.met["place has waited for room"]++
		p.hasRoom(e.Gen)
		later(reduce.OutputWaits{Gen: e.Gen})
	})
}

func (p *place) hasRoom(gen reduce.PlaceGen) {
	p.roomy = gen
	if p.core.State().Ring == 0 { // in a ring the source must be there, too
		p.happens(rnode.Roomy{Gen: gen})
	}
}

// shrink has the places here give up memory: one of them waits for room.
func (r *reduces) shrink() {
	for _, p := range r.sortedPlaces() {
		large := p.run.Room() == rnode.AnyRoom && p.combine.Meta.Size > r.n.w.shape.piece
		p.happens(rnode.Shrink{Delivered: p.sent, Large: large})
	}
}

// giveBack gives the room for the target back, and waits for none.
func (p *place) giveBack() {
	if p.wish != nil {
		p.r.n.memory.forget(p.wish)
		p.wish = nil
	}
	p.wanted, p.roomy = reduce.PlaceGen{}, reduce.PlaceGen{}
	p.r.n.memory.release(p.room)
}

// step tells the core an event about its bytes.
func (p *place) step(ev reduce.PlaceEvent) { p.happens(rnode.Happened{Event: ev}) }

func (p *place) happens(ev rnode.PlaceEvent) {
	n := p.r.n
	for _, e := range p.run.Step(n.clock(), ev) {
		switch e := e.(type) {
		case rnode.Carry:
			p.carryOut(e.Effect)
		case rnode.Tell:
			switch r := e.Event.(type) {
			case reduce.Refused:
				n.w.met["place refuses: "+r.Kind.Error()]++
			case reduce.Combining:
				n.w.met["op does not return"]++
			}
			n.w.send(n.id, p.coordinator, report{p.reader(), e.Event})
		case rnode.WatchCoordinator:
			p.watch(p.coordinator, p.by)
		case rnode.ShowTarget:
			p.showTarget(e)
		case rnode.HideTarget:
			if p.root != nil && !p.root.Complete { // no order has hidden it before
				p.hide(phalanx.Generation{})
			}
		case rnode.Announce:
			p.announce(e.Announce)
		case rnode.GiveOutput:
			n.w.met["output given up"]++
			p.given = true
		case rnode.Gone:
			p.r.gone(p, ev)
		}
	}
}

// watch tells the place when its coordinator ends.
func (p *place) watch(on phalanx.NodeID, by string) {
	n := p.r.n
	if n.w.byID[on].over {
		n.after(n.w.short(), func() { p.happens(rnode.CoordinatorEnded{Coordinator: by}) })
		return
	}
	n.w.send(n.id, on, watchCoordinator{by, p.reader()})
}

func (p *place) carryOut(e reduce.PlaceEffect) {
	n := p.r.n
	if n.w.trace.out != nil {
		n.w.trace.say(n.w.now, string(n.id), "place %d of %s: %T%+v", p.key.Place, p.key.Target, e, e)
	}
	switch e := e.(type) {
	case reduce.OpenSource:
		c, has := n.of(e.Source), phalanx.Generation{}
		if c != nil {
			has = c.Gen
		}
		if err := rnode.CheckSource(has, e.Gen); err != nil {
			n.w.met["place without its source"]++
			n.after(0, func() { p.step(reduce.SourceFailed{Gen: e.Gen, Text: err.Error()}) })
			return
		}
		p.from(c)
		p.reads = rnode.Source{Gen: e.Gen, Every: 1}
		switch {
		case c.Origin:
			n.w.met["target streams into another reduce"]++
		case !c.Complete:
			n.w.met["place reads a source that arrives"]++
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
		if e.Gen == p.combine.Gen {
			n.w.met["output made again"]++
			if p.core.State().Root {
				n.w.met["target made again under another generation"]++
			}
			p.missed = e.Gen
		}
		p.combine.Gen = e.Gen
		p.resetOutput()
	case reduce.Combine:
		p.combine = e
		p.reserve(e)
		n.after(0, func() { p.advance(); n.w.step(n, "combine") })
	case reduce.Release:
		p.release(e.KeepTarget)
	}
}

// sourceMoved tells the core how far the source is.
func (p *place) sourceMoved() {
	if !p.core.Runs() || p.source == nil {
		return
	}
	var failed error
	if c := p.source; c.Dropped || c.failed() != nil {
		failed = errors.New("its copy is gone")
	}
	if ev := p.reads.Sees(int64(len(p.source.bytes)), p.source.whole, failed); ev != nil {
		if _, bad := ev.(reduce.SourceFailed); bad {
			p.r.n.w.met["source of a place failed"]++
		}
		p.step(ev)
	}
	p.advance()
}

// input returns the bytes that have come of one input.
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

// advance combines the bytes that have come, and shows the result.
func (p *place) advance() {
	if !p.core.Runs() || p.combine.Gen.IsZero() || len(p.combine.Inputs) == 0 || p.roomy != p.combine.Gen {
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
		if !p.calls(p.refuses(i + 1)) {
			break
		}
		var sum byte
		for _, in := range p.combine.Inputs {
			b, _ := p.input(in)
			sum += b[i]
		}
		p.out = append(p.out, sum)
	}
	p.grow()
	if !p.made && len(p.out) == int(p.combine.Meta.Size) {
		p.made = true
		if p.core.State().Root {
			m := p.r.n.w.oracle.model(p.key.Target)
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

// showTarget lets others read the output as the target.
func (p *place) showTarget(e rnode.ShowTarget) {
	n := p.r.n
	root := n.copyFor(copies.Copy{Object: p.key.Target, Gen: e.Gen, Meta: p.combine.Meta, Origin: true, Ring: !e.Root})
	p.hide(e.Gen)
	root.room, p.room.room = p.room.room, 0
	root.back, root.made = p.room, p.sink
	if _, ok := n.table.Show(&root.Copy); !ok {
		n.w.met["root finds a newer generation"]++
		p.room.room, root.room = root.room, 0
		return
	}
	p.root = root
	n.ownShown(p.key.Target)
	p.happens(rnode.Shown{Gen: e.Gen})
	p.grow()
}

// grow shows the bytes made by now.
func (p *place) grow() {
	if p.circle != nil {
		p.wholeRing()
		return
	}
	if !p.began && (len(p.out) > 0 || p.combine.Meta.Size == 0) {
		p.began = true
		p.happens(rnode.PieceMade{Gen: p.combine.Gen})
	}
	if p.root == nil || p.root.Complete || p.root.Dropped {
		return
	}
	p.root.bytes = p.out
	if len(p.out) == int(p.combine.Meta.Size) {
		p.root.fill(p.out)
	}
	p.r.n.pump(p.root)
}

// announce tells the target's owner about the root's copy. If the target is already final, or begun
// anew, the owner may not have known this node.
func (p *place) announce(a directory.Announce) {
	n, target := p.r.n, p.key.Target
	n.client.report(target, a, func(_ phalanx.NodeID, r directory.Result) {
		final, why := copies.Announced(a.Gen, r)
		switch {
		case final:
			n.settle(directory.Push{Object: target, Gen: r.Gen, Meta: r.Meta, Digest: r.Digest})
		case why != copies.Stays:
			n.w.met["root announces what is over"]++
			n.table.DropObject(target, a.Gen, &copies.Ended{Why: why, Gen: r.Gen})
		}
	})
}

// hide takes the root's copy from its readers; readers of next start over with it.
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
	p.out, p.made, p.began, p.sink = nil, false, false, &filled{}
	p.given, p.sent, p.gone = false, false, 0
	p.circle, p.pulled, p.call = nil, false, nil
	for _, e := range p.edges {
		if e.complete && !e.keep {
			delete(p.apart, e.gen)
		}
	}
	p.giveBack()
	p.pumpFeeds() // the place turns readers of other labels away
}

func (p *place) release(keepTarget bool) {
	n := p.r.n
	if p.kept {
		return
	}
	root := p.root
	switch remains := rnode.RemainsOf(keepTarget, p.circle != nil, root != nil && root.Complete); {
	case remains == rnode.Circles:
		p.keepRing()
		return
	case root == nil:
	case remains == rnode.Target:
		root.back = nil // its owner reports when it is final
	default:
		p.hide(phalanx.Generation{})
		n.reportDrop(root.Object, root.Gen)
	}
	for _, f := range p.r.feeds {
		if f.open.child == p.key && f.place() == p {
			f.end(false, "its place was released")
		}
	}
	p.clear()
	p.giveBack()
	n.w.met["place released"]++
}
