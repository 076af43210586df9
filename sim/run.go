package sim

import (
	"container/heap"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// Config is what a run is determined by, and where its trace is written.
type Config struct {
	Seed  uint64
	Trace io.Writer // nil: nowhere
}

// Result is what became of a run.
type Result struct {
	Seed  uint64
	Steps int
	Time  time.Duration  // simulated
	Hash  uint64         // of the trace
	Met   map[string]int // how often each kind of event and rare path was met
	Err   error          // the invariant that was broken, or nil
}

// world is one run.
type world struct {
	seed    uint64
	rng     *rand.Rand
	now     time.Duration
	seq     uint64
	queue   queue
	weather weather
	shape   shape

	nodes  []*node // in the order in which they started
	byID   map[phalanx.NodeID]*node
	oracle *oracle
	audit  *audit
	leases map[uint64]bool // that were seen

	calls   []*call
	callSeq uint64
	open    int // calls that have not ended

	met   map[string]int
	trace trace
	steps int
}

// violation is the panic of a broken invariant.
type violation struct{ text string }

func (w *world) fail(format string, args ...any) { panic(violation{fmt.Sprintf(format, args...)}) }

func (w *world) sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// step notes that something has happened at n.
func (w *world) step(n *node, what string) {
	w.steps++
	w.trace.add(uint64(w.now))
	w.trace.text(string(n.id))
	w.trace.text(what)
	w.trace.add(uint64(len(n.client.pending))<<40 | uint64(len(n.table))<<20 | uint64(n.memory.used))
	if n.memory.used < 0 || n.memory.cap > 0 && n.memory.used > n.memory.cap {
		w.fail("%s has %d bytes reserved under a cap of %d", n.id, n.memory.used, n.memory.cap)
	}
}

// cycle looks at a cycle among upstreams. Leases that a new owner was told of
// can close one; the path in WAIT breaks it.
func (w *world) cycle(n *node, id phalanx.ObjectID, p directory.Picture) {
	if w.met["shard moved"] == 0 {
		w.fail("(5) %s has a cycle of %s: %+v", n.id, id, p)
	}
	w.met["cycle after a move"]++
}

// Run simulates one cluster from a seed to its end.
func Run(cfg Config) (res Result) {
	w := &world{seed: cfg.Seed, rng: rand.New(rand.NewPCG(cfg.Seed, 0x9e3779b97f4a7c15)), byID: map[phalanx.NodeID]*node{},
		leases: map[uint64]bool{}, met: map[string]int{}, trace: trace{hash: 14695981039346656037, out: cfg.Trace}}
	w.oracle = &oracle{w: w, objects: map[phalanx.ObjectID]*model{}}
	w.audit = newAudit(w)
	defer func() {
		res = Result{Seed: cfg.Seed, Steps: w.steps, Time: w.now, Hash: w.trace.hash, Met: w.met}
		switch r := recover().(type) {
		case nil:
		case violation:
			res.Err = fmt.Errorf("at %v, step %d: %s", w.now, w.steps, r.text)
		default:
			res.Err = fmt.Errorf("at %v, step %d: panic: %v\n%s", w.now, w.steps, r, debug.Stack())
		}
	}()
	w.shape = someShape(w.rng)
	w.trace.say(0, "", "seed %d: %+v", w.seed, w.shape)
	w.begin()
	w.weather = someWeather(w.rng)
	w.trace.say(w.now, "", "weather %+v", w.weather)
	w.plan()
	w.until(w.now+w.shape.length, func() bool { return false })
	w.weather = calm
	w.trace.say(w.now, "", "calm")
	w.finish()
	return res
}

// begin starts the first nodes and waits until each owner is warm.
func (w *world) begin() {
	w.weather = calm
	w.start()
	for range w.shape.nodes - 1 {
		w.until(w.now+time.Duration(w.rng.IntN(50))*time.Millisecond, func() bool { return false })
		w.start()
	}
	w.must(10*time.Second, "the first nodes are members", w.members)
}

func (w *world) members() bool {
	for _, n := range w.nodes {
		if !n.view.Has(n.id) {
			return false
		}
	}
	return true
}

// until lets time pass until then, or until done.
func (w *world) until(then time.Duration, done func() bool) bool {
	for n := 0; len(w.queue) > 0 && w.queue[0].at <= then; n++ {
		if n%16 == 0 && done() {
			return true
		}
		it := heap.Pop(&w.queue).(item)
		w.now = it.at
		it.do()
	}
	w.now = max(w.now, then)
	return done()
}

func (w *world) must(within time.Duration, what string, done func() bool) {
	if !w.until(w.now+within, done) {
		w.fail("(18, 19, 22) within %v after the faults stopped it does not come to this: %s%s", within, what, w.waiting())
	}
}

// waiting says what the calls that have not ended wait for.
func (w *world) waiting() string {
	var s string
	for _, c := range w.calls {
		if c.ended {
			continue
		}
		s += fmt.Sprintf("; call %d, %s of %s at %s", c.id, c.kind, c.object, c.node.id)
		if f := c.node.fetches[c.object]; f != nil && c.kind == "get" {
			node, why := f.core.Reason()
			s += fmt.Sprintf(" (%s %s)", node, why)
		}
	}
	return s
}

// finish checks that whatever can end ends, reads every object everywhere,
// deletes everything, and looks for what is left.
func (w *world) finish() {
	w.must(settled, "every node is a member", w.members)
	w.must(settled, "every call that can end has ended", w.allEnded)
	if w.shape.cap == 0 {
		w.readAll()
	}
	for _, c := range w.calls {
		if !c.ended {
			c.leave(errorf(phalanx.ErrDeadline, c.object, "the run is over"))
		}
	}
	for _, id := range w.objects() {
		w.delete(w.joined(), id)
	}
	w.must(settled, "everything is deleted", func() bool { return w.open == 0 })
	var left string
	if !w.until(w.now+settled, func() (ok bool) { left, ok = w.audit.nothingLeft(); return ok }) {
		w.fail("(23) %s", left)
	}
}

// allEnded reports whether only calls are open that wait for an object that
// nobody makes, or for room.
func (w *world) allEnded() bool {
	for _, c := range w.calls {
		if !c.ended && w.canEnd(c) {
			return false
		}
	}
	return true
}

func (w *world) canEnd(c *call) bool {
	if w.shape.cap > 0 && c.kind != "delete" {
		return false // others may keep all the room for ever
	}
	if c.kind == "get" {
		m := w.oracle.model(c.object)
		return m.final || m.deleted != 0
	}
	return c.kind != "reduce" || w.reduceCanEnd(c)
}

// reduceCanEnd reports whether enough sources are there, as in (19).
func (w *world) reduceCanEnd(c *call) bool {
	there := 0
	for _, id := range c.sources {
		if m := w.oracle.model(id); m.final && !m.began {
			there++
		}
	}
	return there >= c.num
}

// readAll gets every object at every node.
func (w *world) readAll() {
	var gets []*call
	for _, id := range w.objects() {
		for _, n := range w.nodes {
			gets = append(gets, w.get(n, id, false))
		}
	}
	w.must(settled, "every object can be read everywhere", func() bool {
		for _, c := range gets {
			if !c.ended {
				return false
			}
		}
		return true
	})
	for _, c := range gets {
		m := w.oracle.model(c.object)
		if m.final && m.deleted == 0 && !m.began && c.err != nil {
			w.fail("(18) get of %s at %s, which is final, ended: %v", c.object, c.node.id, c.err)
		}
		if m.gone != 0 && m.gone < c.began && (c.err == nil || c.err.Kind != phalanx.ErrDeleted) {
			w.fail("(12) get of %s at %s, which was deleted, ended: %v", c.object, c.node.id, c.err)
		}
	}
}
