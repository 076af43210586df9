package reduce_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// value is what a place made: the sum, and the inputs in the order in which
// they were combined.
type value struct {
	sum  int64
	tags string
}

func (v value) add(w value) value { return value{v.sum + w.sum, v.tags + w.tags} }

// A world is one Reduce: its coordinator, nodes with the places that they run,
// a directory, and the messages between them. Every byte of an object moves at
// once, as a value.
type world struct {
	t        fataler
	c        *reduce.Coordinator
	cfg      reduce.Config
	now      time.Duration
	nodes    map[phalanx.NodeID]*node
	src      map[phalanx.ObjectID]*object
	queue    []message
	rootGone bool                    // when the target is to become final, its root has ended
	tellsEnd bool                    // a node tells the owner that its root has ended
	ended    phalanx.Generation      // of the target, whose root has
	mute     bool                    // the directory does not answer
	hold     map[phalanx.NodeID]bool // messages to these nodes wait
	choose   func(n int) int         // which message is next
	faulty   func() fault            // of a message
	keep     func() bool             // whether a place keeps a stream or an output
	log      func(string, any)
	attempt  uint64                                    // of the last Begin
	gen      phalanx.Generation                        // of the target
	restarts map[phalanx.Generation]phalanx.Generation // answered
	final    *reduce.Finalise
	note     *reduce.Remember
	answer   reduce.Effect
	known    map[reduce.PlaceGen]value              // what each label stands for
	served   map[phalanx.Generation]reduce.PlaceGen // the label that each generation of the target shows
	inline   map[uint64]value
	history  []past // of the present coordinator
	check    func(ev reduce.Event, before, after []reduce.PlaceInfo)
}

type fataler interface {
	Fatalf(string, ...any)
	Helper()
}

// past is what a coordinator was told and what it did.
type past struct {
	ev      reduce.Event
	effects string
}

type fault struct{ drop, repeat bool }

type message struct {
	to    phalanx.NodeID // "" for the coordinator and the directory
	local bool           // not over the network
	push  bool           // of the directory: these stay in order
	do    func()
}

type object struct {
	id      phalanx.ObjectID
	value   int64
	gen     phalanx.Generation
	size    int64
	holders []phalanx.NodeID
	whole   bool // all its bytes are there
	final   bool
	gone    phalanx.Kind       // what has become of it; 0: nothing
	was     phalanx.Generation // that is gone
	target  bool               // another Reduce makes it
}

func (o *object) made() value {
	return value{o.value, fmt.Sprintf("%s@%v ", o.id, o.gen)}
}

type node struct {
	id     phalanx.NodeID
	dead   bool
	places map[int]*run
	floor  uint64
}

// run is the byte side of one place.
type run struct {
	at      *node
	core    *reduce.Place
	pos     int
	combine reduce.Combine
	open    map[uint64]reduce.OpenEdge
	since   map[uint64]time.Duration  // when it was opened
	got     map[reduce.PlaceGen]value // streams that went into the output
	kept    map[reduce.PlaceGen]value // streams apart
	out     *value
	forgot  bool // the output was made, and dropped
	told    bool // the core knows that the source is complete
}

func newWorld(t fataler, cfg reduce.Config) *world {
	w := &world{
		t: t, cfg: cfg, c: reduce.New(cfg), nodes: map[phalanx.NodeID]*node{}, src: map[phalanx.ObjectID]*object{},
		hold: map[phalanx.NodeID]bool{}, choose: func(int) int { return 0 }, faulty: func() fault { return fault{} },
		keep: func() bool { return true }, log: func(string, any) {}, gen: phalanx.Generation{Epoch: 1, Seq: 1},
		restarts: map[phalanx.Generation]phalanx.Generation{}, known: map[reduce.PlaceGen]value{},
		served: map[phalanx.Generation]reduce.PlaceGen{}, inline: map[uint64]value{},
		check: func(reduce.Event, []reduce.PlaceInfo, []reduce.PlaceInfo) {},
	}
	return w
}

func (w *world) node(id phalanx.NodeID) *node {
	n := w.nodes[id]
	if n == nil {
		n = &node{id: id, places: map[int]*run{}}
		w.nodes[id] = n
	}
	return n
}

func (w *world) send(to phalanx.NodeID, do func()) {
	f := w.faulty()
	if !f.drop {
		w.queue = append(w.queue, message{to: to, do: do})
	}
	if f.repeat {
		w.queue = append(w.queue, message{to: to, do: do})
	}
}

func (w *world) local(n *node, do func()) {
	w.queue = append(w.queue, message{to: n.id, local: true, do: do})
}

// push is a message of the directory, which repeats them until they arrive.
func (w *world) push(ev reduce.Event) {
	w.queue = append(w.queue, message{local: true, push: true, do: func() { w.step(ev) }})
}

