package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// coordinator hosts the core of one Reduce.
type coordinator struct {
	n       *node
	target  phalanx.ObjectID
	cfg     reduce.Config
	core    *reduce.Coordinator
	call    *call
	survey  *survey
	asked   map[string]uint64  // requests about the target that were not answered
	ended   bool               // it has its answer
	number  uint64             // names the reduce among those of its node
	gen     phalanx.Generation // that the target was begun with
	known   *reduce.Remember
	inline  []byte // of the last CombineInline
	ticked  time.Duration
	tree    reduce.Tree
	placed  int
	watchAt time.Duration // when the target is to be watched; 0: not, or it is
	watch   uint64        // of the target; 0: there is none
	trouble []int         // places that lost their source: the next ones need not come in order
}

// someRequest is what is asked of a target: the same for all calls, or nearly.
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
	if t > 0 { // composed: an earlier target is a source of this one
		sources = append(sources, targetID(t-1))
	}
	return sources
}

func (w *world) someReduce(r *rand.Rand, n *node) *call {
	target, sources, num := w.someRequest(r)
	return w.reduce(n, reduce.Config{Target: target, Sources: sources, Num: num, Degree: []int{0, 1, 2, num}[r.IntN(4)]}).call
}

// reduce begins a Reduce of what cfg says.
func (w *world) reduce(n *node, cfg reduce.Config) *coordinator {
	target, sources, num := cfg.Target, cfg.Sources, cfg.Num
	c := w.call("reduce", n, target)
	co := &coordinator{n: n, target: target, call: c, asked: map[string]uint64{}}
	if n.refused(c) {
		co.ended = true
		return co
	}
	cfg.Op, cfg.Node, cfg.Attempt, cfg.Request = phalanx.Sum, n.id, 1, digestOf([]byte(fmt.Sprint(sources, num)))
	cfg.InlineLimit, cfg.Latency, cfg.Bandwidth, cfg.Grain = w.shape.inline, time.Millisecond, 1e5, ringGrain
	cfg.Room = int64(w.shape.largest)
	if w.shape.cap > 0 {
		cfg.Room = w.shape.cap - n.memory.used
	}
	co.cfg = cfg
	co.core = reduce.New(co.cfg)
	co.survey = newSurvey(co, sources)
	n.reduces.coords = append(n.reduces.coords, co)
	c.sources, c.num = sources, num
	c.leave = func(err *phalanx.Error) {
		w.end(c, err, phalanx.Generation{}, nil)
		co.step(reduce.Cancel{})
	}
	co.start()
	return co
}

func (c *coordinator) start() {
	c.step(reduce.Leaving{Nodes: c.n.reduces.leaving})
	if c.cfg.Shared {
		c.step(c.joining())
	}
	c.step(reduce.Start{Now: c.n.clock()})
}

// panics replaces the instance. What lies outside of it stays: the request, the
// attempt, and what it was to remember.
func (c *coordinator) panics() {
	w := c.n.w
	w.met["coordinator restarted"]++
	c.survey.end()
	c.unwatch()
	for key, num := range c.asked {
		c.n.client.forget(num)
		if key == "begin" { // it may be on its way
			c.n.client.ask(c.n.client.numbers(), c.target, directory.Cancel{Num: num}, nil)
		}
	}
	c.cfg.Attempt++
	c.core, c.asked, c.inline = reduce.New(c.cfg), map[string]uint64{}, nil
	c.survey = newSurvey(c, c.cfg.Sources)
	if c.known == nil {
		c.start()
		return
	}
	w.met["coordinator resumed"]++
	c.step(reduce.Leaving{Nodes: c.n.reduces.leaving})
	for p := range c.tree.Len() {
		c.trouble = append(c.trouble, p)
	}
	c.step(reduce.Resume{Now: c.n.clock(), Reduce: c.known.Reduce, Degree: c.known.Degree, Meta: c.known.Meta, Nodes: c.known.Nodes})
	for _, id := range c.known.Nodes {
		if !c.n.view.Has(id) {
			c.step(reduce.NodeGone{Node: id, Down: true})
		}
	}
}

func (c *coordinator) tick() {
	if c.n.w.now-c.ticked >= 50*time.Millisecond {
		c.ticked = c.n.w.now
		c.step(reduce.Tick{Now: c.n.clock()})
		c.watchTarget()
	}
}

// watchAfter is how long a reduce runs before its target is watched.
const watchAfter = 500 * time.Millisecond

// watchTarget has its owner tell when the target is deleted while sources are awaited.
func (c *coordinator) watchTarget() {
	if c.watchAt == 0 || c.n.w.now < c.watchAt || c.core.Ended() {
		return
	}
	c.watchAt, c.watch = 0, c.n.client.numbers()
	c.n.client.watch(c.watch, c.target)
}

func (c *coordinator) unwatch() {
	if c.watch != 0 {
		c.n.client.forget(c.watch)
	}
	c.watchAt, c.watch = 0, 0
}

