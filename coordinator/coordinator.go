package coordinator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode"
)

// tickEvery is how often a core hears of the time.
const tickEvery = 50 * time.Millisecond

// Coordinator hosts one reduce.Coordinator.
type Coordinator struct {
	env  *Env
	run  *run
	core *reduce.Coordinator
	self *actor.PID
	beat *actors.Ticker

	survey   *survey
	watches  *watches          // of the sources; nil: there are none
	watchAt  time.Duration     // when the target is to be watched; 0: it is not begun, or is watched
	nums     map[string]uint64 // of requests that are repeated with one number
	places   map[string]reduce.PlaceLost
	inline   []byte                           // the result of the last CombineInline
	cancel   context.CancelFunc               // of that; nil: there was none
	strange  map[phalanx.NodeID]time.Duration // nodes that were to get orders and are no members, since when
	seq      uint64
	lost     string         // what happened to the last place that was
	failed   *phalanx.Error // the answer, once the target was released
	patience time.Duration  // and at the latest then
}

// run is what outlives the actor's instance: the request, and what a restart
// needs to know.
type run struct {
	req      storenode.Reduce
	request  phalanx.Digest // of req
	order    uint64         // among the node's runs
	shared   bool
	began    time.Duration // by the first attempt
	done     func(storenode.Reduced)
	once     sync.Once
	pid      *actor.PID // of the actor; for Close
	attempt  uint64
	number   uint64             // of the run among this node's, the same for all attempts
	gen      phalanx.Generation // of the target, if it is bound to this run
	gaveUp   bool               // the caller was told that it failed
	remember *reduce.Remember
	watches  []uint64
	tree     *treeState
	replaced int
}

// answer gives the caller its answer, once, whichever instance has it.
func (r *run) answer(d storenode.Reduced) { r.once.Do(func() { r.done(d) }) }

// Receive turns messages into events.
func (c *Coordinator) Receive(ctx actor.Context) {
	if c.beat.Due(ctx) {
		c.giveUpStrangers(ctx)
		c.do(ctx, reduce.Tick{Now: c.env.Now()})
		c.watchTarget()
		return
	}
	switch m := ctx.Message().(type) {
	case *actor.Started:
		c.start(ctx)
	case *actor.Stopping:
		c.stop()
	case *actor.Restarting:
		c.release()
	case beside:
		if m.attempt == c.run.attempt {
			c.heard(ctx, m.message)
		}
	case reduce.NodeGone:
		c.do(ctx, m)
	case reduce.Leaving:
		c.do(ctx, m)
	case made:
		c.run.tree.meta = &m.Meta
		c.do(ctx, reduce.Made{Now: c.env.Now(), Gen: m.Gen, Size: m.Meta.Size, Digest: m.Digest})
	case actors.Crash:
		panic(m)
	case canceled:
		c.answer(storenode.ReduceResult{}, m.err)
		c.do(ctx, reduce.Cancel{})
	case *messages.PlaceReport:
		c.fromPlace(ctx, m)
	case *actor.Terminated:
		c.placeEnded(ctx, m)
	}
}

func (c *Coordinator) start(ctx actor.Context) {
	c.self = ctx.Self()
	c.nums, c.places, c.strange = map[string]uint64{}, map[string]reduce.PlaceLost{}, map[phalanx.NodeID]time.Duration{}
	r := c.run
	r.attempt++
	now := c.env.Now()
	if r.attempt == 1 {
		r.began, r.request = now, r.req.Fingerprint()
	}
	latency, bandwidth, paths := c.env.Network()
	c.core = reduce.New(reduce.Config{Target: r.req.Target, Sources: r.req.Sources, Num: r.req.Num, Op: r.req.Op, Request: r.request,
		Node: c.env.Store.Self, Room: c.env.Store.Free(), Attempt: r.attempt, Shared: r.shared, Degree: r.req.Degree, Latency: latency, Bandwidth: bandwidth, Paths: paths,
		InlineLimit: c.env.Store.InlineLimit, Deadline: r.began + r.req.Deadline})
	c.survey = newSurvey(r.req.Sources)
	c.do(ctx, reduce.Leaving{Nodes: c.env.leavers()})
	if r.remember == nil {
		if r.shared {
			c.do(ctx, c.joining())
		}
		c.do(ctx, reduce.Start{Now: now})
		return
	}
	c.do(ctx, reduce.Resume{Now: now, Reduce: r.remember.Reduce, Degree: r.remember.Degree, Meta: r.remember.Meta, Nodes: r.remember.Nodes})
	members := c.env.Store.Members()
	for _, n := range r.remember.Nodes {
		if !slices.Contains(members, n) {
			c.do(ctx, reduce.NodeGone{Node: n, Down: true})
		}
	}
}

