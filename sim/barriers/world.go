package barriers

import (
	"cmp"
	"container/heap"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

const ms = time.Millisecond

// What the cluster around the cores does.
const (
	leaseFor   = 300 * ms
	leaseEvery = 50 * ms
	managers   = 3
)

// Config says what to simulate.
type Config struct {
	Seed  uint64
	Nodes int       // 0: as the seed has it
	Trace io.Writer // nil: nothing is written
	// Mistake is planted, so that it is seen whether it is found.
	Mistake Mistake
}

// cruel says that so many nodes die at once that all managers of a barrier may.
func (c Config) cruel() bool { return c.Seed%8 == 7 }

// event is something that happens at a time.
type event struct {
	at  time.Duration
	seq uint64
	do  func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(e[i].at, e[j].at), cmp.Compare(e[i].seq, e[j].seq)) < 0
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

// world is the whole cluster.
type world struct {
	cfg    Config
	r      *rand.Rand
	now    time.Duration
	queue  events
	seq    uint64
	nodes  []*node // all that ever were
	view   barrier.Viewed
	faulty bool // messages are dropped and doubled
	work   *workload
	check  *checker
	err    error
}

// node is one incarnation.
type node struct {
	id     phalanx.NodeID
	core   *barrier.Core
	offset time.Duration // of its clock
	knows  uint64        // the view
	dead   bool
	hangs  bool
	cut    bool
	inbox  []func() // what waits while it hangs
	tick   time.Duration
	idle   int // ticks in a row that changed nothing
}

func newWorld(cfg Config) *world {
	w := &world{cfg: cfg, r: rand.New(rand.NewPCG(cfg.Seed, 11))}
	w.check = newChecker(w)
	n := cfg.Nodes
	if n == 0 {
		n = 2 + w.r.IntN(6)
	}
	if cfg.cruel() {
		n += 4 // so that all managers of a barrier may be among those who die
	}
	for range n {
		w.join()
	}
	return w
}

// at has f done at a time.
func (w *world) at(t time.Duration, f func()) {
	w.seq++
	heap.Push(&w.queue, event{max(t, w.now), w.seq, f})
}

func (w *world) after(d time.Duration, f func()) { w.at(w.now+d, f) }

func (w *world) tracef(format string, args ...any) {
	if w.cfg.Trace != nil {
		fmt.Fprintf(w.cfg.Trace, "%10.3f "+format+"\n", append([]any{float64(w.now) / float64(ms)}, args...)...)
	}
}

// run goes on until a time, or until something is wrong.
func (w *world) run(until time.Duration) {
	for w.err == nil && len(w.queue) > 0 && w.queue[0].at <= until {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		e.do()
	}
	w.now = max(w.now, until)
}

// join adds a node.
func (w *world) join() *node {
	n := &node{id: phalanx.MakeNodeID(fmt.Sprint("n", len(w.nodes)), uint64(len(w.nodes)+1)), offset: time.Duration(w.r.IntN(1000)) * ms}
	n.core = barrier.NewCore(barrier.CoreConfig{Managers: managers, Attempts: uint64(len(w.nodes)) << 32})
	w.nodes = append(w.nodes, n)
	w.change(func(v *barrier.Viewed) { v.Members = append(v.Members, n.id) })
	w.renew(n)
	return n
}

// change decides a view, which every node learns at a time of its own.
func (w *world) change(f func(*barrier.Viewed)) {
	v := w.view
	v.Number++
	v.Members, v.Leaving = slices.Clone(v.Members), slices.Clone(v.Leaving)
	f(&v)
	w.view = v
	w.tracef("view %d: %v, leaving %v", v.Number, v.Members, v.Leaving)
	for _, n := range w.nodes {
		w.learn(n, v, time.Duration(w.r.IntN(20))*ms)
	}
}

// learn has a node learn a view, once it can be reached.
func (w *world) learn(n *node, v barrier.Viewed, in time.Duration) {
	w.after(in, func() {
		if n.dead || v.Number <= n.knows || !slices.Contains(v.Members, n.id) {
			return
		}
		if n.cut {
			w.learn(n, v, 50*ms)
			return
		}
		w.to(n, func() {
			if v.Number > n.knows {
				n.knows = v.Number
				v.Self = n.id
				w.step(n, v)
			}
		})
	})
}

// renew gives a node its lease, as long as it is a member and not cut off.
func (w *world) renew(n *node) {
	if n.dead {
		return
	}
	if slices.Contains(w.view.Members, n.id) && !n.cut && !n.hangs { // a lease answers what the node has said
		until := w.now + leaseFor + n.offset
		w.to(n, func() { w.step(n, barrier.Leased{Until: until}) })
	}
	w.after(leaseEvery, func() { w.renew(n) })
}

// to has a node do something, later if it hangs.
func (w *world) to(n *node, f func()) {
	if n.hangs {
		n.inbox = append(n.inbox, f)
		return
	}
	if !n.dead {
		f()
	}
}

// step gives a core an event, and carries out what it asks for.
func (w *world) step(n *node, e barrier.Event) {
	if w.err != nil {
		return
	}
	for _, o := range n.core.Step(w.now+n.offset, e) {
		switch o := o.(type) {
		case barrier.Send:
			w.deliver(n, o.To, w.cfg.Mistake.bend(o.Message))
		case barrier.Done:
			w.work.done(n, o)
		case barrier.GivenUp:
			w.work.givenUp(n, o)
		case barrier.Callback:
			w.after(time.Duration(w.r.IntN(5))*ms, func() {
				w.to(n, func() {
					w.step(n, barrier.Replied{Key: o.Key, Ask: o.Asked.Ask, Yes: o.Asked.Would, N: o.Asked.Suggest})
				})
			})
		default:
			w.check.saw(n, o)
		}
		w.check.holders()
	}
	w.wake(n)
}

// wake has the core ticked when it wants to be.
func (w *world) wake(n *node) {
	due, ok := n.core.Due()
	if !ok {
		return
	}
	at := max(due-n.offset, w.now)
	if at == w.now {
		if n.idle++; n.idle > 1000 {
			w.check.failf("%s wants to be ticked again and again", n.id)
		}
	} else {
		n.idle = 0
	}
	if n.tick != 0 && n.tick <= at && n.tick > w.now {
		return
	}
	n.tick = at
	w.at(at, func() {
		if n.tick == at {
			n.tick = 0
		}
		w.to(n, func() { w.step(n, barrier.Tick{}) })
	})
}

// deliver brings a message to a node, or does not.
func (w *world) deliver(from *node, to phalanx.NodeID, m barrier.Message) {
	i := slices.IndexFunc(w.nodes, func(n *node) bool { return n.id == to })
	if i < 0 {
		return
	}
	n := w.nodes[i]
	if r, ok := m.(barrier.Replicate); ok && w.cfg.Mistake == ActsAlone {
		w.after(0, func() {
			w.to(from, func() {
				w.step(from, barrier.Heard{From: to, Message: barrier.Confirm{Key: r.Key, Term: r.Term, Seq: r.Seq}})
			})
		})
		return
	}
	copies := 1
	if w.faulty {
		switch w.r.IntN(20) {
		case 0:
			copies = 0
		case 1:
			copies = 2
		}
	}
	if from.cut != n.cut || from.cut && from != n {
		copies = 0
	}
	w.tracef("%s -> %s %T%+v copies %d", from.id, to, m, m, copies)
	for range copies {
		delay := time.Duration(100+w.r.IntN(900)) * time.Microsecond
		if w.faulty && w.r.IntN(10) == 0 {
			delay = time.Duration(w.r.IntN(400)) * ms
		}
		w.after(delay, func() {
			w.to(n, func() { w.step(n, barrier.Heard{From: from.id, Message: m}) })
		})
	}
}

// live are the nodes that are members and do not hang.
func (w *world) live() []*node {
	var all []*node
	for _, n := range w.nodes {
		if !n.dead && !n.hangs && !n.cut && slices.Contains(w.view.Members, n.id) {
			all = append(all, n)
		}
	}
	return all
}
