package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// coordinator hosts the run of one Reduce on a node.
type coordinator struct {
	n       *node
	target  phalanx.ObjectID
	cfg     reduce.Config
	within  time.Duration // the call's time; 0: the caller gives it up by itself
	run     *rnode.Run
	core    *reduce.Coordinator // of run
	memory  rnode.Memory
	call    *call
	ended   bool // the caller has its answer
	resumes bool // after a panic another instance continues this one's work
	tree    reduce.Tree
	placed  int
	trouble []int                     // places that lost their source: the next places may come out of order
	watched map[string]phalanx.NodeID // the nodes of the places' actors
	sender  phalanx.NodeID            // of the report in hand
	place   reader                    // the place that made this report
	name    string                    // of the coordinator's actor
	errs    bool                      // it will take a place for lost that runs
	folds   int                       // combinations of small sources that it has begun or given up
	apart   phalanx.NodeID            // orders to this node get lost
	breaks  bool                      // the actor panics as soon as it has asked the target's owner for another generation

	watchers []watcher // places that watch the actor
}

// watcher is the actor of a place on a node.
type watcher struct {
	on phalanx.NodeID
	reader
}

// someRequest draws a target with its sources and their number: the same for nearly all calls.
func (w *world) someRequest(r *rand.Rand) (target phalanx.ObjectID, sources []phalanx.ObjectID, num int) {
	t := r.IntN(targets)
	sources = sourcesOf(t)
	num = 1 + (t*7+int(w.seed%5))%len(sources)
	if r.IntN(10) == 0 {
		num = len(sources)
	}
	return targetID(t), sources, num
}

// sourcesOf returns the sources of the t-th target.
func sourcesOf(t int) (sources []phalanx.ObjectID) {
	for i := range numSources {
		if (t+i)%3 != 0 {
			sources = append(sources, sourceID(i))
		}
	}
	if t > 0 { // an earlier target is a source of this target
		sources = append(sources, targetID(t-1))
	}
	return sources
}

func (w *world) someReduce(r *rand.Rand, n *node) *call {
	target, sources, num := w.someRequest(r)
	return w.reduce(n, reduce.Config{Target: target, Sources: sources, Num: num, Degree: []int{0, 1, 2, num}[r.IntN(4)]}).call
}

// requestOf names the request of cfg.
func requestOf(cfg reduce.Config) phalanx.Digest { return digestOf(rnode.RequestText(cfg)) }

// reduce begins the Reduce of cfg.
func (w *world) reduce(n *node, cfg reduce.Config) *coordinator {
	target, sources, num := cfg.Target, cfg.Sources, cfg.Num
	c := w.call("reduce", n, target)
	co := &coordinator{n: n, target: target, call: c}
	if n.refused(c) {
		co.ended = true
		return co
	}
	cfg.Op, cfg.Node = phalanx.Sum, n.id
	cfg.Request = requestOf(cfg)
	cfg.InlineLimit, cfg.Latency, cfg.Bandwidth, cfg.Grain = w.shape.inline, time.Millisecond, 1e5, ringGrain
	cfg.Room = int64(w.shape.largest)
	if w.shape.cap > 0 {
		cfg.Room = w.shape.cap - n.memory.used()
	}
	n.reduces.instances++
	co.cfg, co.name = cfg, fmt.Sprintf("%s/%d", n.id, n.reduces.instances)
	own := rand.New(rand.NewPCG(w.seed, uint64(n.reduces.instances)<<32|0xa4093822))
	co.breaks, co.errs = own.IntN(4) == 0, w.shape.faults != faultless && own.IntN(8) == 0
	if own.IntN(4) == 0 {
		co.within = time.Millisecond + drawn(own, 3*time.Second)
		n.after(co.within+time.Second, func() { n.after(endsWithin, co.inTime) }) // the second does not count the time in which the node hung
	}
	n.reduces.coords = append(n.reduces.coords, co)
	c.sources, c.num = sources, num
	c.leave = func(err *phalanx.Error) { co.step(rnode.Canceled{Err: err}) }
	co.start()
	return co
}

