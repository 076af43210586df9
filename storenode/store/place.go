package store

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/node/copies"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// placeKey names a place of one Reduce on this node.
type placeKey = rnode.Key

// Messages to a place.
type (
	ordered struct { // by a coordinator
		event reduce.PlaceEvent
		from  *actor.PID
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

// place hosts a rnode.Place: one position of a reduce tree, on the node that holds its source.
type place struct {
	env *Env
	key placeKey
	hub *Places

	run         *rnode.Place
	core        *reduce.Place // of run
	self        *actor.PID
	ctx         context.Context // of the actor's goroutines
	cancel      context.CancelFunc
	wakeup      actors.Wakeup
	coordinator *actor.PID

	source *placeSource
	edges  map[int]*edge // by position of the child
	out    *output
	root   *objectCopy // the target, at the root
	kept   bool        // the output and the target go on without the place
}

// Receive turns messages into events.
func (p *place) Receive(c actor.Context) {
	if p.wakeup.Due(c) {
		p.watchOp()
		p.step(c, rnode.PlaceTick{})
		p.wake(c)
		return
	}
	switch m := c.Message().(type) {
	case *actor.Started:
		p.self = c.Self()
		p.ctx, p.cancel = context.WithCancel(context.Background())
		p.edges = map[int]*edge{}
		p.run = rnode.NewPlace(p.env.Now(), rnode.PlaceConfig{Node: p.env.Self, Can: p.hub.ops.Has})
		p.core = p.run.Core()
		p.wake(c)
	case *actor.Stopping, *actor.Restarting:
		p.release(false)
		p.cancel()
		p.hub.forget(p.key, p.self) // also after a panic: the next command starts a new one
	case ordered:
		p.coordinator = m.from
		p.step(c, rnode.Ordered{Coordinator: keyOf(m.from), Event: m.event})
	case rnode.PlaceEvent:
		p.happens(m)
	case reduce.PlaceEvent:
		if _, ok := m.(reduce.SourceComplete); ok {
			p.fold() // a ring waits for it
		}
		p.do(m)
	case *actor.Terminated:
		p.step(c, rnode.CoordinatorEnded{Coordinator: keyOf(m.Who)})
	case opFailed:
		p.opFailed(m)
	case foldedBad:
		p.foldedBad(m)
	case outputBad:
		p.outputBad(m)
	case outputRoom:
		p.room(m)
	case missing:
		p.missing(m)
	case shrinkOutput:
		p.shrinkOutput()
	case givenUp:
		p.step(c, rnode.GivenUp{})
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

// wake has the next tick come when it is due.
func (p *place) wake(c actor.Context) {
	at, ok := p.run.Due()
	p.wakeup.Set(c, p.env.Now(), at, ok)
}

// step takes an event of the place's own.
func (p *place) step(c actor.Context, ev rnode.PlaceEvent) {
	for _, e := range p.run.Step(p.env.Now(), ev) {
		if _, ok := e.(rnode.WatchCoordinator); ok {
			c.Watch(p.coordinator)
			continue
		}
		p.carryOut(e)
	}
}

// do takes an event of the place's bytes.
func (p *place) do(ev reduce.PlaceEvent) { p.happens(rnode.Happened{Event: ev}) }

// happens takes an event that did not come from the coordinator.
func (p *place) happens(ev rnode.PlaceEvent) {
	for _, e := range p.run.Step(p.env.Now(), ev) {
		p.carryOut(e)
	}
}

// tell brings an event from another goroutine to the actor.
func (p *place) tell(ev reduce.PlaceEvent) { p.env.send(p.self, ev) }

func (p *place) carryOut(e rnode.PlaceEffect) {
	switch e := e.(type) {
	case rnode.Carry:
		p.carry(e.Effect)
	case rnode.Tell:
		p.hub.report(p.self, p.coordinator, p.key, e.Event)
	case rnode.ShowOutput:
		p.hub.show(p.key, p.self, p.out)
	case rnode.GiveOutput:
		p.giveOutput()
	case rnode.ShowTarget:
		p.showTarget(e)
	case rnode.HideTarget:
		p.env.Table.dropPart(p.root, &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrReset, Node: p.env.Self})
		p.root = nil
	case rnode.Announce:
		p.announce(e.Announce)
	case rnode.Gone:
		p.hub.forget(p.key, p.self)
		p.env.System.Root.Stop(p.self)
	}
}

func (p *place) carry(e reduce.PlaceEffect) {
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
	case reduce.Release:
		p.release(e.KeepTarget)
	}
}

// showTarget lets readers of the target read the output.
func (p *place) showTarget(e rnode.ShowTarget) {
	made := copies.Copy{Object: p.key.Target, Gen: e.Gen, Meta: p.out.meta, Origin: true}
	buf := p.out.sink.buffer // the root's position is for ever the root's: it never is a window
	if p.out.turning != nil {
		buf, made.Ring = p.out.turning.result, !e.Root
	}
	c := p.env.Table.newCopy(made, buf, nil)
	c.buffer.Retain()
	if _, ok := p.env.Table.showCopy(c); !ok {
		c.buffer.Release()
		return
	}
	p.env.send(p.env.StorePID, ownShown{p.key.Target})
	p.root = c
	p.happens(rnode.Shown{Gen: e.Gen})
	if p.out.turning == nil {
		c.buffer.Retain()
		go p.out.firstPiece(c.buffer)
	}
}

// announce tells the target's owner about the root's copy. If the target is final by now, or
// begun anew, the owner may not have known this node to tell it.
func (p *place) announce(a directory.Announce) {
	env, target := p.env, p.key.Target
	env.Directory.Request(target, env.Directory.Nums(1), a, func(_ phalanx.NodeID, r directory.Result) {
		final, why := copies.Announced(a.Gen, r)
		switch {
		case final:
			env.send(env.StorePID, originFinal{target, r.Gen, r.Meta, r.Digest})
		case why != copies.Stays:
			env.Table.dropObject(target, a.Gen, env.ended(why, r.Gen))
		}
	})
}

// release frees the place's output and source. A target that is kept stays in the table.
func (p *place) release(keepTarget bool) {
	if p.kept {
		return
	}
	remains := rnode.RemainsOf(keepTarget, p.out != nil && p.out.sink.ring != nil, p.root != nil && p.env.Table.isComplete(p.root))
	if remains == rnode.Circles {
		p.keepRing()
		return
	}
	for _, e := range p.edges {
		e.cancel()
	}
	clear(p.edges)
	p.hub.hide(p.key)
	if p.root != nil && remains == rnode.Nothing {
		p.env.Table.dropPart(p.root, &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrAborted, Node: p.env.Self})
		p.env.reportDrop(p.root.Object, p.root.Gen)
	}
	p.root = nil
	if p.out != nil {
		p.out.close(remains == rnode.Target)
		p.out = nil
	}
	p.closeSource()
}