// release ends what this instance has asked of the directory. What has not taken
// effect by now must not do so after the next instance has begun.
func (c *Coordinator) release() {
	c.unwatch()
	if c.cancel != nil {
		c.cancel()
	}
	d := c.env.Store.Directory
	for key, num := range c.nums {
		d.Forget(num)
		if key == askBegin { // it may be on its way, and bind what nobody would make
			d.Request(c.run.req.Target, d.Nums(1), directory.Cancel{Num: num}, func(phalanx.NodeID, directory.Result) {})
		}
	}
}

// stop ends the actor. If it has failed too often, its caller hears of it, and
// the target is given back: nobody else would.
func (c *Coordinator) stop() {
	c.release()
	closing := c.env.forget(c.run)
	if !c.core.Ended() && !closing && !c.run.gen.IsZero() {
		d := c.env.Store.Directory
		d.Request(c.run.req.Target, d.Nums(1), directory.Abort{Gen: c.run.gen, Run: c.run.number}, func(phalanx.NodeID, directory.Result) {})
	}
	if c.failed == nil {
		c.failed = &phalanx.Error{Node: c.env.Store.Self, Kind: phalanx.ErrInternal, Err: errors.New("the coordinator's actor failed")}
	}
	c.answer(storenode.ReduceResult{}, c.failed)
}

func (c *Coordinator) do(ctx actor.Context, ev reduce.Event) {
	for _, e := range c.core.Step(ev) {
		c.carryOut(ctx, e)
	}
	if c.failed != nil && (len(c.nums) == 0 || c.env.Now() > c.patience) {
		c.answer(storenode.ReduceResult{}, c.failed)
	}
	if c.core.Ended() {
		ctx.Stop(ctx.Self())
	}
}

func (c *Coordinator) carryOut(ctx actor.Context, e reduce.Effect) {
	switch e := e.(type) {
	case reduce.Begin:
		c.begin(e)
	case reduce.Join:
		c.join(e)
	case reduce.Watch:
		c.watch(e.Sources)
	case reduce.Unwatch:
		c.unwatch()
	case reduce.Remember:
		first := c.run.remember == nil
		c.run.remember = &e
		if !first { // only more nodes
			return
		}
		c.run.tree.planted(e.Degree)
		c.env.Store.Publish(actors.ReduceStarted{Target: c.run.req.Target, Sources: len(c.run.req.Sources), Num: c.run.req.Num, Degree: e.Degree})
	case reduce.Command:
		c.run.tree.command(e)
		c.order(ctx, e)
	case reduce.Stop:
		c.order(ctx, e)
	case reduce.AskDelivered:
		c.order(ctx, e)
	case reduce.AskRuns:
		c.order(ctx, e)
	case reduce.Inspect:
		c.order(ctx, e)
	case reduce.CombineInline:
		c.combineInline(e)
	case reduce.Restart:
		c.restart(e)
	case reduce.Finalise:
		c.finalise(e)
	case reduce.Abort:
		c.abort(e)
	case reduce.Result:
		c.run.tree.over = true
		c.env.Store.Publish(actors.ReduceCompleted{Target: c.run.req.Target, Generation: e.Gen, Num: len(e.In), Replaced: c.run.replaced, Took: c.env.Now() - c.run.began})
		c.result(e)
	case reduce.Fail:
		c.run.tree.over = true
		c.fail(e.Err)
	case reduce.Notify:
		c.notify(e)
	}
}

// releaseFor is how long a caller whose reduce cannot be done waits until its
// target is free again, so that it can ask for another one.
const releaseFor = time.Second

func (c *Coordinator) fail(err *phalanx.Error) {
	c.failed, c.patience = err, c.env.Now()+releaseFor
	if err.Kind == phalanx.ErrDeadline || err.Kind == phalanx.ErrCanceled {
		c.patience = 0
	}
}

func (c *Coordinator) result(e reduce.Result) {
	meta := phalanx.Meta{Size: e.Size}
	if m := c.run.tree.meta; m != nil {
		meta = *m
	}
	c.answer(storenode.ReduceResult{Info: storenode.Info{Object: c.run.req.Target, Gen: e.Gen, Meta: meta, Digest: e.Digest}, In: e.In, Out: e.Out}, nil)
}

// order sends an effect to the places of its node; reports come back.
func (c *Coordinator) order(ctx actor.Context, e reduce.Effect) {
	to, m := messages.OrderToProto(c.env.Store.Self, e)
	pid, ok := c.env.PlacesOn(to)
	if ok {
		delete(c.strange, to)
		ctx.Request(pid, m)
		return
	}
	if _, known := c.strange[to]; !known {
		c.strange[to] = c.env.Now()
	}
}