// told hears of the target or of a source.
func (c *coordinator) told(r directory.Readiness) {
	if c.watch == 0 || r.Num != c.watch {
		c.survey.told(r)
		return
	}
	if r.Deleted(c.gen) {
		c.n.w.met["target of a reduce is deleted"]++
		c.step(reduce.TargetGone{Kind: phalanx.ErrDeleted, Text: "the object was deleted"})
	}
}

func (c *coordinator) step(ev reduce.Event) {
	if c.core.Ended() {
		return
	}
	for _, e := range c.core.Step(ev) {
		c.carryOut(e)
	}
	c.n.w.audit.contributions(c)
	if c.core.Ended() {
		c.survey.end()
		c.unwatch()
		if num := c.asked["begin"]; num != 0 { // it may be on its way, and bind what nobody would make
			c.n.client.cancel(num, c.target)
		}
		c.n.reduces.coords = slices.DeleteFunc(c.n.reduces.coords, func(x *coordinator) bool { return x == c })
	}
}

func (c *coordinator) carryOut(e reduce.Effect) {
	n, w := c.n, c.n.w
	if w.trace.out != nil {
		w.trace.say(w.now, string(n.id), "reduce %s: %T%+v", c.target, e, e)
	}
	switch e := e.(type) {
	case reduce.Begin:
		c.begin(e)
	case reduce.Join:
		w.met["reduce joins another"]++
		w.send(n.id, e.Node, report{reader{placeKey: placeKey{e.Target, e.Reduce, 0}}, c.joining()})
	case reduce.Watch:
		c.survey.begin()
	case reduce.Unwatch:
		c.survey.end()
	case reduce.Remember:
		c.known = &e
		c.tree = reduce.NewTree(c.cfg.Num, max(1, e.Degree))
	case reduce.Command:
		c.order(e.Node, e)
	case reduce.Stop:
		c.order(e.Node, e)
	case reduce.AskDelivered:
		c.order(e.Node, e)
	case reduce.AskRuns:
		w.met["silent place asked whether it runs"]++
		c.order(e.Node, e)
	case reduce.Inspect:
		c.order(e.Node, e)
	case reduce.CombineInline:
		c.combine(e)
	case reduce.Restart:
		w.met["reduce restarts its target"]++
		c.ask("restart "+e.From.String(), directory.Restart{Gen: e.From, Run: c.number}, func(r directory.Result) reduce.Event {
			if r.Kind != 0 {
				return reduce.RestartRefused{From: e.From, Kind: r.Kind, Text: r.Text}
			}
			return reduce.Restarted{From: e.From, Gen: r.Gen}
		})
	case reduce.Finalise:
		c.finalise(e)
	case reduce.Abort:
		c.ask("abort "+e.Gen.String(), directory.Abort{Gen: e.Gen, Run: c.number}, func(directory.Result) reduce.Event { return reduce.Aborted{} })
	case reduce.Result:
		c.result(e)
	case reduce.Fail:
		c.ended = true
		n.w.opEnded(c.target, nil, e.Err)
		if !c.call.ended {
			w.end(c.call, e.Err, phalanx.Generation{}, nil)
		}
	case reduce.Notify:
		c.notice(e)
	}
}

// order sends e to a node. One that was removed before this coordinator began, it
// has not heard of: an owner with an old view may still name it.
func (c *coordinator) order(to phalanx.NodeID, e reduce.Effect) {
	n := c.n
	if n.view.Has(to) {
		n.w.send(n.id, to, order{e})
		return
	}
	if _, command := e.(reduce.Command); command {
		n.w.met["place ordered of no member"]++
		n.after(0, func() { c.step(reduce.NodeGone{Node: to, Down: n.gone[to]}) })
	}
}

// ask sends a request about the target. What the core repeats is sent once: the
// client repeats it by itself.
func (c *coordinator) ask(key string, body directory.Body, event func(directory.Result) reduce.Event) {
	if c.asked[key] != 0 {
		return
	}
	num := c.n.client.numbers()
	c.asked[key] = num
	c.n.client.ask(num, c.target, body, func(_ phalanx.NodeID, r directory.Result) {
		if !r.Waiting {
			delete(c.asked, key)
			gaveUp := c.call.ended
			c.step(event(r))
			if gaveUp && key == "begin" { // maybe an earlier instance was told; now it is known what to release
				c.step(reduce.Cancel{})
			}
		}
	})
}

