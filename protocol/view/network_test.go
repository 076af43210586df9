package view

import (
	"container/heap"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
)

// network carries the effects of several cores to each other, one event at a
// time, in an order that depends on nothing but its seed.
type network struct {
	cfg     Config
	rng     *rand.Rand // nil: nothing is lost, every message takes the same time
	delay   time.Duration
	drop    float64
	dup     float64
	now     time.Duration
	seq     int
	queue   deliveries
	nodes   []*node // in the order of their coming
	cut     map[[2]phalanx.NodeID]bool
	sync    bool                                     // every Next says at once that it caught up
	byName  bool                                     // messages get to the last life of a node, as they go to its address
	swallow func(from phalanx.NodeID, e Effect) bool // nil: nothing besides
	onStep  func(n *node, ev Event, out []Effect)
}

type node struct {
	*Core
	id       phalanx.NodeID
	skew     time.Duration // of its clock
	dead     bool
	fenced   bool
	lease    time.Duration
	suspects []phalanx.NodeID // that its detector tells it of
	ticks    int              // how often its timer was set, if it ticks when it is due
	hungAt   time.Duration
	hung     bool                            // what comes is kept
	kept     []func(now time.Duration) Event // that came while it hung
	refuses  bool                            // dead, and its machine says so
	retired  bool                            // fenced, and its next life has begun
}

type delivery struct {
	at   time.Duration
	seq  int
	from phalanx.NodeID // "": the node itself
	to   phalanx.NodeID
	ev   func(now time.Duration) Event
}

type deliveries []delivery

func (d deliveries) Len() int { return len(d) }
func (d deliveries) Less(i, j int) bool {
	return d[i].at < d[j].at || d[i].at == d[j].at && d[i].seq < d[j].seq
}
func (d deliveries) Swap(i, j int) { d[i], d[j] = d[j], d[i] }
func (d *deliveries) Push(x any)   { *d = append(*d, x.(delivery)) }
func (d *deliveries) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}

func newNetwork(cfg Config) *network {
	return &network{cfg: cfg, delay: time.Millisecond, cut: map[[2]phalanx.NodeID]bool{}}
}

func (w *network) node(id phalanx.NodeID) *node {
	for _, n := range w.nodes {
		if n.id == id {
			return n
		}
	}
	return nil
}

func (w *network) add(id phalanx.NodeID) *node {
	cfg := w.cfg
	cfg.Self = Member{ID: id, Control: id.Name() + ":1", Data: id.Name() + ":2"}
	n := &node{Core: New(cfg), id: id}
	if w.rng != nil {
		n.skew = time.Duration(w.rng.Intn(1000)) * time.Second
	}
	w.nodes = append(w.nodes, n)
	w.at(w.now, n.id, func(now time.Duration) Event { return Tick{Now: now} })
	return n
}

func (w *network) boot(id phalanx.NodeID) {
	w.step(w.add(id), func(now time.Duration) Event { return Boot{Now: now} })
}

// join has id ask seed for the view, and to be added.
func (w *network) join(id, seed phalanx.NodeID) {
	n := w.add(id)
	view := w.node(seed).View()
	w.step(n, func(now time.Duration) Event { return Learn{From: seed, View: view, Now: now} })
	w.propose(id, add(n, view))
}

// add asks to let n in, in the place of the incarnation that v has.
func add(n *node, v View) AddMember {
	old, _ := v.Namesake(n.id)
	return AddMember{Member: n.cfg.Self, Replaces: old.ID}
}

func (w *network) propose(id phalanx.NodeID, cmd Command) {
	w.step(w.node(id), func(now time.Duration) Event { return Propose{Command: cmd, Now: now} })
}

func (w *network) want(id phalanx.NodeID) {
	w.step(w.node(id), func(now time.Duration) Event { return Want{Now: now} })
}

func (w *network) broken(at, peer phalanx.NodeID) {
	w.step(w.node(at), func(now time.Duration) Event { return PeerBroken{Node: peer, Now: now} })
}

func (w *network) at(at time.Duration, to phalanx.NodeID, ev func(time.Duration) Event) {
	w.seq++
	heap.Push(&w.queue, delivery{at: at, seq: w.seq, to: to, ev: ev})
}

// run delivers everything until d has passed.
func (w *network) run(d time.Duration) {
	end := w.now + d
	for len(w.queue) > 0 && w.queue[0].at <= end {
		next := heap.Pop(&w.queue).(delivery)
		w.now = next.at
		n := w.node(next.to)
		if w.byName && next.from != "" {
			n = w.last(next.to.Name())
		}
		switch {
		case n == nil || n.dead:
		case n.hung:
			n.kept = append(n.kept, next.ev)
		default:
			w.step(n, next.ev)
		}
	}
	w.now = end
}

// last returns the last life of a node.
func (w *network) last(name string) (last *node) {
	for _, n := range w.nodes {
		if n.id.Name() == name {
			last = n
		}
	}
	return last
}

// resume has n go on: all that came meanwhile is handled at once.
func (w *network) resume(n *node) {
	kept := n.kept
	n.hung, n.kept = false, nil
	for _, ev := range kept {
		w.step(n, ev)
	}
}

// lose drops half of what from has on its way to others.
func (w *network) lose(from phalanx.NodeID) {
	w.queue = slices.DeleteFunc(w.queue, func(d delivery) bool { return d.from == from && w.rng.Intn(2) == 0 })
	heap.Init(&w.queue)
}