// endsWithin is the longest time in which a Reduce whose time is over answers its caller.
const endsWithin = time.Second

// inTime checks (22) when the call's time is over.
func (c *coordinator) inTime() {
	if !c.call.ended {
		c.n.w.fail("(22) call %d, reduce of %s at %s, has not ended, and had %v", c.call.id, c.target, c.n.id, c.within)
	}
}

// start begins an instance.
func (c *coordinator) start() {
	c.run = rnode.New(c.n.clock(), rnode.Config{Config: c.cfg, Within: c.within}, &c.memory, c.n.reduces)
	c.core, c.watched = c.run.Core(), map[string]phalanx.NodeID{}
	c.step(rnode.Start{Leaving: c.n.reduces.leaving})
}

// panics replaces the instance.
func (c *coordinator) panics() {
	w := c.n.w
	w.met["coordinator restarted"]++
	c.step(rnode.Failed{})
	c.apart = ""
	c.folds++
	if c.resumes {
		w.met["coordinator resumed"]++
		for p := range c.tree.Len() {
			c.trouble = append(c.trouble, p)
		}
	}
	c.start()
}

// dies ends the actor, which has failed too often.
func (c *coordinator) dies() {
	c.n.w.met["coordinator failed too often"]++
	c.ended, c.call.excused = true, true
	c.step(rnode.Stopped{})
	c.over()
}

func (c *coordinator) tick() {
	if at, ok := c.run.Due(); ok && at <= c.n.clock() {
		c.step(rnode.Tick{})
	}
}

func (c *coordinator) step(ev rnode.Event) {
	c.attempt(ev)
	c.n.w.audit.contributions(c)
	if _, ok := ev.(rnode.Reported); ok && c.errs {
		c.misjudge()
	}
}

// misjudge has a coordinator hear, soon after its root runs, that the connection to a place below broke.
// Its orders to that place are lost for a while, and it panics as soon as it has had the target start
// over. The place and the root run on: the next instance has the same root make the target under another
// generation.
func (c *coordinator) misjudge() {
	places := c.core.Places()
	for _, p := range places {
		if p.Parent != 0 || p.Node == places[0].Node || p.State != "live" || !p.Acked || p.Held || places[0].State != "live" || !places[0].Acked {
			continue
		}
		key := placeKey{Target: c.target, Reduce: c.core.Reduce(), Place: p.Place}
		if at := c.n.w.byID[p.Node].reduces.places[key]; at != nil {
			c.errs = false
			c.n.after(c.n.w.draw(4*c.n.w.shape.pieceTime), func() {
				c.n.w.met["panic: coordinator that takes a place for lost"]++
				c.breaks, c.apart = true, p.Node
				c.n.after(time.Second, func() { c.apart = "" })
				c.placeEnded(at.reader().actor(p.Node), true)
				c.n.w.step(c.n, "misjudged")
			})
			return
		}
	}
}

// attempt carries an event out, and replaces the instance if it panics meanwhile.
func (c *coordinator) attempt(ev rnode.Event) {
	defer func() {
		switch failed := recover(); failed {
		case nil:
		case midStep:
			c.n.w.met["panic: coordinator in the midst of a step"]++
			c.panics()
		default:
			panic(failed)
		}
	}()
	c.run.Carry(c.n.clock(), ev, c.carryOut)
}

// midStep is the panic of a coordinator that has carried out a part of a step.
const midStep = "in the midst of a step"

