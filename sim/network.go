package sim

import (
	"math/rand/v2"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// item is one thing that will happen.
type item struct {
	at  time.Duration
	seq uint64 // of two items at one time, the one that was planned first comes first
	do  func()
}

// queue is a binary heap of future items, the next one first. The code does not use container/heap,
// which allocates for each item.
type queue []item

func (q queue) less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}

func (q *queue) push(it item) {
	*q = append(*q, it)
	h := *q
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.less(i, up) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

func (q *queue) pop() item {
	h := *q
	first, last := h[0], len(h)-1
	h[0], h[last] = h[last], item{}
	h = h[:last]
	*q = h
	for i := 0; ; {
		next := 2*i + 1
		if next >= last {
			return first
		}
		if next+1 < last && h.less(next+1, next) {
			next++
		}
		if !h.less(next, i) {
			return first
		}
		h[i], h[next] = h[next], h[i]
		i = next
	}
}

// weather is the network's treatment of control messages and streams.
type weather struct {
	least, spread time.Duration // of a delay
	late          float64       // share of messages that take up to lateBy longer
	lateBy        time.Duration
	twice         float64 // share that arrives twice
	lost          float64 // share that does not arrive
	broken        float64 // share of pieces at which the stream breaks
	echo          float64 // share that arrives once more, much later
	flipped       float64 // share of pieces that arrive with a wrong bit
	slow          float64 // share of streams whose receiver is slow
}

// calm is the weather in which everything must come to an end.
var calm = weather{least: 50 * time.Microsecond, spread: 200 * time.Microsecond}

func someWeather(r *rand.Rand) weather {
	w := weather{least: 20 * time.Microsecond, spread: time.Duration(1+r.IntN(2000)) * time.Microsecond}
	if r.IntN(2) == 0 {
		w.late, w.lateBy = 0.1*r.Float64(), time.Duration(1+r.IntN(300))*time.Millisecond
	}
	if r.IntN(2) == 0 {
		w.twice = 0.2 * r.Float64()
	}
	if r.IntN(2) == 0 {
		w.echo = 0.05 * r.Float64()
	}
	if r.IntN(3) == 0 {
		w.lost = 0.1 * r.Float64()
	}
	if r.IntN(3) == 0 {
		w.broken = 0.05 * r.Float64()
	}
	if r.IntN(4) == 0 {
		w.flipped = 0.03 * r.Float64()
	}
	if r.IntN(4) == 0 {
		w.slow = 0.6 * r.Float64()
	}
	return w
}

// after runs do after d.
func (w *world) after(d time.Duration, do func()) {
	if len(w.queue) > mostSteps {
		w.fail("(22) the run has %d events to come, and their number grows%s", len(w.queue), w.waiting())
	}
	w.seq++
	w.queue.push(item{at: w.now + d, seq: w.seq, do: do})
}

func (w *world) chance(p float64) bool { return p > 0 && w.rng.Float64() < p }

func (w *world) delay() time.Duration {
	d := w.weather.least + time.Duration(w.rng.Int64N(int64(w.weather.spread)+1))
	if w.chance(w.weather.late) {
		d += time.Duration(w.rng.Int64N(int64(w.weather.lateBy) + 1))
	}
	return d
}

// send brings m to a node at some time, perhaps twice, if faults and the weather allow it. A
// message of a node to itself arrives once and in order.
func (w *world) send(from, to phalanx.NodeID, m any) {
	n := w.byID[to]
	if n == nil {
		w.fail("a message goes to %s, and no node has had this name", to)
	}
	w.overhear(from, to, m)
	if from == to {
		n.after(0, func() { n.receive(from, m) })
		return
	}
	decode := w.encode(from, to, m)
	deliver := func() { w.deliver(from, n, decode()) }
	if byAddress(m) {
		deliver = func() { w.deliverTo(from, n.host, decode()) }
	}
	w.weathered(deliver)
	if finishes(m) && w.chance(10*w.weather.echo) { // a late Final would do most harm
		w.met["final message repeated later"]++
		w.after(w.draw(3*time.Second), deliver)
	}
}

// finishes reports whether m asks the owner to make an object final.
func finishes(m any) bool {
	s, ok := m.(toShard)
	if !ok {
		return false
	}
	r, ok := s.ev.(directory.Request)
	if !ok {
		return false
	}
	_, ok = r.Body.(directory.Final)
	return ok
}

// sendTo brings m to the life that a machine runs when it arrives.
func (w *world) sendTo(from phalanx.NodeID, h *host, m any) {
	decode := w.encode(from, phalanx.NodeID(h.name), m)
	w.weathered(func() { w.deliverTo(from, h, decode()) })
}

// weathered calls deliver once, twice or never, as the weather is.
func (w *world) weathered(deliver func()) {
	if w.chance(w.weather.lost) {
		w.met["message lost"]++
		return
	}
	w.after(w.delay(), deliver)
	if w.chance(w.weather.twice) {
		w.met["message twice"]++
		w.after(w.delay(), deliver)
	}
	if w.chance(w.weather.echo) {
		w.met["message again much later"]++
		w.after(w.draw(3*time.Second), deliver)
	}
}

// byAddress reports whether m goes to an actor at an address, whichever life is there by then. All
// other messages go to one incarnation.
func byAddress(m any) bool {
	switch m := m.(type) {
	case toView, pushView, beat, reply, halt, halted, forward, accusation, joinAsk, order:
		return true
	case carried:
		return byAddress(m.message)
	}
	return false
}

func (w *world) deliverTo(from phalanx.NodeID, h *host, m any) {
	if h.life == nil {
		if h.hung {
			h.frozen = append(h.frozen, func() { w.deliverTo(from, h, m) })
		}
		return
	}
	w.deliver(from, h.life, m)
}

func (w *world) deliver(from phalanx.NodeID, n *node, m any) {
	if !w.linked(w.byID[from].host, n.host) {
		w.met["message cut off"]++
		return
	}
	switch {
	case n.host.slow > 0:
		n.after(0, func() { n.hear(from, m) })
	case n.host.hung:
		n.run(func() { n.hear(from, m) })
	case !n.over:
		n.hear(from, m)
	}
}

// hear takes a message. It refuses one of a removed sender unless it goes to an actor at an
// address.
func (n *node) hear(from phalanx.NodeID, m any) {
	if !byAddress(m) && n.gone[from] {
		n.w.met["message of a removed node refused"]++
		return
	}
	if !byAddress(m) || effect(n.id, m) != nil { // as in a node: of the actors only the view's reports arrivals
		n.overdue.Hear(from)
	}
	n.receive(from, m)
}

// pipe is one direction of a connection. Messages arrive in the order in which they were written,
// or the connection breaks. A cut only delays them.
type pipe struct {
	w       *world
	from    phalanx.NodeID
	to      phalanx.NodeID
	last    time.Duration // when the last message written arrives
	written []any
}

func (p *pipe) write(m any) {
	at := max(p.last, p.w.now+p.w.delay())
	p.last = at
	p.written = append(p.written, m)
	p.w.after(at-p.w.now, p.arrive)
}

// arrive delivers the next message.
func (p *pipe) arrive() {
	from, n := p.w.byID[p.from], p.w.byID[p.to]
	if !p.w.linked(from.host, n.host) || !p.w.linked(n.host, from.host) {
		if !n.over {
			p.w.after(20*time.Millisecond, p.arrive)
		}
		return
	}
	m := p.written[0]
	p.written = p.written[1:]
	n.run(func() {
		if !n.gone[p.from] {
			n.receive(p.from, m)
		}
	})
}

// short is a delay that no weather makes longer.
func (w *world) short() time.Duration {
	return calm.least + time.Duration(w.rng.Int64N(int64(calm.spread)))
}