func (w *network) step(n *node, make func(time.Duration) Event) {
	if n.dead {
		return
	}
	ev := make(w.now + n.skew)
	if ev == nil { // a timer that was set again
		return
	}
	if tick, ok := ev.(Tick); ok {
		tick.Suspects = n.suspects
		ev = tick
		if w.cfg.IdleAfter == 0 {
			w.at(w.now+10*time.Millisecond, n.id, func(now time.Duration) Event { return Tick{Now: now} })
		}
	}
	out := n.Step(ev)
	if w.cfg.IdleAfter > 0 {
		n.ticks++
		set := n.ticks
		w.at(max(n.Due()-n.skew, w.now+time.Millisecond), n.id, func(now time.Duration) Event {
			if n.ticks != set {
				return nil
			}
			return Tick{Now: now}
		})
	}
	for _, e := range out {
		w.carry(n, e)
	}
	if w.onStep != nil {
		w.onStep(n, ev, out)
	}
}

func (w *network) carry(n *node, e Effect) {
	if w.swallow != nil && w.swallow(n.id, e) {
		return
	}
	switch e := e.(type) {
	case Send:
		w.send(n.id, e.To, func(now time.Duration) Event { return Receive{From: n.id, Data: e.Data, Now: now} })
	case Push:
		w.send(n.id, e.To, func(now time.Duration) Event {
			return Learn{From: n.id, Term: e.Term, View: e.View, Now: now}
		})
	case SendBeat:
		w.sendBy(n.id, e.By, e.To, func(now time.Duration) Event { return HearBeat{From: n.id, Beat: e.Beat, Now: now} })
	case SendReply:
		w.send(n.id, e.To, func(now time.Duration) Event { return HearReply{From: n.id, Reply: e.Reply, Now: now} })
	case SendHalt:
		w.send(n.id, e.To, func(now time.Duration) Event { return HearHalt{From: n.id, Halt: e.Halt, Now: now} })
	case SendHalted:
		w.send(n.id, e.To, func(now time.Duration) Event { return HearHalted{From: n.id, Halted: e.Halted, Now: now} })
	case Forward:
		w.send(n.id, e.To, func(now time.Duration) Event {
			return Propose{From: n.id, Relayed: e.Relayed, Command: e.Command, Now: now}
		})
	case Lease:
		n.lease = e.Until
	case Fenced:
		n.fenced = true
	case Publish:
		if w.sync {
			w.caughtUp(n, e.View)
		}
	}
}

// caughtUp has n say that it has copied all that it was asked to.
func (w *network) caughtUp(n *node, v View) {
	var done InSync
	for i, s := range v.Shards {
		if s.Next == n.id {
			done.Shards = append(done.Shards, Synced{Shard: i, Epoch: s.Epoch, Node: n.id})
		}
	}
	if len(done.Shards) > 0 {
		w.at(w.now, n.id, func(now time.Duration) Event { return Propose{Command: done, Now: now} })
	}
}

// sendBy has by relay a message, if there is one and it gets it.
func (w *network) sendBy(from, by, to phalanx.NodeID, ev func(time.Duration) Event) {
	switch r := w.node(by); {
	case by == "":
		w.send(from, to, ev)
	case r != nil && !r.dead && !r.hung && !w.cut[[2]phalanx.NodeID{from, by}]:
		w.send(by, to, ev)
	}
}

func (w *network) send(from, to phalanx.NodeID, ev func(time.Duration) Event) {
	if w.cut[[2]phalanx.NodeID{from, to}] {
		return
	}
	send := func(after time.Duration) {
		w.seq++
		heap.Push(&w.queue, delivery{at: w.now + after, seq: w.seq, from: from, to: to, ev: ev})
	}
	if w.rng == nil {
		send(w.delay)
		return
	}
	for copies := 1 + w.chance(w.dup); copies > 0; copies-- {
		if w.chance(w.drop) == 0 {
			send(time.Duration(200+w.rng.Intn(4000)) * time.Microsecond)
		}
	}
}

func (w *network) chance(p float64) int {
	if w.rng.Float64() < p {
		return 1
	}
	return 0
}

// live returns the nodes that run and are not fenced.
func (w *network) live() []*node {
	return slices.DeleteFunc(slices.Clone(w.nodes), func(n *node) bool { return n.dead || n.fenced })
}

// newest returns the newest view among the live.
func (w *network) newest() View {
	var v View
	for _, n := range w.live() {
		if n.View().Number > v.Number {
			v = n.View()
		}
	}
	return v
}

// trace writes down the effects that keep says matter. Nodes to which the same
// happens at the same time share a line.
type trace struct {
	keep func(Effect) bool
	when []string
	who  []string
	what []string
}

func (t *trace) note(now time.Duration, who phalanx.NodeID, out []Effect) {
	for _, e := range out {
		if !t.keep(e) {
			continue
		}
		when := fmt.Sprintf("%.3f", now.Seconds())
		if i := len(t.what) - 1; i >= 0 && t.what[i] == e.String() && t.when[i] == when {
			t.who[i] += " " + string(who)
			continue
		}
		t.when, t.who, t.what = append(t.when, when), append(t.who, string(who)), append(t.what, e.String())
	}
}

func (t *trace) take() string {
	var b strings.Builder
	for i := range t.what {
		fmt.Fprintf(&b, "%s %s: %s\n", t.when[i], t.who[i], t.what[i])
	}
	*t = trace{keep: t.keep}
	return b.String()
}
