package reduce

import (
	"slices"

	"github.com/phalanx-go/phalanx"
)

// verdict is whether the contribution of a dead place is still held.
type verdict uint8

const (
	notHeld  verdict = iota
	askedFor         // its parent has not answered yet
	held
)

// held reports whether a live place above p has p's output, directly or inside
// the stream of another place between them. Such a p need not run again.
func (c *Coordinator) held(p *place) verdict {
	if c.done != nil && p.pos != 0 && c.places[0].life == live {
		return held
	}
	v := notHeld
	for y := p; ; {
		above := c.parent(y)
		if above == nil || above.life == vacant {
			return v
		}
		if above.life == live {
			if y.delivered {
				return held
			}
			if y.life == dead && y.asked.pending && c.now < y.until {
				v = askedFor
			}
		}
		y = above
	}
}

// repair empties every dead place that is needed again, until nothing changes,
// and gives the places back to their sources where these have another copy.
func (c *Coordinator) repair() {
	for changed := len(c.dead) > 0; changed; {
		changed = false
		c.dead = slices.DeleteFunc(c.dead, func(p *place) bool { return p.life != dead })
		slices.SortFunc(c.dead, byPosition) // the root first
		c.dead = slices.Compact(c.dead)
		for _, p := range c.dead {
			if p.life == dead && c.held(p) == notHeld {
				c.empty(p, LostUnheld, "")
				changed = true
			}
		}
	}
	for _, a := range c.again {
		if h := c.pick(a.source); a.place.life == vacant && a.source.position < 0 && !a.source.deleted && h != nil {
			c.put(a.place, a.source, h.node)
		}
	}
	c.again = nil
}

// lose takes note that p runs no more. Its place is kept until it is known that
// no place has its output; ask says whether the parent might.
func (c *Coordinator) lose(p *place, why Reason, text string, ask bool) {
	if p.life != live {
		return
	}
	if c.phase == finalising {
		c.noteLoss(p, loss{why: why, text: text})
		if why != LostDown {
			return
		}
	}
	c.breakRing(p)
	p.stalled = false
	c.become(p, dead)
	c.emit(Notify{What: NoteLost, Place: p.pos, Source: p.source.id, Node: p.node, Gen: p.gen, Reason: why, Text: text})
	if why != LostDown {
		c.unwanted(p, false)
	}
	if ask {
		c.consult(p)
	}
	if p.pos == 0 && c.done != nil && c.phase == running { // it held all that is dead
		c.done = nil
		c.consultDead()
	}
}

// consult asks the parent of a dead place, if that is alive, whether it has all
// that the place made.
func (c *Coordinator) consult(p *place) {
	if c.phase != running || c.broken {
		return
	}
	if c.held(p) == held {
		c.emit(Notify{What: NoteHeld, Place: p.pos, Source: p.source.id, Node: p.node, Gen: p.gen})
		return
	}
	above := c.parent(p)
	if above == nil || above.life != live || !above.told || above.cleared {
		return
	}
	p.until = c.now + c.cfg.AskFor
	p.asked = retry{pending: true, sent: c.now}
	c.askParent(p)
}

func (c *Coordinator) askParent(p *place) {
	above := c.parent(p)
	c.emit(AskDelivered{Node: above.node, Target: c.cfg.Target, Reduce: c.reduce,
		Parent: above.pos, ParentGen: above.gen, Child: p.pos, ChildGen: p.gen})
}

// empty takes p away from its source, and makes the live places above it clear
// their results. A dead place above was held with this contribution inside, so
// it is of no use either.
func (c *Coordinator) empty(p *place, why Reason, text string) {
	if p.life == vacant {
		return
	}
	if c.phase == finalising {
		c.noteLoss(p, loss{why, text, true})
		return
	}
	c.breakRing(p)
	c.vacate(p, why, text)
	c.disown(p)
}

// disown takes p's output out of everything above it.
func (c *Coordinator) disown(p *place) {
	for a := c.parent(p); a != nil; a = c.parent(a) {
		switch a.life {
		case live:
			c.clear(a)
		case dead:
			c.vacate(a, LostUnheld, "")
		}
	}
}

// vacated is a source that lost its place and comes first if it has another copy.
type vacated struct {
	place  *place
	source *source
}

func (c *Coordinator) vacate(p *place, why Reason, text string) {
	s := p.source
	c.emit(Notify{What: NoteEmptied, Place: p.pos, Source: s.id, Node: p.node, Gen: p.gen, Reason: why, Text: text})
	if p.life == live {
		c.unwanted(p, false)
	}
	s.position = -1
	if s.arrival > 0 { // it queues again, behind the others
		c.arrivals++
		s.arrival = c.arrivals
	}
	if why != LostStalled {
		c.again = append(c.again, vacated{p, s})
	}
	if s.deleted {
		c.enough(s.id)
	}
	c.become(p, vacant)
	p.source, p.final, p.stalled = nil, false, false
	c.changed(s)
	c.unhand(p, false)
}

// clear gives p's output a new label: p keeps its source and makes it again.
func (c *Coordinator) clear(p *place) {
	if p.cleared {
		return
	}
	p.cleared = true
	c.cleared = append(c.cleared, p.pos)
	p.gen = c.nextGen()
	c.unhand(p, true)
}