// join tells another node's coordinator that this node wants the target too, unless
// what it has is too small for a ring: then it gets the target as all do.
func (c *Coordinator) join(e reduce.Join) {
	j := c.joining()
	if r := c.run.req; len(j.Has) > 0 && !reduce.RingFits(len(r.Sources), r.Num, r.Degree, j.Has[0].Meta.Size, reduce.RingGrain) {
		return
	}
	if pid, ok := c.env.PlacesOn(e.Node); ok {
		c.env.Store.System.Root.Send(pid, messages.ReportToProto(messages.Report{Target: e.Target, Reduce: e.Reduce, Node: c.env.Store.Self, Event: j}))
	}
}

// joining says what this node has of the sources.
func (c *Coordinator) joining() reduce.Joined {
	j := reduce.Joined{Node: c.env.Store.Self}
	for _, id := range c.run.req.Sources {
		if h, ok := c.env.Store.Table.Whole(id); ok {
			j.Has = append(j.Has, reduce.Ready{Source: id, Node: j.Node, Gen: h.Gen, Meta: h.Meta, Kind: reduce.Complete, Final: true})
		}
	}
	return j
}

// strangeFor is how long a node may be unknown: the view here may be older than
// that of whoever told of it.
const strangeFor = 500 * time.Millisecond

// giveUpStrangers takes nodes for gone that are still no members: they left the
// view before this reduce heard of them, and nobody will tell of it again.
func (c *Coordinator) giveUpStrangers(ctx actor.Context) {
	for _, n := range slices.Sorted(maps.Keys(c.strange)) {
		if c.env.Now()-c.strange[n] < strangeFor {
			continue
		}
		delete(c.strange, n)
		if _, ok := c.env.PlacesOn(n); !ok {
			c.do(ctx, reduce.NodeGone{Node: n, Down: true})
		}
	}
}

// answer gives the caller its answer.
func (c *Coordinator) answer(r storenode.ReduceResult, err *phalanx.Error) {
	out := storenode.Reduced{Target: c.run.req.Target, Result: r}
	if err != nil {
		c.run.gaveUp = true
		e := *err
		e.Op = "reduce"
		if e.Object == "" {
			e.Object = c.run.req.Target
		}
		out.Err = &e
	}
	c.run.answer(out)
}

// fromPlace takes a report. The coordinator watches every place that has an
// actor: its end is how it learns that the place is lost.
func (c *Coordinator) fromPlace(ctx actor.Context, m *messages.PlaceReport) {
	r, err := messages.ReportFromProto(m)
	if err != nil {
		c.env.Store.Log.WithError(err).Warn("a place's report cannot be read")
		return
	}
	if j, ok := r.Event.(reduce.Joined); ok && r.Target == c.run.req.Target { // it may know of Begun before this node
		c.do(ctx, j)
		return
	}
	if r.Target != c.run.req.Target || r.Reduce != c.core.Reduce() {
		return
	}
	if a, ok := r.Event.(reduce.Acked); ok && ctx.Sender() != nil {
		if gen, ok := c.run.tree.genOf(a.Place, a.Node); ok {
			key := ctx.Sender().String()
			if _, known := c.places[key]; !known {
				ctx.Watch(ctx.Sender())
			}
			c.places[key] = reduce.PlaceLost{Place: a.Place, Gen: gen, Reason: reduce.LostPanic, Text: "the place's actor ended"}
		}
	}
	c.do(ctx, r.Event)
}

func (c *Coordinator) placeEnded(ctx actor.Context, m *actor.Terminated) {
	lost, ok := c.places[m.Who.String()]
	if !ok {
		return
	}
	delete(c.places, m.Who.String())
	if m.Why == actor.TerminatedReason_AddressTerminated {
		lost.Reason, lost.Text = reduce.LostSuspected, "the connection to its node broke"
	}
	c.do(ctx, lost)
}

// notify publishes what recovery does.
func (c *Coordinator) notify(n reduce.Notify) {
	target, publish := c.run.req.Target, c.env.Store.Publish
	switch n.What {
	case reduce.NotePlaced, reduce.NoteMoved:
		c.run.tree.place(n)
	case reduce.NoteLost, reduce.NoteEmptied:
		c.run.tree.lost(n, c.env.Now())
		cause := n.Reason.String()
		if n.Text != "" {
			cause += ", " + n.Text
		}
		c.lost = fmt.Sprintf("place %d was lost, %s", n.Place, cause)
		if n.Reason == reduce.LostUnheld { // it was told of when it died
			return
		}
		publish(actors.PlaceLost{Target: target, Place: n.Place, Node: n.Node, Source: n.Source, Cause: cause})
	case reduce.NoteReplaced:
		c.run.replaced++
		publish(actors.PlaceReplaced{Target: target, Place: n.Place, Node: n.Node, Source: n.Source, Took: c.run.tree.since(n.Place, c.env.Now())})
		c.run.tree.place(n)
	case reduce.NoteCleared:
		publish(actors.AncestorsCleared{Target: target, Cleared: n.Places, Cause: c.lost})
	}
}
