package storenode

import (
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// placeTick is how often a place's core hears of the time.
const placeTick = 50 * time.Millisecond

// placeKey names a place of one Reduce on this node.
type placeKey struct {
	target phalanx.ObjectID
	reduce phalanx.Generation
	place  int
}

// Messages to a place.
type (
	// placeEvent is an event of the coordinator, or of what runs beside the place.
	placeEvent struct {
		reduce.PlaceEvent
		coordinator *actor.PID // if it came from one
	}
	inspectPlace struct {
		attempt uint64
		answer  chan<- []reduce.Held // capacity 1
	}
	outputRoom struct { // the room of an output is reserved
		output *output
		err    error
	}
)

// place hosts a reduce.Place: one position of a reduce tree, on the node that
// holds its source.
type place struct {
	env *Env
	key placeKey
	hub *Places

	core        *reduce.Place
	self        *actor.PID
	ctx         context.Context // of what runs beside the actor
	cancel      context.CancelFunc
	beat        *actors.Ticker
	coordinator *actor.PID
	watched     time.Duration // when its end was asked about last

	source  *placeSource
	edges   map[int]*edge // by position of the child
	out     *output
	tight   bool // it was told to give its output up
	serving reduce.Serve
	root    *objectCopy // the target, at the root
	began   bool        // the target's first piece was announced
	kept    bool        // what it held goes on without it
}

// Receive turns messages into events.
func (p *place) Receive(c actor.Context) {
	if p.beat.Due(c) {
		p.watchOp()
		p.watch(c)
		p.do(reduce.PlaceTick{Now: p.env.Now()})
		return
	}
	switch m := c.Message().(type) {
	case *actor.Started:
		p.self = c.Self()
		p.ctx, p.cancel = context.WithCancel(context.Background())
		p.edges = map[int]*edge{}
		p.core = reduce.NewPlace(reduce.PlaceConfig{})
	case *actor.Stopping, *actor.Restarting:
		p.release(false)
		p.cancel()
		p.hub.forget(p.key, p.self) // also after a panic: the next command starts a new one
	case placeEvent:
		if m.coordinator != nil && !m.coordinator.Equal(p.coordinator) {
			p.coordinator, p.watched = m.coordinator, -watchEvery
			p.watch(c)
		}
		if cmd, ok := m.PlaceEvent.(reduce.Commanded); ok {
			m.PlaceEvent = p.able(cmd)
		}
		switch ev := m.PlaceEvent.(type) {
		case reduce.OutputDone:
			p.announceRing(ev.Gen)
		case reduce.SourceComplete:
			p.fold() // a ring waits for it
		}
		p.do(m.PlaceEvent)
		if _, ok := m.PlaceEvent.(reduce.Stopping); ok && !p.core.Runs() { // also one that has refused its command
			p.hub.forget(p.key, p.self)
			c.Stop(p.self)
		}
	case *actor.Terminated: // nobody wants the result any more
		if m.Who.Equal(p.coordinator) {
			p.hub.forget(p.key, p.self)
			c.Stop(p.self)
		}
	case opFailed:
		p.opFailed(m)
	case foldedBad:
		p.foldedBad(m)
	case outputRoom:
		p.room(m)
	case missing:
		p.missing(m)
	case tighten:
		p.tighten()
	case givenUp:
		if p.core.Expendable() {
			p.hub.forget(p.key, p.self)
			c.Stop(p.self) // the coordinator watches it
		}
	case actors.Crash:
		panic(m)
	case inspectPlace:
		p.do(reduce.Inspecting{Attempt: m.attempt})
		var held []reduce.Held
		if p.core.Runs() {
			held = append(held, p.core.Held())
		}
		m.answer <- held
	}
}

// watchEvery is how often a place asks whether its coordinator has ended: that it has
// is told once, and may get lost.
const watchEvery = 2 * time.Second

// watch has the place hear of the end of its coordinator, also of one that has ended
// before.
func (p *place) watch(c actor.Context) {
	if now := p.env.Now(); p.coordinator != nil && now-p.watched >= watchEvery {
		p.watched = now
		c.Watch(p.coordinator)
	}
}

// able says what keeps this node from carrying out a command.
func (p *place) able(cmd reduce.Commanded) reduce.Commanded {
	if s := cmd.State; s.Ring != 0 && (s.Ring < 2 || s.Place >= s.Ring || len(s.Children) != 1 || s.Meta.Size < int64(s.Ring)*reduce.RingGrain) {
		cmd.Unable, cmd.Text = phalanx.ErrInvalid, fmt.Sprintf("place %d of a ring of %d, with %d before it, for %d bytes", s.Place, s.Ring, len(s.Children), s.Meta.Size)
		return cmd
	}
	if !p.hub.ops.Has(cmd.State.Op, cmd.State.Meta.DType) {
		cmd.Unable, cmd.Text = phalanx.ErrUnknownOp, "the op "+string(cmd.State.Op)+" for "+cmd.State.Meta.DType.String()+" is not known on node "+string(p.env.Self)
	}
	return cmd
}

func (p *place) do(ev reduce.PlaceEvent) {
	for _, e := range p.core.Step(ev) {
		p.carryOut(e)
	}
}

// tell brings an event from beside the actor to it.
func (p *place) tell(ev reduce.PlaceEvent) { p.env.send(p.self, placeEvent{PlaceEvent: ev}) }

func (p *place) carryOut(e reduce.PlaceEffect) {
	switch e := e.(type) {
	case reduce.OpenSource:
		p.openSource(e)
	case reduce.CloseSource:
		p.closeSource()
	case reduce.OpenEdge:
		p.openEdge(e)
	case reduce.CloseEdge:
		p.closeEdge(e)
	case reduce.ResetOutput:
		p.resetOutput(e.Gen)
	case reduce.Combine:
		p.combine(e)
	case reduce.Serve:
		p.serve(e)
	case reduce.Release:
		p.release(e.KeepTarget)
		p.hub.forget(p.key, p.self)
		p.env.System.Root.Stop(p.self)
	case reduce.Report:
		if p.coordinator != nil {
			p.hub.report(p.self, p.coordinator, p.key, e.Event)
		}
	}
}

// serve lets the parent, or at the root everyone, read the output.
func (p *place) serve(s reduce.Serve) {
	p.serving = s
	p.show()
}

// show makes the output readable once both it and its readers are known.
func (p *place) show() {
	if p.out == nil || p.out.vessel.isZero() || p.out.given || p.out.gen != p.serving.Gen {
		return
	}
	if p.out.turning != nil {
		p.showRing()
		return
	}
	if !p.serving.Root {
		p.hub.show(p.key, p.self, p.out)
		return
	}
	if p.serving.TargetGen.IsZero() || p.root != nil && p.root.Gen == p.serving.TargetGen {
		return
	}
	buf := p.out.vessel.buffer // the root's position is for ever the root's: it never is a window
	buf.Retain()
	c, ok := p.env.Table.show(p.key.target, p.serving.TargetGen, p.out.meta, buf, true)
	if !ok {
		buf.Release()
		return
	}
	p.env.send(p.env.StorePID, ownShown{p.key.target})
	p.root, p.began = c, false
	p.announce(directory.Announce{Gen: c.Gen, Origin: true, Meta: p.out.meta})
	p.out.tellFirst()
}

// announce tells the target's owner about the root's copy. If the target is
// final by now the owner may not have known whom to tell.
func (p *place) announce(a directory.Announce) {
	env, target := p.env, p.key.target
	env.Directory.Request(target, env.Directory.Nums(1), a, func(_ phalanx.NodeID, r directory.Result) {
		if r.State == directory.Finished && r.Gen == a.Gen {
			env.send(env.StorePID, originFinal{target, r.Gen, r.Meta, r.Digest})
		}
	})
}

// release frees what the place holds. A target that is kept stays in the table.
func (p *place) release(keepTarget bool) {
	if p.kept {
		return
	}
	if keepTarget && p.out != nil && p.out.vessel.ring != nil {
		p.keepRing()
		return
	}
	for _, e := range p.edges {
		e.cancel()
	}
	clear(p.edges)
	p.hub.hide(p.key)
	whole := p.root != nil && p.env.Table.isComplete(p.root) // and stays, whatever becomes of the place
	if p.root != nil && !keepTarget && !whole {
		p.env.Table.drop(p.root, &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrAborted, Node: p.env.Self})
		p.env.reportDrop(p.root.Object, p.root.Gen) // its digest may be on the way to the owner, who would count on this copy
	}
	p.root = nil
	if p.out != nil {
		p.out.close(whole || keepTarget && p.serving.Root)
		p.out = nil
	}
	p.closeSource()
}