// unhand takes note that p's result is gone: its parent has nothing of the new
// one, and p has only the children's results that it keeps apart.
func (c *Coordinator) unhand(p *place, keeps bool) {
	c.touch(p)
	p.delivered, p.kept, p.asked = false, false, retry{}
	for _, k := range c.children(p) {
		if !keeps || !k.kept {
			k.delivered, k.kept, k.asked = false, false, retry{}
		}
	}
	if p.pos == 0 {
		c.done = nil
		if c.shown {
			c.stale = true
		}
	}
}

func (c *Coordinator) nodeGone(ev NodeGone) {
	if ev.Down {
		c.gone[ev.Node] = true
		c.noStopsAt(ev.Node)
	}
	c.leftOut(ev)
	why := LostSuspected
	if ev.Down {
		why = LostDown
	}
	for _, s := range c.sources {
		if ev.Down {
			c.drop(s, ev.Node)
		} else {
			c.bar(s, ev.Node)
		}
	}
	if c.phase == ended {
		return
	}
	var lost []*place
	for _, p := range c.places {
		if p.life == live && p.node == ev.Node {
			c.lose(p, why, "", false)
			lost = append(lost, p)
		}
	}
	for _, p := range lost {
		c.consult(p)
	}
	if ev.Down {
		c.unfix()
	}
}

func (c *Coordinator) placeLost(ev PlaceLost) {
	if c.phase == inspecting && ev.Reason != LostEdge {
		c.resumed.lost = append(c.resumed.lost, ev)
	}
	p := c.at(ev.Place)
	if p == nil || p.life == vacant || ev.Gen.Compare(p.born) < 0 || ev.Gen.Compare(p.gen) > 0 {
		return
	}
	if ev.Reason == LostEdge {
		if ev.Gen != p.gen {
			return
		}
		p.delivered, p.kept, p.asked = false, false, retry{}
		if p.life == live {
			c.strike(p)
			c.lose(p, ev.Reason, ev.Text, false)
		}
		return
	}
	if p.life != live {
		return
	}
	if ev.Reason == LostDown {
		c.drop(p.source, p.node)
	} else {
		c.strike(p)
	}
	if ev.Reason == LostSource {
		c.empty(p, ev.Reason, ev.Text)
		return
	}
	c.lose(p, ev.Reason, ev.Text, true)
}

func (c *Coordinator) delivered(ev Delivered) {
	if c.ring == circling {
		return // it has no edges that could be kept
	}
	if p := c.edge(ev.Parent, ev.ParentGen, ev.Child, ev.ChildGen); p != nil {
		if p.life == dead && !p.delivered {
			c.emit(Notify{What: NoteHeld, Place: p.pos, Source: p.source.id, Node: p.node, Gen: p.gen})
		}
		p.delivered, p.kept, p.asked = true, ev.Kept, retry{}
	}
}

func (c *Coordinator) notDelivered(ev NotDelivered) {
	if p := c.edge(ev.Parent, ev.ParentGen, ev.Child, ev.ChildGen); p != nil {
		p.delivered, p.kept, p.asked = false, false, retry{}
	}
}

// edge returns the child of an edge that a message names, or nil if the message
// is stale.
func (c *Coordinator) edge(parent int, parentGen PlaceGen, child int, childGen PlaceGen) *place {
	above, p := c.at(parent), c.at(child)
	if above == nil || p == nil || c.parent(p) != above || above.life == vacant || p.life == vacant ||
		above.gen != parentGen || p.gen != childGen {
		return nil
	}
	return p
}

// restartTarget asks for a new generation of the target if the root has cleared
// the output shown under the present one, and names the cleared places.
func (c *Coordinator) restartTarget() {
	var places []int
	slices.Sort(c.cleared)
	for _, pos := range c.cleared {
		p := c.places[pos]
		p.cleared = false
		if p.life == live && p.gen != p.born {
			places = append(places, pos)
		}
	}
	c.cleared = c.cleared[:0]
	if places != nil {
		c.emit(Notify{What: NoteCleared, Places: places})
	}
	if c.stale && !c.restart.pending {
		c.restart = retry{pending: true, sent: c.now}
		c.emit(Restart{Target: c.cfg.Target, Attempt: c.cfg.Attempt, From: c.gen})
	}
	if c.stale {
		c.stale, c.shown = false, false
		c.soil(c.places[0])
	}
}

func (c *Coordinator) restarted(ev Restarted) {
	if !c.restart.pending || ev.From != c.gen || !c.gen.Less(ev.Gen) {
		return
	}
	c.restart.pending = false
	c.gen = ev.Gen
	if c.phase == ended {
		c.release()
		return
	}
	c.soil(c.places[0])
	c.emit(Notify{What: NoteRestarted, Text: ev.Gen.String()})
}

func (c *Coordinator) restartRefused(ev RestartRefused) {
	if !c.restart.pending || ev.From != c.gen {
		return
	}
	c.restart.pending = false
	if c.phase == ended {
		c.release()
	} else {
		c.fail(c.fault(c.cfg.Target, ev.Kind, "the target cannot start over: %s", ev.Text), ev.Kind != phalanx.ErrDeleted)
	}
}