func (c *coordinator) carryOut(e rnode.Effect) {
	n, w := c.n, c.n.w
	switch e := e.(type) {
	case rnode.Does:
		c.does(e.Effect)
	case rnode.Ask:
		n.client.ask(e.Num, c.target, e.Body, func(from phalanx.NodeID, r directory.Result) {
			c.met(e.Body, r)
			c.step(rnode.Answered{Num: e.Num, From: from, Result: r})
		})
		c.impatient(e.Num)
		if _, again := e.Body.(directory.Restart); again && c.breaks {
			c.breaks = false
			panic(midStep)
		}
	case rnode.Withdraw:
		n.client.ask(e.Num, c.target, e.Body, nil)
	case rnode.Watch:
		var last directory.Readiness
		n.client.watch(e.Num, e.Object, func(r directory.Readiness) {
			switch {
			case e.Object == c.target || last.Gen.IsZero():
			case r.State == directory.Lost && last.State != directory.Lost:
				w.met["source of a reduce lost"]++
			case last.Gen.Less(r.Gen):
				w.met["source of a reduce starts over"]++
			}
			last = r
			c.step(rnode.Told{Num: e.Num, Readiness: r})
		})
		if e.Object == c.target {
			c.impatient(e.Num)
		}
	case rnode.Forget:
		n.client.forget(e.Num)
	case rnode.Order:
		if e.To == c.apart {
			return
		}
		w.send(n.id, e.To, order{c.name, e.Order})
	case rnode.Join:
		w.met["reduce joins another"]++
		w.send(n.id, e.To, report{reader{placeKey: placeKey{Target: c.target, Reduce: e.Reduce, Place: 0}}, e.Joined})
	case rnode.WatchPlace:
		c.watched[e.Place] = c.sender
		if w.byID[c.sender].over {
			n.after(w.short(), func() { c.placeEnded(e.Place, true) })
			return
		}
		w.send(n.id, c.sender, watchPlace{c.place})
	case rnode.Combine:
		c.combine(e)
	case rnode.Answer:
		w.end(c.call, e.Err, e.Result.Gen, nil)
	case rnode.End:
		c.over()
	}
}

// over ends the actor and tells the places that watch it.
func (c *coordinator) over() {
	n := c.n
	n.reduces.coords = slices.DeleteFunc(n.reduces.coords, func(x *coordinator) bool { return x == c })
	for _, o := range c.watchers {
		n.w.send(n.id, o.on, coordinatorEnded{c.name, o.reader})
	}
}

func (c *coordinator) impatient(num uint64) {
	c.n.client.impatient(num, func(err *phalanx.Error) { c.step(rnode.Silent{Num: num, Err: err}) })
}

// met counts the paths that an owner's answer shows, and checks (14).
func (c *coordinator) met(asked directory.Body, r directory.Result) {
	w := c.n.w
	if _, begins := asked.(directory.Begin); !begins || r.Waiting || r.Kind != 0 {
		return
	}
	switch {
	case r.State == directory.Finished && len(r.Note) == 0:
		w.met["answer of a reduce lost with its shard"]++
		if w.audit.table[c.target.Shard(w.shape.shards)].LostAt == 0 {
			w.fail("(14) the recorded answer of %s is lost, and its shard is not", c.target)
		}
	case r.State == directory.Finished:
		w.met["reduce gets the recorded answer"]++
		if _, _, err := reduce.ReadNote(c.cfg.Sources, r.Note); err != nil {
			w.fail("the recorded answer of %s cannot be read: %v", c.target, err)
		}
	case r.Attached != "":
		w.met["reduce attaches to another"]++
	}
}

// does counts and checks an effect of the core.
func (c *coordinator) does(e reduce.Effect) {
	n, w := c.n, c.n.w
	if w.trace.out != nil {
		w.trace.say(w.now, string(n.id), "reduce %s: %T%+v", c.target, e, e)
	}
	switch e := e.(type) {
	case reduce.Remember:
		c.resumes, c.tree = true, reduce.NewTree(c.cfg.Num, max(1, e.Degree))
	case reduce.Command:
		if !n.view.Has(e.Node) {
			w.met["place ordered of no member"]++
		}
	case reduce.AskRuns:
		w.met["silent place asked whether it runs"]++
	case reduce.Restart:
		w.met["reduce restarts its target"]++
	case reduce.Finalise:
		w.oracle.finalises(c, e)
	case reduce.Result:
		c.ended = true
		w.oracle.reduced(c, e)
		w.opEnded(c.target, e.In, nil)
		if !c.cfg.Shared {
			w.reduced[c.target] = c.cfg
		}
	case reduce.Fail:
		c.ended = true
		w.opEnded(c.target, nil, e.Err)
		if e.Err.Kind == phalanx.ErrDeleted && e.Err.Object == c.target && !c.core.Reduce().IsZero() {
			w.met["target of a reduce is deleted"]++
		}
	case reduce.Notify:
		c.notice(e)
	}
}

