package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// shape is the size of a run, and the kinds of calls and faults in it.
type shape struct {
	nodes, joins int
	shards       int
	fanout       int
	inline       int64 // limit, bytes
	piece        int64
	pieceTime    time.Duration
	cap          int64 // 0: none
	objects      int
	largest      int
	vector       int // size of the sources of a reduce
	calls        int
	length       time.Duration // of the workload
	reduces      bool
	faults       faultiness
	troubles     int           // faults
	panics       int           // of actors, in addition
	presses      int           // for room
	rings        int           // AllReduces
	pairs        int           // owner and backup of a shard at once
	accusers     int           // nodes that wrongly report a wrong digest
	late         int           // faults that come long after the others
	over         time.Duration // applications begin to use services within this time
}

// faultiness says which faults a run has.
type faultiness uint8

const (
	faultless faultiness = iota
	bounded              // a fault waits until the cluster has repaired the last: every promise applies
	excessive            // faults come at the times drawn: only safety is promised
	crowded              // faults come at the times drawn, as long as the voters can decide
)

func (f faultiness) String() string {
	return [...]string{"faultless", "bounded", "excessive", "crowded"}[f]
}

func someShape(r *rand.Rand) shape {
	s := shape{
		nodes: 1 + r.IntN(4), joins: r.IntN(4), shards: 1 + r.IntN(4),
		inline: int64(r.IntN(3) * 12), piece: int64(4 + r.IntN(12)), pieceTime: time.Duration(1+r.IntN(5)) * time.Millisecond,
		objects: 1 + r.IntN(6), largest: 8 + r.IntN(120), calls: 5 + r.IntN(40), length: time.Duration(50+r.IntN(1500)) * time.Millisecond,
	}
	if r.IntN(4) == 0 {
		s.fanout = 2
	}
	if r.IntN(4) == 0 {
		s.cap = int64(s.largest) * int64(2+r.IntN(3))
	}
	s.reduces = r.IntN(2) == 0
	s.vector = 1 + r.IntN(s.largest)
	if s.reduces {
		s.calls += 15
		s.rings = r.IntN(3)
	}
	switch k := r.IntN(10); {
	case k < 2:
	case k < 8:
		s.faults = bounded
	default:
		s.faults = excessive
	}
	if s.faults != faultless {
		s.nodes = max(s.nodes, 2) + r.IntN(2) + 1
		s.joins = r.IntN(2)
		s.troubles = 1 + r.IntN(6)
		if s.reduces {
			s.panics = r.IntN(6)
		}
		s.length = time.Duration(500+r.IntN(3500)) * time.Millisecond
		s.calls += r.IntN(20)
	}
	if r.IntN(2) == 0 {
		s.presses = r.IntN(10)
	}
	if r.IntN(4) == 0 {
		s.accusers = 1 + r.IntN(4)
	}
	if s.faults == bounded && r.IntN(4) == 0 {
		s.pairs, s.nodes = 1, max(s.nodes, 5)
	}
	return s
}

// call is one call of an application.
type call struct {
	id      uint64
	kind    string
	node    *node
	object  phalanx.ObjectID
	began   time.Duration
	leave   func(*phalanx.Error) // ends the call from outside
	wait    bool                 // of a get: also for an object that does not exist yet
	ended   bool
	gone    bool               // its caller died with it
	pin     phalanx.Generation // the generation to keep and pin; zero: none
	excused bool               // an actor panicked
	copies  int                // of a put, and of an order to copy
	again   time.Duration      // when that order was repeated last
	err     *phalanx.Error
	gen     phalanx.Generation
	bytes   []byte

	sources []phalanx.ObjectID // of a reduce
	num     int
}

func (w *world) call(kind string, n *node, object phalanx.ObjectID) *call {
	w.callSeq++
	c := &call{id: w.callSeq, kind: kind, node: n, object: object, began: w.now}
	w.calls = append(w.calls, c)
	w.open++
	w.met[kind]++
	w.trace.say(w.now, string(n.id), "call %d: %s %s", c.id, kind, object)
	return c
}

