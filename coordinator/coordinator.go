package coordinator

import (
	"context"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/messages"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/store"
)

// Coordinator hosts one attempt of a rnode.Run.
type Coordinator struct {
	env    *Env
	run    *run
	core   *rnode.Run
	self   *actor.PID
	wakeup actors.Wakeup
	cancel context.CancelFunc // of the last Combine; nil: there was none
	lost   string             // the cause of the last loss of a place
}

// run is the state that outlives the actor's instance.
type run struct {
	req      storenode.Reduce
	order    uint64 // among the node's runs
	shared   bool
	done     func(storenode.Reduced)
	once     sync.Once
	pid      *actor.PID // of the actor; for Close
	memory   rnode.Memory
	tree     *treeState
	replaced int
}

// answer gives the caller its answer, once: also Close has one.
func (r *run) answer(d storenode.Reduced) { r.once.Do(func() { r.done(d) }) }

// Receive turns messages into events.
func (c *Coordinator) Receive(ctx actor.Context) {
	if c.wakeup.Due(ctx) {
		c.step(ctx, rnode.Tick{})
		return
	}
	switch m := ctx.Message().(type) {
	case *actor.Started:
		c.start(ctx)
	case *actor.Stopping:
		c.step(ctx, rnode.Stopped{Closing: c.env.forget(c.run)})
		c.stopCombining()
	case *actor.Restarting:
		c.step(ctx, rnode.Failed{})
		c.stopCombining()
	case rnode.Event:
		c.step(ctx, m)
	case actors.Crash:
		panic(m)
	case *messages.PlaceReport:
		c.fromPlace(ctx, m)
	case *actor.Terminated:
		c.step(ctx, rnode.PlaceEnded{Place: nameOf(m.Who), Broke: m.Why == actor.TerminatedReason_AddressTerminated})
	}
}

func (c *Coordinator) start(ctx actor.Context) {
	c.self = ctx.Self()
	r := c.run.req
	latency, bandwidth, paths := c.env.Network()
	c.core = rnode.New(c.env.Now(), rnode.Config{Within: r.Deadline, Config: reduce.Config{Target: r.Target, Sources: r.Sources, Num: r.Num, Op: r.Op,
		Request: store.Fingerprint(r), Node: c.env.Store.Self, Room: c.env.Store.Free(), Shared: c.run.shared, Degree: r.Degree, Latency: latency,
		Bandwidth: bandwidth, Paths: paths, InlineLimit: c.env.Store.InlineLimit}}, &c.run.memory, around{c.env})
	c.step(ctx, rnode.Start{Leaving: c.env.leavers()})
}

// step takes an event, and has the next tick come when it is due.
func (c *Coordinator) step(ctx actor.Context, ev rnode.Event) {
	c.core.Carry(c.env.Now(), ev, func(e rnode.Effect) { c.carryOut(ctx, e) })
	switch ev.(type) {
	case rnode.Start, rnode.Tick: // no other event changes it
		at, ok := c.core.Due()
		c.wakeup.Set(ctx, c.env.Now(), at, ok)
	}
}

func (c *Coordinator) carryOut(ctx actor.Context, e rnode.Effect) {
	d := c.env.Store.Directory
	switch e := e.(type) {
	case rnode.Does:
		c.does(e.Effect)
	case rnode.Ask:
		d.Request(c.run.req.Target, e.Num, e.Body, func(owner phalanx.NodeID, r directory.Result) {
			c.tell(rnode.Answered{Num: e.Num, From: owner, Result: r})
		})
		c.impatient(e.Num)
	case rnode.Withdraw:
		d.Request(c.run.req.Target, e.Num, e.Body, func(phalanx.NodeID, directory.Result) {})
	case rnode.Watch:
		c.env.Watcher.Watch(e.Object, e.Num, func(r directory.Readiness) { c.tell(rnode.Told{Num: e.Num, Readiness: r}) })
		if e.Object == c.run.req.Target {
			c.impatient(e.Num)
		}
	case rnode.Forget:
		d.Forget(e.Num)
	case rnode.Order:
		if pid, ok := c.env.PlacesOn(e.To); ok {
			_, m := messages.OrderToProto(c.env.Store.Self, e.Order)
			ctx.Request(pid, m)
		}
	case rnode.Join:
		if pid, ok := c.env.PlacesOn(e.To); ok {
			ctx.Send(pid, messages.ReportToProto(messages.Report{Target: c.run.req.Target, Reduce: e.Reduce, Node: c.env.Store.Self, Event: e.Joined}))
		}
	case rnode.WatchPlace:
		ctx.Watch(ctx.Sender())
	case rnode.Combine:
		c.combine(e)
	case rnode.Answer:
		c.run.answer(answerOf(c.run.req.Target, e))
	case rnode.End:
		ctx.Stop(c.self)
	}
}

// tell brings an event from beside the actor to it. Numbers tell the core to which instance
// it belongs.
func (c *Coordinator) tell(ev rnode.Event) { c.env.Store.System.Root.Send(c.self, ev) }

func (c *Coordinator) impatient(num uint64) {
	c.env.Store.Directory.Impatient(num, func(err *phalanx.Error) { c.tell(rnode.Silent{Num: num, Err: err}) })
}

// fromPlace takes a report.
func (c *Coordinator) fromPlace(ctx actor.Context, m *messages.PlaceReport) {
	r, err := messages.ReportFromProto(m)
	if err != nil {
		c.env.Store.Log.WithError(err).Warn("a place's report cannot be read")
		return
	}
	ev := rnode.Reported{Target: r.Target, Reduce: r.Reduce, Event: r.Event}
	if ctx.Sender() != nil {
		ev.Place = nameOf(ctx.Sender())
	}
	c.step(ctx, ev)
}

func answerOf(target phalanx.ObjectID, a rnode.Answer) storenode.Reduced {
	if a.Err != nil {
		return storenode.Reduced{Target: target, Err: a.Err}
	}
	r := a.Result
	return storenode.Reduced{Target: target, Result: storenode.ReduceResult{Info: storenode.Info{Object: target, Gen: r.Gen, Meta: a.Meta, Digest: r.Digest}, In: r.In, Out: r.Out}}
}

// around is the node of a Run.
type around struct{ env *Env }

var _ rnode.Node = around{}

func (a around) Num() uint64  { return a.env.Store.Directory.Nums(1) }
func (a around) Shards() int  { return a.env.Store.Directory.Shards() }
func (a around) View() uint64 { return a.env.Store.Directory.View() }

func (a around) Member(n phalanx.NodeID) bool {
	_, ok := a.env.PlacesOn(n)
	return ok
}

func (a around) Whole(id phalanx.ObjectID) (phalanx.Generation, phalanx.Meta, bool) {
	h, ok := a.env.Store.Table.Whole(id)
	return h.Gen, h.Meta, ok
}

// nameOf names an actor. Its String would go by reflection.
func nameOf(pid *actor.PID) string { return pid.Address + "/" + pid.Id }