func (c *coordinator) begin(e reduce.Begin) {
	if c.number == 0 {
		c.number = c.n.client.numbers()
	}
	c.ask("begin", directory.Begin{Meta: phalanx.Meta{Size: phalanx.UnknownSize}, Maker: directory.ByReduce, Tag: c.cfg.Request.String(), Run: c.number, After: e.After}, func(r directory.Result) reduce.Event {
		switch {
		case r.Kind != 0:
			return reduce.Rejected{Kind: r.Kind, Text: r.Text, Gen: r.Gen, Deleted: r.Deleted}
		case r.State == directory.Finished && len(r.Note) == 0:
			c.n.w.met["answer of a reduce lost with its shard"]++
			if c.n.w.audit.table[c.target.Shard(c.n.w.shape.shards)].LostAt == 0 {
				c.n.w.fail("(14) the recorded answer of %s is lost, and its shard is not", c.target)
			}
			return reduce.Attached{Gen: r.Gen, Final: true, Size: r.Meta.Size, Digest: r.Digest}
		case r.State == directory.Finished:
			c.n.w.met["reduce gets the recorded answer"]++
			in, out, err := reduce.ReadNote(c.cfg.Sources, r.Note)
			if err != nil {
				c.n.w.fail("the recorded answer of %s cannot be read: %v", c.target, err)
			}
			return reduce.Attached{Gen: r.Gen, Final: true, In: in, Out: out, Size: r.Meta.Size, Digest: r.Digest}
		case r.Attached != "":
			c.n.w.met["reduce attaches to another"]++
			return reduce.Attached{Gen: r.Gen, Coordinator: r.Attached}
		}
		c.watchAt = c.n.w.now + watchAfter
		c.gen = r.Gen
		return reduce.Begun{Gen: r.Gen}
	})
}

func (c *coordinator) finalise(e reduce.Finalise) {
	c.n.w.oracle.finalises(c, e)
	note := reduce.Note(c.cfg.Sources, e.In)
	var body directory.Body = directory.Final{Gen: e.Gen, Meta: e.Meta, Digest: e.Digest, Note: note, At: e.At, View: c.n.view.Number}
	if e.Inline {
		body = directory.PutInline{Gen: e.Gen, Meta: e.Meta, Digest: e.Digest, Bytes: c.inline, Tag: c.cfg.Request.String(), Note: note}
	}
	c.ask("finalise "+e.Gen.String(), body, func(r directory.Result) reduce.Event {
		if r.Kind != 0 {
			return reduce.FinaliseRefused{Gen: e.Gen, Kind: r.Kind, Text: r.Text}
		}
		return reduce.Finalised{Gen: r.Gen}
	})
}

// combine folds small sources, whose bytes came with their readiness.
func (c *coordinator) combine(e reduce.CombineInline) {
	n := c.n
	n.w.met["reduce inline"]++
	var out []byte
	var ev reduce.Event
	for i, in := range e.Inputs {
		b, ok := c.survey.bytes(in.Source, in.Gen)
		if t := n.whole(in.Source); !ok && t != nil && t.Gen == in.Gen {
			b, ok = t.bytes, true
		}
		if !ok { // a shard that was rebuilt, and makers here, have small objects that are not inline
			n.w.met["small source is fetched"]++
			n.w.bound(n.w.get(n, in.Source, true), patience, phalanx.ErrDeadline)
			ev = reduce.InlineFailed{Seq: e.Seq, Source: in.Source, Kind: phalanx.ErrNotFound, Text: "its bytes are not with its owner"}
			break
		}
		if i == 0 {
			out = make([]byte, len(b))
		}
		addTo(out, b)
	}
	if source := n.w.refused(e); ev == nil && source != "" {
		ev = reduce.InlineFailed{Seq: e.Seq, Source: source, Op: true, Kind: phalanx.ErrInvalid, Text: n.w.badOp.text()}
	}
	if ev == nil {
		c.inline = out
		n.w.oracle.model(c.target).tried = append(n.w.oracle.model(c.target).tried, out)
		ev = reduce.InlineDone{Seq: e.Seq, Size: int64(len(out)), Digest: digestOf(out)}
	}
	n.after(n.w.draw(time.Millisecond), func() {
		c.step(ev)
		n.w.step(n, "combined")
	})
}

func (c *coordinator) result(e reduce.Result) {
	w := c.n.w
	c.ended = true
	w.oracle.reduced(c, e)
	w.opEnded(c.target, e.In, nil)
	if !c.cfg.Shared {
		w.reduced[c.target] = c.cfg
	}
	if !c.call.ended {
		w.end(c.call, nil, e.Gen, nil)
	}
}

// notice checks (10) and (11) on what the core says it does.
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
		if c.cfg.Shared || c.tree.Len() == 0 { // a ring makes room for a tree; no place was told anything yet
			return
		}
		for _, p := range e.Places {
			if !slices.ContainsFunc(c.trouble, func(q int) bool { return slices.Contains(c.tree.Ancestors(q), p) }) {
				w.fail("(10) place %d of %s is cleared after failures of places %v", p, c.target, c.trouble)
			}
		}
	}
}

// addTo adds b to sum, wrapping.
func addTo(sum, b []byte) {
	for i := range b {
		sum[i] += b[i]
	}
}