// deliver handles one message, and reports whether there was one.
func (w *world) deliver() bool {
	var ready []int
	for i, m := range w.queue {
		if m.to == "" || m.local || !w.hold[m.to] {
			ready = append(ready, i)
		}
	}
	if len(ready) == 0 {
		return false
	}
	i := ready[w.choose(len(ready))]
	if w.queue[i].push {
		i = slices.IndexFunc(w.queue, func(m message) bool { return m.push })
	}
	m := w.queue[i]
	w.queue = slices.Delete(w.queue, i, i+1)
	if m.to == "" || !w.node(m.to).dead {
		m.do()
	}
	w.stream()
	return true
}

func (w *world) pump() {
	for w.deliver() {
	}
}

func (w *world) step(ev reduce.Event) {
	before := w.c.Places()
	effects := w.c.Step(ev)
	w.check(ev, before, w.c.Places())
	w.history = append(w.history, past{ev, fmt.Sprint(effects)})
	w.log("event", ev)
	for _, e := range effects {
		w.log("effect", e)
		w.carryOut(e)
	}
}

func (w *world) carryOut(e reduce.Effect) {
	switch e := e.(type) {
	case reduce.Begin:
		if w.mute {
			return
		}
		w.send("", func() { w.begin(e) })
	case reduce.Watch:
		s := reduce.Surveyed{}
		for _, id := range slices.Sorted(maps.Keys(w.src)) {
			s.Ready = append(s.Ready, w.announcements(w.src[id])...)
		}
		if s.Ready != nil {
			w.push(s)
		}
		for _, id := range slices.Sorted(maps.Keys(w.src)) {
			switch o := w.src[id]; {
			case len(o.holders) > 0:
			case o.final:
				w.push(reduce.SourceFinal{Source: id, Gen: o.gen})
			case o.gone == phalanx.ErrLost:
				w.push(reduce.SourceFinal{Source: id, Gen: o.was})
			case o.gone == phalanx.ErrDeleted:
				w.push(reduce.SourceMissing{Source: id, Gen: o.was, Kind: phalanx.ErrDeleted})
			default:
				w.push(reduce.SourceMissing{Source: id, Kind: phalanx.ErrAborted})
			}
		}
	case reduce.Remember:
		w.note = &e
	case reduce.Command:
		w.send(e.Node, func() { w.commanded(e) })
	case reduce.Stop:
		w.send(e.Node, func() {
			w.place(w.runAt(e.Node, e.Place), reduce.Stopping{Place: e.Place, Attempt: e.Attempt, Gen: e.Gen, Final: e.Final, TargetGen: e.TargetGen})
		})
	case reduce.AskDelivered:
		w.send(e.Node, func() {
			if r := w.node(e.Node).places[e.Parent]; r != nil {
				w.place(r, reduce.Asked{ParentGen: e.ParentGen, Child: e.Child, ChildGen: e.ChildGen})
			}
		})
	case reduce.AskRuns:
		w.send(e.Node, func() {
			if r := w.node(e.Node).places[e.Place]; r != nil {
				w.place(r, reduce.AskedRuns{Place: e.Place, Gen: e.Gen})
				return
			}
			w.push(reduce.PlaceLost{Place: e.Place, Gen: e.Gen, Reason: reduce.LostPanic, Text: "the place does not run any more"})
		})
	case reduce.Inspect:
		w.send(e.Node, func() { w.inspect(e) })
	case reduce.Restart:
		w.send("", func() { w.restart(e) })
	case reduce.Finalise:
		w.send("", func() { w.finalise(e) })
	case reduce.Abort:
		w.send("", func() { w.step(reduce.Aborted{}) })
	case reduce.CombineInline:
		w.combineInline(e)
	case reduce.Result, reduce.Fail:
		w.answer = e
	}
}

func (w *world) announcements(o *object) []reduce.Ready {
	var all []reduce.Ready
	for _, n := range o.holders {
		kind := reduce.Origin
		switch {
		case o.final:
			kind = reduce.Complete
		case o.target:
			kind = reduce.Target
		}
		all = append(all, reduce.Ready{Source: o.id, Node: n, Gen: o.gen, Meta: meta(o.size), Kind: kind, Final: o.final})
	}
	return all
}

func meta(size int64) phalanx.Meta { return phalanx.Meta{Size: size, DType: phalanx.Int64} }

func (w *world) begin(e reduce.Begin) {
	w.attempt = max(w.attempt, e.Attempt)
	if e.Attempt != w.cfg.Attempt { // the host gives an answer to the instance that has asked
		return
	}
	if f := w.final; f != nil {
		w.step(reduce.Attached{Gen: f.Gen, Final: true, In: f.In, Out: f.Out, Size: f.Meta.Size, Digest: f.Digest})
		return
	}
	w.step(reduce.Begun{Gen: w.gen})
}

