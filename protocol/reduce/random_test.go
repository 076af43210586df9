package reduce_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// rings counts the steps of rings.
var rings int

// chaos is a world in which anything can happen.
type chaos struct {
	*world
	t     *rapid.T
	kills int
	fresh int // nodes that were made
}

func (c *chaos) draw(n int) int { return rapid.IntRange(0, n-1).Draw(c.t, "i") }

func (c *chaos) one(in int) bool { return c.draw(in) == 0 }

func newChaos(t *rapid.T) *chaos {
	m := rapid.IntRange(1, 8).Draw(t, "sources")
	num := rapid.IntRange(1, m).Draw(t, "num")
	cfg := reduce.Config{Target: "T", Num: num, Op: phalanx.Sum, Node: "C", Attempt: 1,
		Degree: rapid.IntRange(1, 4).Draw(t, "degree")}
	for i := range m {
		cfg.Sources = append(cfg.Sources, phalanx.ObjectID(fmt.Sprintf("R%d", i+1)))
	}
	size := int64(4096)
	if rapid.IntRange(0, 2).Draw(t, "shared") == 0 {
		cfg.Shared, cfg.Degree, cfg.Num = true, 0, m
		cfg.Latency, cfg.Bandwidth = 100*time.Microsecond, 1e9
		size = int64(m) * reduce.RingGrain
	}
	if rapid.IntRange(0, 9).Draw(t, "inline") == 0 {
		cfg.InlineLimit = reduce.InlineLimit
	}
	c := &chaos{world: newWorld(t, cfg), t: t}
	for i, id := range cfg.Sources {
		c.src[id] = &object{id: id, value: 1 << (4 * i), size: size, gen: phalanx.Generation{Epoch: 1, Seq: 1}, target: i%2 == 1}
	}
	c.choose, c.tellsEnd = c.draw, true
	c.faulty = func() fault { return fault{drop: c.one(10), repeat: c.one(10)} }
	c.keep = func() bool { return c.one(2) }
	c.check = c.onlyAncestors
	return c
}

// onlyAncestors checks invariants 8 and 10 after a step:
// every source has one place at most, and exactly the ancestors of places that
// lost their source have a new label.
func (c *chaos) onlyAncestors(ev reduce.Event, before, after []reduce.PlaceInfo) {
	if err := c.c.Indexed(); err != nil {
		c.t.Fatalf("%T: %v", ev, err)
	}
	if len(after) > 0 && after[0].Ring {
		rings++
		if p := before; len(p) > 0 && !p[0].Ring && c.note != nil {
			c.t.Fatalf("%T: a tree becomes a ring\n%v\n%v", ev, before, after)
		}
	}
	placed := map[phalanx.ObjectID]int{}
	for _, p := range after {
		if p.Source == "" {
			continue
		}
		if q, ok := placed[p.Source]; ok {
			c.t.Fatalf("%T: %s is at places %d and %d", ev, p.Source, q, p.Place)
		}
		placed[p.Source] = p.Place
	}
	if len(before) != len(after) || len(before) > 0 && before[0].Ring {
		return // a ring begins again as a whole
	}
	clear := map[int]bool{}
	for i, p := range before {
		q := after[i]
		if p.State != "empty" && p.Since != q.Since {
			for a := p.Parent; a >= 0; a = after[a].Parent {
				clear[a] = true
			}
		}
	}
	for i, p := range before {
		q := after[i]
		if p.State != "live" || q.State != "live" || p.Since != q.Since {
			continue
		}
		if (p.Gen != q.Gen) != clear[i] {
			c.t.Fatalf("%T: place %d had %v and has %v, but an ancestor of a lost place: %v\n%v\n%v", ev, i, p.Gen, q.Gen, clear[i], before, after)
		}
	}
}

func (c *chaos) anySource() *object { return c.src[c.cfg.Sources[c.draw(len(c.cfg.Sources))]] }

func (c *chaos) freshNode() phalanx.NodeID {
	if c.fresh == 0 || c.one(2) {
		c.fresh++
	}
	id := phalanx.NodeID(fmt.Sprintf("N%d", 1+c.draw(c.fresh)))
	for c.node(id).dead {
		c.fresh++
		id = phalanx.NodeID(fmt.Sprintf("N%d", c.fresh))
	}
	return id
}

func (c *chaos) announce(o *object) {
	for _, r := range c.announcements(o) {
		c.push(r)
	}
}

// put creates a source, or makes another copy of a final one.
func (c *chaos) put(o *object) {
	if len(o.holders) > 0 && !o.final {
		return
	}
	n := c.freshNode()
	if slices.Contains(o.holders, n) {
		return
	}
	o.holders = append(o.holders, n)
	c.announce(o)
}

func (c *chaos) goOn(o *object) {
	switch {
	case len(o.holders) == 0:
	case !o.whole:
		o.whole = true
	case !o.final:
		o.final = true
		c.push(reduce.SourceFinal{Source: o.id, Gen: o.gen})
	}
}