// end gives a call its outcome.
func (w *world) end(c *call, err *phalanx.Error, g phalanx.Generation, bytes []byte) {
	if c.ended {
		w.fail("(22) call %d, %s of %s, ends twice", c.id, c.kind, c.object)
	}
	c.ended, c.err, c.gen, c.bytes = true, err, g, bytes
	w.open--
	if err == nil {
		w.met[c.kind+" ended well"]++
		w.trace.say(w.now, string(c.node.id), "call %d: %s %s ended with %v, %d bytes", c.id, c.kind, c.object, g, len(bytes))
	} else {
		w.met[c.kind+" ended: "+err.Kind.Error()]++
		w.trace.say(w.now, string(c.node.id), "call %d: %s %s ended: %v", c.id, c.kind, c.object, err)
	}
	w.oracle.ended(c)
	if t := c.node.whole(c.object); err == nil && c.kind == "get" && t != nil && t.Gen == g {
		c.node.read(t)
	}
}

// vanish forgets a call whose caller is gone.
func (w *world) vanish(c *call) {
	c.ended, c.gone = true, true
	w.open--
}

// bound ends a call after d, as its deadline or its caller would.
func (w *world) bound(c *call, d time.Duration, k phalanx.Kind) {
	again := c.again
	c.node.after(d, func() {
		switch {
		case c.ended:
		case c.again > again:
			w.bound(c, d-(w.now-c.again), k)
		default:
			c.leave(errorf(k, c.object, "after %v", d))
			w.step(c.node, "call left")
		}
	})
}

func (w *world) get(n *node, object phalanx.ObjectID, wait bool) *call {
	c := w.call("get", n, object)
	w.fetch(c, wait)
	return c
}

// fetch has the node of a call fetch its object.
func (w *world) fetch(c *call, wait bool) {
	n, object := c.node, c.object
	c.leave = func(err *phalanx.Error) {
		switch f := n.fetches[object]; {
		case f != nil && slices.Contains(f.callers, c):
			f.leave(c, err)
		case n.owns[object] != nil && slices.Contains(n.owns[object].calls, c):
			w.end(c, err, phalanx.Generation{}, nil)
		default:
			w.fail("(22) no actor works on call %d, get of %s at %s", c.id, object, n.id)
		}
	}
	c.wait = wait
	n.get(c)
}

func (w *world) put(n *node, object phalanx.ObjectID, plan putPlan) *call {
	c := w.call("put", n, object)
	c.copies = plan.copies
	w.oracle.model(object).tried = append(w.oracle.model(object).tried, plan.bytes)
	if n.refused(c) {
		return c
	}
	n.put(c, plan)
	for _, cr := range n.creates.Of(object) {
		if cr.call == c {
			c.leave = cr.leave
		}
	}
	return c
}

func (w *world) make(n *node, object phalanx.ObjectID, bytes []byte, restarts int, pace time.Duration) *call {
	c := w.call("make", n, object)
	if n.refused(c) {
		return c
	}
	n.make(c, bytes, restarts, pace)
	for _, m := range n.makers {
		if m.call == c {
			c.leave = m.leave
		}
	}
	return c
}

func (w *world) delete(n *node, object phalanx.ObjectID) *call {
	c := w.call("delete", n, object)
	m := w.oracle.model(object)
	m.ever, m.deletes = true, m.deletes+1
	c.leave = func(err *phalanx.Error) { w.end(c, err, phalanx.Generation{}, nil) }
	n.delete(c, directory.Delete{})
	return c
}

func (n *node) delete(c *call, d directory.Delete) {
	w, num := n.w, n.client.numbers()
	n.client.ask(num, c.object, d, func(_ phalanx.NodeID, r directory.Result) {
		next, follows := d.Then(r)
		switch {
		case c.ended:
		case r.Kind != 0:
			w.end(c, errorf(r.Kind, c.object, "%s", r.Text), phalanx.Generation{}, nil)
		case follows:
			n.delete(c, next)
		default:
			w.end(c, nil, r.Gen, nil)
		}
	})
	n.client.impatient(num, func(err *phalanx.Error) {
		if !c.ended {
			w.end(c, err, phalanx.Generation{}, nil)
		}
	})
}

// Sizes of a run that reduces.
const (
	numSources = 5
	targets    = 3
)

