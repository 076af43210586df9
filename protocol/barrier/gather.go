package barrier

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// finding is what a member knows.
type finding struct {
	from     phalanx.NodeID
	replicas []Held
	reached  []Reached
}

// hearing is what has come of a member's answer to this node, which gathers.
type hearing struct {
	finding
	part  int           // the next one
	said  time.Duration // the answer's
	held  Held          // a replica of which not all pieces have come
	begun bool          // there is one
	asks  retry.Backoff // for the next part
}

// telling is a member's answer to a primary that gathers. Nothing that is of the answer
// changes while it is given: the member heeds no earlier primary any more.
type telling struct {
	term        uint64
	stamp, said time.Duration
	keys        []Key // whose replicas are not in the parts before part
	groups      []Key // and whose participants are not
	part        int
	last        Gathered // the part
	item        int      // of the first of keys, the pieces before it have been given
	turn        uint64   // of the first of groups, those up to it
}

// ready reports whether this node may act as the barrier's primary. It begins to
// gather what it needs for that.
func (c *Core) ready(k Key) bool {
	if c.primary(k) != c.view.Self {
		return false
	}
	if !c.knows && c.waiting == nil {
		c.fence = max(c.fence, c.term)
		c.waiting = map[phalanx.NodeID]*hearing{}
		c.stamp = max(c.stamp+1, c.now)
		own := finding{from: c.view.Self}
		own.replicas, own.reached = c.known()
		c.found = []finding{own}
		for _, m := range c.view.Members {
			if m != c.view.Self {
				c.waiting[m] = &hearing{finding: finding{from: m}}
				c.askNext(m)
			}
		}
		if len(c.waiting) == 0 {
			c.install()
		}
	}
	return c.knows
}

// known is what this node knows itself of the barriers whose primary it is.
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
	return Held{Key: r.key, Primary: r.primary, Term: r.term, Seq: r.seq, Total: r.b.State.items(), Age: now - r.touched}
}

// askNext asks a member for the next part of its answer.
func (c *Core) askNext(m phalanx.NodeID) {
	h := c.waiting[m]
	h.asks.Sent(c.now)
	c.send(m, Gather{Term: c.term, Stamp: c.stamp, Said: h.said, Part: h.part})
}

// askAgain repeats questions that have got no answer.
func (c *Core) askAgain() {
	if c.waiting == nil {
		return
	}
	for _, m := range c.view.Members {
		if h := c.waiting[m]; h != nil && c.now >= c.askAgainAt(h) {
			c.askNext(m)
		}
	}
}

// askAgainAt is when a question is repeated: the second time as soon as the first, as some learn of a
// view later than others.
func (c *Core) askAgainAt(h *hearing) time.Duration {
	return h.asks.Last() + c.pauses(0).After(h.asks.Times()-1)
}

// gather answers a primary that begins, if this node's view is as new.
func (c *Core) gather(from phalanx.NodeID, m Gather) {
	if m.Term < c.term || m.Term < c.fence {
		c.send(from, Refused{Term: max(c.term, c.fence)})
		return
	}
	if m.Term > c.view.Number {
		return // it will be asked again
	}
	c.fence = m.Term
	if c.tellsFirst(from, m) {
		return
	}
	t := c.telling[from]
	switch {
	case t == nil || t.term < m.Term || t.stamp < m.Stamp:
		t = c.tellAnew(from, m)
	case t.term != m.Term || t.stamp != m.Stamp:
		return // it is late
	case m.Said != t.said && t.part > 0: // it has heard nothing of this answer, whose first part was lost
		t = c.tellAnew(from, m)
	case m.Said == t.said && m.Part == t.part+1 && t.last.More:
		t.part++
		c.nextPart(t)
	case m.Said == t.said && m.Part != t.part:
		return // it is late
	}
	c.send(from, t.last)
}

// tellAnew begins an answer.
func (c *Core) tellAnew(from phalanx.NodeID, m Gather) *telling {
	c.said = max(c.said+1, c.now)
	t := &telling{term: m.Term, stamp: m.Stamp, said: c.said}
	mine := func(k Key) bool { return c.primary(k) != from }
	t.keys, t.groups = slices.DeleteFunc(c.keys(), mine), slices.DeleteFunc(sorted(c.groups), mine)
	c.telling[from] = t
	c.nextPart(t)
	return t
}

// nextPart makes the next part of an answer: pieces of replicas, and then participants.
func (c *Core) nextPart(t *telling) {
	g := Gathered{Term: t.term, Part: t.part, Stamp: t.stamp, Said: t.said}
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
	t.last = g
}

// gathered takes a part of what a member knows. Only parts of one answer count
// together.
func (c *Core) gathered(from phalanx.NodeID, m Gathered) {
	h := c.waiting[from]
	if h == nil || m.Term != c.term || m.Stamp != c.stamp {
		return
	}
	if m.Part == 0 && m.Said > h.said { // its manager was restarted
		*h = hearing{finding: finding{from: from}, said: m.Said}
	}
	if m.Said != h.said || m.Part != h.part {
		return
	}
	h.part++
	h.asks.Answered()
	for _, piece := range m.Replicas {
		h.take(piece)
	}
	h.reached = append(h.reached, m.Reached...)
	if m.More {
		c.askNext(from)
		return
	}
	delete(c.waiting, from)
	c.found = append(c.found, h.finding)
	if len(c.waiting) == 0 {
		c.install()
	}
}

// take puts a piece of a replica to those before it.
func (h *hearing) take(piece Held) {
	switch {
	case piece.From == 0:
		h.held, h.begun = piece, true
	case h.begun && piece.Key == h.held.Key && piece.Total == h.held.Total && piece.From == h.held.State.items():
		h.held.State.add(piece.State)
	default:
		h.begun = false
	}
	if h.begun && h.held.State.items() >= h.held.Total {
		if h.begun = false; h.held.State.sound() {
			h.replicas = append(h.replicas, h.held)
		}
		h.held = Held{}
	}
}
