package barrier

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	repl "github.com/phalanx-go/phalanx/protocol/replica"
)

// finding is the knowledge of a member.
type finding struct {
	from     phalanx.NodeID
	replicas []Held
	reached  []Reached
	held     Held // a replica whose pieces have not all come
	pieces   repl.Pieces
}

// tale is a member's answer to a primary that gathers.
type tale struct {
	keys   []Key    // whose replicas are not in the parts before this one
	groups []Key    // and whose participants are not
	item   int      // of the first of keys, the pieces before it have been given
	turn   uint64   // of the first of groups, the participants up to it
	last   Gathered // the part
}

// ready reports whether this node may act as the barrier's primary. It begins to
// gather the knowledge that it needs for that.
func (c *Core) ready(k Key) bool {
	if c.primary(k) != c.view.Self {
		return false
	}
	c.lead()
	return c.gathering.Done()
}

// leadSoon has a node that is new, or whose actor is, gather although nobody asks: it may be the primary
// of barriers that have fired, which no participant asks about, and their other managers may be gone
// before somebody does. When many nodes join, views come close together.
func (c *Core) leadSoon() {
	if c.ignorant && c.now >= c.leadAt() {
		c.lead()
	}
}

func (c *Core) leadAt() time.Duration { return c.since + c.cfg.Resend }

// lead begins to gather, unless it has.
func (c *Core) lead() {
	g := &c.gathering
	if g.Begun() {
		return
	}
	c.terms.Lead()
	g.Begin(c.now, c.terms.Term, c.view.Self, c.view.Members)
	own := finding{from: c.view.Self}
	own.replicas, own.reached = c.known()
	c.found = []finding{own}
	c.askMembers()
	if g.Done() {
		c.install()
	}
}

// known is this node's own knowledge of the barriers whose primary it is.
func (c *Core) known() (replicas []Held, reached []Reached) {
	for _, k := range c.keys() {
		if r := c.replicas[k]; c.primary(k) == c.view.Self {
			h := r.held(c.now)
			h.Config, h.State = r.b.cfg, r.b.State.Clone()
			replicas = append(replicas, h)
		}
	}
	for _, k := range sorted(c.groups) {
		if c.primary(k) == c.view.Self {
			if m, some := c.groups[k].outstanding(true, c.now); some {
				reached = append(reached, m)
			}
		}
	}
	return replicas, reached
}

func (r *replica) held(now time.Duration) Held {
	return Held{Key: r.key, Primary: r.Primary, Term: r.Term, Seq: r.Seq, Total: r.b.State.items(), Age: now - r.touched}
}

func (h *Held) version() repl.Version { return repl.Version{Term: h.Term, Seq: h.Seq} }

// askMembers asks the members that are due, for the first time or again.
func (c *Core) askMembers() {
	for _, m := range c.gathering.Late(c.now, c.pauses(0)) {
		c.askNext(m)
	}
}

// askNext asks a member for the next part of its answer.
func (c *Core) askNext(m phalanx.NodeID) {
	q := c.gathering.Ask(c.now, m)
	c.send(m, Gather{Term: q.Term, Stamp: q.Stamp, Said: q.Said, Part: q.Part})
}

// gather answers a primary that begins, if this node's view is as new.
func (c *Core) gather(from phalanx.NodeID, m Gather) {
	switch c.terms.Gather(m.Term, c.view.Number) {
	case repl.Refuses:
		c.send(from, Refused{Term: c.terms.Latest()})
		return
	case repl.Defers:
		return
	}
	if c.tellsFirst(from, m) {
		return
	}
	t, do := c.tellings.Asked(c.now, from, repl.Question{Term: m.Term, Stamp: m.Stamp, Said: m.Said, Part: m.Part})
	switch do {
	case repl.TellNothing:
		return
	case repl.TellAnew:
		mine := func(k Key) bool { return c.primary(k) != from }
		t.Answer.keys, t.Answer.groups = slices.DeleteFunc(c.keys(), mine), slices.DeleteFunc(sorted(c.groups), mine)
		c.nextPart(t)
	case repl.TellNext:
		c.nextPart(t)
	}
	c.send(from, t.Answer.last)
}

// nextPart makes the next part of an answer: pieces of replicas, and then participants.
func (c *Core) nextPart(of *repl.Telling[tale]) {
	t, head := &of.Answer, of.Head()
	g := Gathered{Term: head.Term, Part: head.Part, Stamp: head.Stamp, Said: head.Said}
	room := c.cfg.Part
	some := false
	for len(t.keys) > 0 && (!some || room > 0) {
		r := c.replicas[t.keys[0]]
		if r == nil { // it was not needed any more
			t.keys, t.item = t.keys[1:], 0
			continue
		}
		h := r.held(c.now)
		h.From = t.item
		room -= r.key.weight() + len(h.Primary) + 60 + r.b.State.Weight()
		if h.From == 0 {
			h.Config = r.b.cfg
			room -= h.Config.Weight()
		}
		if some && room <= 0 {
			break
		}
		var n int
		h.State, n = r.b.State.piece(h.From, room)
		for i := range h.State.Entrances {
			room -= h.State.Entrances[i].Weight()
		}
		g.Replicas = append(g.Replicas, h)
		some = true
		if t.item += n; t.item < h.Total {
			room = 0 // the piece is as long as there is room
			break
		}
		t.keys, t.item = t.keys[1:], 0
	}
	for len(t.keys) == 0 && len(t.groups) > 0 && (!some || room > 0) {
		group := c.groups[t.groups[0]]
		if group == nil {
			t.groups, t.turn = t.groups[1:], 0
			continue
		}
		m, any, last := group.asks(true, c.now, t.turn, room-group.cfg.Weight())
		if any {
			if w := m.Weight(); some && w > room {
				break
			} else {
				room -= w
			}
			g.Reached = append(g.Reached, m)
			some = true
		}
		if last == 0 {
			t.groups, t.turn = t.groups[1:], 0
		} else if t.turn = last; any {
			break
		}
	}
	g.More = len(t.keys) > 0 || len(t.groups) > 0
	t.last, of.More = g, g.More
}

// gathered takes a part of a member's knowledge.
func (c *Core) gathered(from phalanx.NodeID, m Gathered) {
	head := repl.Part{Question: repl.Question{Term: m.Term, Stamp: m.Stamp, Said: m.Said, Part: m.Part}, More: m.More}
	f := c.gathering.Take(from, head)
	if f == nil {
		return
	}
	for _, piece := range m.Replicas {
		f.take(piece)
	}
	f.reached = append(f.reached, m.Reached...)
	if m.More {
		c.askNext(from)
		return
	}
	f.from = from
	c.found = append(c.found, *f)
	if c.gathering.Done() {
		c.install()
	}
}

// take puts a piece of a replica to the earlier pieces.
func (f *finding) take(piece Held) {
	if piece.From == 0 {
		f.held, f.pieces = piece, repl.Pieces{}
		f.held.State = State{}
	}
	if piece.Key != f.held.Key || !f.pieces.Next(piece.From, piece.State.items(), piece.Total) {
		return
	}
	if f.held.State.add(piece.State); f.pieces.Whole() {
		if f.held.State.sound() {
			f.replicas = append(f.replicas, f.held)
		}
		f.held, f.pieces = Held{}, repl.Pieces{}
	}
}