// combine folds small sources beside the actor, and gets those that are missing, one after the other.
func (c *coordinator) combine(e rnode.Combine) {
	n := c.n
	c.folds++
	this := c.folds
	tell := func(done rnode.Combined) {
		n.after(n.w.draw(time.Millisecond), func() {
			if this == c.folds {
				c.step(done)
				n.w.step(n, "combined")
			}
		})
	}
	i := e.Missing()
	if i < 0 {
		n.w.met["reduce inline"]++
		tell(c.fold(e))
		return
	}
	n.w.met["small source is fetched"]++ // makers, and shards that were rebuilt, have small objects that are not inline
	got := n.w.get(n, e.Inputs[i].Source, false)
	n.w.bound(got, patience, phalanx.ErrDeadline)
	n.w.when(n, patience, func() bool { return got.ended || this != c.folds }, func() {
		switch {
		case this != c.folds || got.gone:
		case got.err != nil:
			tell(e.Unread(i, got.err))
		default:
			if failed, ok := e.Take(i, got.gen, got.bytes); !ok {
				tell(failed)
				return
			}
			c.combine(e)
		}
	})
}

// fold combines small sources that are all here.
func (c *coordinator) fold(e rnode.Combine) rnode.Combined {
	if i := c.n.w.refused(e.CombineInline); i >= 0 {
		return e.OpFailed(i, phalanx.ErrInvalid, c.n.w.badOp.text())
	}
	sum := make([]byte, len(e.Bytes[0]))
	for _, b := range e.Bytes {
		addTo(sum, b)
	}
	m := c.n.w.oracle.model(c.target)
	m.tried = append(m.tried, sum)
	return e.Made(sum, digestOf(sum))
}

// actorsAt returns the watched actors that run on a node.
func (c *coordinator) actorsAt(id phalanx.NodeID) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(c.watched)) {
		if c.watched[name] == id {
			names = append(names, name)
		}
	}
	return names
}

// placeEnded hears that the actor of a place has ended or, with broke, that the connection to its
// node broke. It reports whether the coordinator watched the actor.
func (c *coordinator) placeEnded(name string, broke bool) bool {
	if _, ok := c.watched[name]; !ok {
		return false
	}
	delete(c.watched, name)
	c.step(rnode.PlaceEnded{Place: name, Broke: broke})
	return true
}

// notice checks (10) and (11) on a note of the core.
func (c *coordinator) notice(e reduce.Notify) {
	w := c.n.w
	w.met["reduce: "+e.What.String()]++
	switch e.What {
	case reduce.NotePlaced:
		if !c.cfg.Shared && c.trouble == nil && c.tree.Len() > 0 && c.tree.Position(c.placed) != e.Place {
			w.fail("(11) source %d of %s, %s, is placed at %d and not at %d", c.placed, c.target, e.Source, e.Place, c.tree.Position(c.placed))
		}
		c.placed++
	case reduce.NoteMoved:
		c.trouble = append(c.trouble, e.Place)
	case reduce.NoteHeld:
	case reduce.NoteLost, reduce.NoteEmptied:
		if composed := strings.HasPrefix(string(e.Source), "t"); composed && e.What == reduce.NoteEmptied && e.Reason == reduce.LostReset {
			w.met["target starts over that streams into another reduce"]++
		}
		c.trouble = append(c.trouble, e.Place)
	case reduce.NoteCleared:
		if c.cfg.Shared || c.tree.Len() == 0 { // the coordinator replaces a ring by a tree before it orders any place
			return
		}
		for _, p := range e.Places {
			if !slices.ContainsFunc(c.trouble, func(q int) bool { return slices.Contains(c.tree.Ancestors(q), p) }) {
				w.fail("(10) place %d of %s is cleared after failures of places %v", p, c.target, c.trouble)
			}
		}
	}
}

// addTo adds b to sum; bytes wrap around.
func addTo(sum, b []byte) {
	for i := range b {
		sum[i] += b[i]
	}
}