// startOver gives a source that is not final another filling.
func (c *chaos) startOver(o *object) {
	if o.final || len(o.holders) == 0 {
		return
	}
	was := o.gen
	o.gen.Seq++
	o.value += 1 << 40
	o.whole = false
	if c.one(2) {
		c.push(reduce.SourceReset{Source: o.id, Gen: o.gen})
		c.announce(o)
	} else {
		o.holders = nil
		c.push(reduce.SourceGone{Source: o.id, Gen: was, Kind: phalanx.ErrAborted})
	}
	for _, r := range c.runs() {
		if st := r.core.State(); st.Source == o.id && c.one(2) {
			c.local(r.at, func() { c.place(r, reduce.SourceFailed{Gen: was, Text: "it starts over"}) })
		}
	}
}

func (c *chaos) killOne() {
	if c.kills > 5 || c.fresh == 0 {
		return
	}
	n := c.node(phalanx.NodeID(fmt.Sprintf("N%d", 1+c.draw(c.fresh))))
	if n.dead {
		return
	}
	c.kills++
	held := map[phalanx.ObjectID]bool{}
	for _, o := range c.src {
		held[o.id] = slices.Contains(o.holders, n.id)
	}
	c.kill(n)
	gone := func() { c.step(reduce.NodeGone{Node: n.id, Down: true}) }
	c.queue = append(c.queue, message{local: true, do: gone})
	if c.one(3) {
		c.queue = append(c.queue, message{local: true, do: gone})
	}
	for _, id := range c.cfg.Sources {
		o := c.src[id]
		if !held[id] {
			continue
		}
		c.push(reduce.HolderGone{Source: id, Node: n.id})
		switch {
		case len(o.holders) > 0:
		case o.final:
			c.push(reduce.SourceGone{Source: id, Gen: o.gen, Kind: phalanx.ErrLost})
		default:
			c.push(reduce.SourceGone{Source: id, Gen: o.gen, Kind: phalanx.ErrAborted})
			o.gen.Seq++
			o.value += 1 << 40
			o.whole = false
		}
	}
}

func (c *chaos) anyRun() *run {
	if all := c.runs(); len(all) > 0 {
		return all[c.draw(len(all))]
	}
	return nil
}

func (c *chaos) tickAll(d time.Duration) {
	c.now += d
	c.step(reduce.Tick{Now: c.now})
	for _, r := range c.runs() {
		c.place(r, reduce.PlaceTick{Now: c.now})
	}
	c.stream()
}

// gather has every source on a node of its own, which wants the target.
func (c *chaos) gather() {
	for i, id := range c.cfg.Sources {
		o := c.src[id]
		o.holders, o.whole, o.final = []phalanx.NodeID{phalanx.NodeID(fmt.Sprintf("N%d", i+1))}, true, true
		c.fresh = i + 1
		c.step(reduce.Joined{Node: o.holders[0], Has: c.announcements(o)})
	}
}

// joins has a node want the target, and tell what it has in full. It may be late.
func (c *chaos) joins() {
	if c.fresh == 0 {
		return
	}
	n := phalanx.NodeID(fmt.Sprintf("N%d", 1+c.draw(c.fresh)))
	j := reduce.Joined{Node: n}
	for _, id := range c.cfg.Sources {
		for _, r := range c.announcements(c.src[id]) {
			if r.Node == n && r.Final {
				j.Has = append(j.Has, r)
			}
		}
	}
	c.send("", func() { c.step(j) })
}

// act does one thing that can happen.
func (c *chaos) act() {
	switch k := c.draw(40); k {
	default:
		c.deliver()
	case 0, 1, 2, 3:
		c.put(c.anySource())
	case 4, 5, 6, 7:
		c.goOn(c.anySource())
	case 18, 19, 20, 21:
		if c.cfg.Shared {
			c.joins()
		}
	case 8:
		c.killOne()
	case 9:
		c.startOver(c.anySource())
	case 10: // an actor panics
		if r := c.anyRun(); r != nil {
			delete(r.at.places, r.pos)
			if c.draw(3) == 0 { // its end is told once, and that is lost
				return
			}
			lost := reduce.PlaceLost{Place: r.pos, Gen: r.core.State().Gen, Reason: reduce.LostPanic}
			c.queue = append(c.queue, message{local: true, do: func() { c.step(lost) }})
		}
	case 11: // a false suspicion
		if c.fresh > 0 {
			n := phalanx.NodeID(fmt.Sprintf("N%d", 1+c.draw(c.fresh)))
			c.queue = append(c.queue, message{local: true, do: func() { c.step(reduce.NodeGone{Node: n}) }})
		}
	case 12: // memory is needed: a kept stream is dropped
		if r := c.anyRun(); r != nil {
			for _, k := range r.core.State().Children {
				if _, ok := r.kept[k.Gen]; ok && !k.Gen.IsZero() {
					delete(r.kept, k.Gen)
					c.place(r, reduce.EdgeDropped{Child: k.Place, Gen: k.Gen})
				}
			}
		}
	case 13: // so is the output of a place that is neither leaf nor root
		if r := c.anyRun(); r != nil && r.out != nil && r.combine.Ring == 0 && len(r.combine.Inputs) > 1 && !r.core.State().Root {
			r.out, r.forgot = nil, true
		}
	case 14:
		c.announce(c.anySource())
	case 15:
		c.tickAll(time.Duration(1+c.draw(3000)) * time.Millisecond)
	case 16:
		if c.one(3) && c.answer == nil {
			c.resume()
		}
	case 17: // a connection breaks
		if r := c.anyRun(); r != nil {
			for s, e := range r.open {
				if len(r.open) == 1 {
					delete(r.open, s)
					c.local(r.at, func() { c.place(r, reduce.EdgeEnded{Child: e.Place, Gen: e.Gen, Stream: s, Text: "reset by peer"}) })
				}
			}
		}
	}
	c.stream()
}