func (w *world) restart(e reduce.Restart) {
	if e.Attempt < w.attempt {
		return
	}
	if w.final != nil && e.From == w.gen {
		w.t.Fatalf("%v starts over, and is final", e.From)
	}
	if w.restarts[e.From].IsZero() && e.From == w.gen {
		w.gen.Seq++
		w.restarts[e.From] = w.gen
	}
	if e.Attempt == w.cfg.Attempt {
		w.step(reduce.Restarted{From: e.From, Gen: w.restarts[e.From]})
	}
}

func (w *world) finalise(e reduce.Finalise) {
	if e.Attempt < w.attempt {
		return
	}
	if e.Gen != w.gen {
		w.step(reduce.FinaliseRefused{Gen: e.Gen, Kind: phalanx.ErrReset, Text: "superseded"})
		return
	}
	if e.At != "" && w.final == nil && (w.rootGone || w.ended == e.Gen || w.tellsEnd && !w.rootRuns(e)) {
		w.rootGone, w.ended = false, e.Gen
		w.step(reduce.FinaliseRefused{Gen: e.Gen, Kind: phalanx.ErrLost, Text: "it has ended"})
		return
	}
	if w.final == nil {
		w.final = &e
		for _, id := range e.In {
			if !w.src[id].final && w.src[id].gone == 0 {
				w.t.Fatalf("the target is final before its source %s", id)
			}
		}
	}
	w.step(reduce.Finalised{Gen: e.Gen})
}

func (w *world) combineInline(e reduce.CombineInline) {
	v := value{}
	for _, in := range e.Inputs {
		o := w.src[in.Source]
		if o.gen != in.Gen || !o.final {
			w.push(reduce.InlineFailed{Seq: e.Seq, Source: in.Source, Kind: phalanx.ErrNotFound, Text: "no copy"})
			return
		}
		v = v.add(o.made())
	}
	w.push(reduce.InlineDone{Seq: e.Seq, Size: e.Meta.Size, Digest: digest(v)})
}

// rootRuns reports whether the root's node has what is to become final.
func (w *world) rootRuns(e reduce.Finalise) bool {
	n := w.node(e.At)
	r := n.places[0]
	return n.dead || r != nil && r.core.Runs() && r.out != nil && r.core.State().TargetGen == e.Gen
}

// digest carries the sum, so that a test can tell what became final.
func digest(v value) (d phalanx.Digest) {
	binary.BigEndian.PutUint64(d[8:], uint64(v.sum))
	return d
}

func sumOf(d phalanx.Digest) int64 { return int64(binary.BigEndian.Uint64(d[8:])) }

func (w *world) inspect(e reduce.Inspect) {
	n := w.node(e.Node)
	n.floor = max(n.floor, e.Attempt)
	ev := reduce.Inspected{Node: e.Node, Attempt: e.Attempt, From: e.From}
	for _, pos := range slices.Sorted(maps.Keys(n.places)) {
		r := n.places[pos]
		w.place(r, reduce.Inspecting{Attempt: e.Attempt})
		switch {
		case pos < e.From || !r.core.Runs():
		case len(ev.Places) == 2 && ev.Next == 0: // as many as go into one answer
			ev.Next = pos
		case ev.Next == 0:
			ev.Places = append(ev.Places, r.core.Held())
		}
	}
	w.send("", func() { w.step(ev) })
}

// values prints what the places have made so far.
func (w *world) values() string {
	var b strings.Builder
	for _, p := range w.c.Places() {
		if p.State == "empty" {
			fmt.Fprintf(&b, "place %d: empty\n", p.Place)
			continue
		}
		fmt.Fprintf(&b, "place %d: %s at %s, %s", p.Place, p.Source, p.Node, p.State)
		if p.Held {
			b.WriteString(", delivered")
		}
		if r := w.node(p.Node).places[p.Place]; r != nil && p.State == "live" && r.core.Runs() {
			v, _ := w.partial(r)
			fmt.Fprintf(&b, ", has %d", v.sum)
			if r.out != nil {
				b.WriteString(" (all)")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// resume has a new coordinator take the place of the old one.
func (w *world) resume() {
	w.cfg.Attempt++
	w.c, w.history = reduce.New(w.cfg), nil
	w.queue = slices.DeleteFunc(w.queue, func(m message) bool { return m.push })
	var n reduce.Remember
	if w.note != nil {
		n = *w.note
	}
	w.step(reduce.Resume{Now: w.now, Reduce: n.Reduce, Degree: n.Degree, Meta: n.Meta, Nodes: n.Nodes})
	for _, id := range slices.Sorted(maps.Keys(w.nodes)) {
		if w.nodes[id].dead {
			w.step(reduce.NodeGone{Node: id, Down: true})
		}
	}
}

var _ fataler = (*testing.T)(nil)
