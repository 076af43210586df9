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
	asked   map[string]uint64 // requests about the target that were not answered
	ended   bool              // it has its answer
	number  uint64            // names the reduce among those of its node
	known   *reduce.Remember
	inline  []byte // of the last CombineInline
	ticked  time.Duration
	tree    reduce.Tree
	placed  int
	trouble []int // places that lost their source: the next ones need not come in order
}

// someRequest is what is asked of a target: the same for all calls, or nearly.
func (w *world) someRequest(r *rand.Rand) (target phalanx.ObjectID, sources []phalanx.ObjectID, num int) {
	t := r.IntN(targets)
	for i := range numSources {
		if (t+i)%3 != 0 {
			sources = append(sources, sourceID(i))
		}
	}
	if t > 0 { // composed: an earlier target is a source of this one
		sources = append(sources, targetID(t-1))
	}
	num = 1 + (t*7+int(w.seed%5))%len(sources)
	if r.IntN(10) == 0 {
		num = len(sources)
	}
	return targetID(t), sources, num
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
		c.begin()
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
		c.ask("abort "+e.Gen.String(), directory.Abort{Gen: e.Gen}, func(directory.Result) reduce.Event { return reduce.Aborted{} })
	case reduce.Result:
		c.result(e)
	case reduce.Fail:
		c.ended = true
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

func (c *coordinator) begin() {
	if c.number == 0 {
		c.number = c.n.client.numbers()
	}
	c.ask("begin", directory.Begin{Meta: phalanx.Meta{Size: phalanx.UnknownSize}, Maker: directory.ByReduce, Tag: c.cfg.Request.String(), Run: c.number}, func(r directory.Result) reduce.Event {
		switch {
		case r.Kind != 0:
			return reduce.Rejected{Kind: r.Kind, Text: r.Text}
		case r.State == directory.Finished:
			c.n.w.met["reduce gets the recorded answer"]++
			in, out := splitNote(r.Note)
			return reduce.Attached{Gen: r.Gen, Final: true, In: in, Out: out, Size: r.Meta.Size, Digest: r.Digest}
		case r.Attached != "":
			c.n.w.met["reduce attaches to another"]++
			return reduce.Attached{Gen: r.Gen, Coordinator: r.Attached}
		}
		return reduce.Begun{Gen: r.Gen}
	})
}

func (c *coordinator) finalise(e reduce.Finalise) {
	c.n.w.oracle.finalises(c, e)
	note := joinNote(e.In, e.Out)
	var body directory.Body = directory.Final{Gen: e.Gen, Meta: e.Meta, Digest: e.Digest, Note: note}
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
		if t := n.table[in.Source]; !ok && t != nil && t.gen == in.Gen {
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
	case reduce.NoteHeld:
	case reduce.NoteLost, reduce.NoteEmptied:
		c.trouble = append(c.trouble, e.Place)
	case reduce.NoteCleared:
		if c.cfg.Shared { // a ring makes room for a tree
			return
		}
		for _, p := range e.Places {
			if !slices.ContainsFunc(c.trouble, func(q int) bool { return slices.Contains(c.tree.Ancestors(q), p) }) {
				w.fail("(10) place %d of %s is cleared after failures of places %v", p, c.target, c.trouble)
			}
		}
	}
}

func joinNote(in, out []phalanx.ObjectID) []byte {
	var b strings.Builder
	for _, id := range in {
		b.WriteString("+" + string(id))
	}
	for _, id := range out {
		b.WriteString("-" + string(id))
	}
	return []byte(b.String())
}

func splitNote(note []byte) (in, out []phalanx.ObjectID) {
	for len(note) > 0 {
		end := 1
		for end < len(note) && note[end] != '+' && note[end] != '-' {
			end++
		}
		id := phalanx.ObjectID(note[1:end])
		if note[0] == '+' {
			in = append(in, id)
		} else {
			out = append(out, id)
		}
		note = note[end:]
	}
	return in, out
}

// addTo adds b to sum, wrapping.
func addTo(sum, b []byte) {
	for i := range b {
		sum[i] += b[i]
	}
}