func sourceID(i int) phalanx.ObjectID { return phalanx.ObjectID(fmt.Sprintf("s%d", i)) }
func targetID(i int) phalanx.ObjectID { return phalanx.ObjectID(fmt.Sprintf("t%d", i)) }

// objects returns all ids of the run.
func (w *world) objects() []phalanx.ObjectID {
	var all []phalanx.ObjectID
	for i := range w.shape.objects {
		all = append(all, phalanx.ObjectID(fmt.Sprintf("o%d", i)))
	}
	for i := 0; w.shape.reduces && i < numSources; i++ {
		all = append(all, sourceID(i))
	}
	for i := 0; w.shape.reduces && i < targets; i++ {
		all = append(all, targetID(i))
	}
	for i := range w.shape.rings {
		all = append(all, targetID(targets+i))
		for k := range maxRing {
			all = append(all, ringSourceID(i, k))
		}
	}
	return all
}

// someObject returns one of the run's ids: a target, or a source of an AllReduce, only to read.
func (w *world) someObject(r *rand.Rand, read bool) phalanx.ObjectID {
	all := w.objects()
	if w.shape.reduces && !read {
		all = all[:len(all)-targets-w.shape.rings*(1+maxRing)]
	}
	return all[r.IntN(len(all))]
}

// metaOf describes size bytes of an object: sources are arrays.
func metaOf(object phalanx.ObjectID, size int) phalanx.Meta {
	m := phalanx.Meta{Size: int64(size)}
	if object[0] == 's' {
		m.DType = phalanx.Uint8
	}
	return m
}

// bytesOf returns variant v of the bytes that calls put under an id.
func (w *world) bytesOf(object phalanx.ObjectID, v int) []byte {
	r := rand.New(rand.NewPCG(w.seed, uint64(len(object))<<32|uint64(object[len(object)-1])<<8|uint64(v)))
	size := r.IntN(w.shape.largest + 1)
	if object[0] == 's' { // sources are of one size, with a few exceptions
		size = w.shape.vector
		if w.seed%16 == 0 && object == sourceID(1) {
			size++
		}
	}
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// joined returns a node that is in the cluster, nil if there is none.
func (w *world) joined(r *rand.Rand) *node {
	var all []*node
	for _, n := range w.alive() {
		if n.view.Has(n.id) && !n.host.hung {
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[r.IntN(len(all))]
}

func (w *world) draw(d time.Duration) time.Duration { return drawn(w.rng, d) }

func drawn(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d) + 1)) }

// patience is the deadline of most calls: a call that can end must end long before.
const patience = time.Hour

// someCall makes one call of a random kind at a random node.
func (w *world) someCall(r *rand.Rand) string {
	k := r.IntN(20)
	n, object := w.joined(r), w.someObject(r, k < 9 || k == 17)
	if n == nil {
		return "no node calls"
	}
	var c *call
	switch {
	case k < 9:
		c = w.get(n, object, r.IntN(4) > 0)
	case k < 14:
		plan := putPlan{bytes: w.bytesOf(object, r.IntN(5)/4), copies: 1, unknown: r.IntN(4) == 0, failAt: -1, pace: drawn(r, 20*time.Millisecond)}
		if r.IntN(8) == 0 {
			plan.failAt = r.IntN(w.shape.largest)
		}
		if r.IntN(4) == 0 && len(n.view.Members) >= 3 {
			plan.copies = 2
		}
		c = w.put(n, object, plan)
	case k < 17:
		c = w.make(n, object, w.bytesOf(object, 2), r.IntN(3), drawn(r, 20*time.Millisecond))
	case k < 18:
		if r.IntN(3) == 0 {
			c = w.delete(n, object)
		}
	default:
		if w.shape.reduces {
			c = w.someReduce(r, n)
		}
	}
	if c == nil {
		return "no node calls"
	}
	what := fmt.Sprintf("%s %s at %s", c.kind, c.object, n.id)
	if c.ended {
		return what
	}
	switch r.IntN(6) {
	case 0:
		w.bound(c, drawn(r, 100*time.Millisecond), phalanx.ErrCanceled)
	case 1:
		w.bound(c, drawn(r, 2*time.Second), phalanx.ErrDeadline)
	default:
		w.bound(c, patience, phalanx.ErrDeadline)
	}
	w.step(n, "call")
	return what
}