// heal ends all faults, creates every source, and waits for the answer.
func (c *chaos) heal() {
	c.faulty = func() fault { return fault{} }
	c.choose = func(int) int { return 0 }
	for _, id := range c.cfg.Sources {
		o := c.src[id]
		if len(o.holders) == 0 {
			c.put(o)
		}
		c.goOn(o)
		c.goOn(o)
	}
	for range 100 {
		c.stream()
		c.pump()
		if c.answer != nil && c.c.Ended() && len(c.runs()) == 0 {
			break
		}
		c.tickAll(300 * time.Millisecond)
	}
}

// print logs the beginning of what happened to the last coordinator.
func (c *chaos) print() {
	for _, p := range c.history[:min(len(c.history), 80)] {
		c.t.Logf("%T%+v\n\t%s", p.ev, p.ev, p.effects)
	}
}

// verify checks the answer against the sources that it names.
func (c *chaos) verify() {
	res, ok := c.answer.(reduce.Result)
	if !ok {
		c.print()
		for _, r := range c.runs() {
			c.t.Logf("%s: %v; got %v, kept %v, open %v; %+v", r.at.id, r.core.State(), r.got, r.kept, r.open, r.core.Held().Delivered)
		}
		c.t.Fatalf("the answer is %v\n%s", c.answer, c.values())
	}
	if len(res.In) != c.cfg.Num || len(res.In)+len(res.Out) != len(c.cfg.Sources) {
		c.t.Fatalf("in: %v, out: %v", res.In, res.Out)
	}
	want := int64(0)
	for _, id := range res.In {
		want += c.src[id].value
	}
	if got := sumOf(res.Digest); got != want {
		c.print()
		c.t.Fatalf("the result of %v is %x, want %x", res.In, got, want)
	}
	if c.cfg.InlineLimit == 0 {
		tags := strings.Fields(c.known[c.served[res.Gen]].tags)
		slices.Sort(tags)
		var in []string
		for _, id := range res.In {
			in = append(in, fmt.Sprintf("%s@%v", id, c.src[id].gen))
		}
		slices.Sort(in)
		if !slices.Equal(tags, in) {
			c.print()
			c.t.Fatalf("the result is made of %v, reported are %v; %v shows %v", tags, in, res.Gen, c.served)
		}
	}
	if !c.c.Ended() || len(c.runs()) > 0 {
		c.print()
		c.t.Fatalf("it has ended: %v, and %d places run", c.c.Ended(), len(c.runs()))
	}
}

// replay tells a second coordinator the same, which must do the same.
func (c *chaos) replay() {
	again := reduce.New(c.cfg)
	for i, p := range c.history {
		if got := fmt.Sprint(again.Step(p.ev)); got != p.effects {
			c.t.Fatalf("event %d, %T%+v: did %s, then %s", i, p.ev, p.ev, p.effects, got)
		}
	}
}

// TestRandom lets sources come in any order, and nodes, places, messages and
// coordinators be lost: the result is the sum over exactly the sources that are
// reported (invariant 8), only ancestors are cleared (10), every label stands
// for one value (9), nothing is left (23), it ends (19), and a second run of
// the same events does the same.
func TestRandom(t *testing.T) {
	for range 10 { // times the 100 of rapid
		rapid.Check(t, chaosTest)
	}
	if rings == 0 {
		t.Error("there was no ring")
	}
}

func chaosTest(t *rapid.T) {
	c := newChaos(t)
	if c.cfg.Shared && c.one(2) {
		c.gather()
	}
	c.step(reduce.Start{})
	for range rapid.IntRange(0, 200).Draw(t, "steps") {
		c.act()
	}
	c.heal()
	c.verify()
	c.replay()
}
