package reduce

import (
	"slices"

	"github.com/phalanx-go/phalanx"
)

// command sends the changes: first Stops, then the new wanted states from the root
// down.
func (c *Coordinator) command() {
	var changed []*place
	grown := false
	dirty := c.dirty
	c.dirty = nil
	slices.SortFunc(dirty, byPosition)
	for _, p := range dirty {
		p.dirty = false
		if p.life != live { // it is touched when it is
			continue
		}
		if want := c.want(p); !want.same(p.want) || p.version == 0 {
			p.version++
			want.Attempt, want.Version = c.cfg.Attempt, p.version
			p.want, p.sent, p.told = want, c.now, true
			changed = append(changed, p)
			grown = c.remember(p.node) || grown
		}
	}
	if grown {
		c.emit(Remember{Reduce: c.reduce, Degree: c.tree.Degree(), Meta: c.meta, Nodes: append([]phalanx.NodeID(nil), c.nodes...)})
	}
	c.sendStops()
	for _, p := range changed {
		if p.pos == 0 && !p.want.TargetGen.IsZero() {
			c.shown = true
		}
		c.emit(Command{Node: p.node, State: p.want})
	}
}

// want returns the wanted state of p, without attempt and version.
func (c *Coordinator) want(p *place) State {
	s := State{
		Target: c.cfg.Target, Reduce: c.reduce, Place: p.pos, Gen: p.gen, Source: p.source.id, SourceGen: p.sourceGen,
		Op: c.cfg.Op, Meta: c.meta, Root: p.pos == 0,
	}
	if c.ring == circling {
		return c.around(p, s)
	}
	if s.Root {
		if !c.restart.pending {
			s.TargetGen = c.gen
		}
	} else {
		s.Parent = c.peer(c.parent(p))
	}
	for i, k := range c.children(p) {
		peer := c.peer(k)
		child := Child{Order: i + min(i, 1), Place: peer.Place, Node: peer.Node, Gen: peer.Gen}
		if k.life != vacant {
			child.Source, child.SourceGen = k.source.id, k.sourceGen
		}
		s.Children = append(s.Children, child)
	}
	return s
}

func (c *Coordinator) peer(p *place) Peer {
	if p.life == vacant {
		return Peer{Place: p.pos}
	}
	return Peer{Place: p.pos, Node: p.node, Gen: p.gen}
}

// acked takes note. A place that runs where it is not wanted was started by a
// command that was under way for long; it is stopped.
func (c *Coordinator) acked(ev Acked) {
	p := c.at(ev.Place)
	if p == nil || c.phase == inspecting || ev.Attempt > c.cfg.Attempt {
		return
	}
	if c.phase == ended || p.life != live || p.node != ev.Node {
		c.stopAt(p.pos, ev.Node, PlaceGen{Attempt: c.cfg.Attempt, Seq: c.seq}, c.completed())
		c.sendStops()
		return
	}
	p.heard = c.now
	switch { // less than before: another instance took an old command
	case ev.Attempt < c.cfg.Attempt:
		p.acked = 0
	case ev.Version <= p.version:
		p.acked = ev.Version
	}
}

// refused replaces a place that cannot run, or fails if none could.
func (c *Coordinator) refused(ev Refused) {
	p := c.at(ev.Place)
	if ev.Kind == phalanx.ErrRefused && ev.Attempt == c.cfg.Attempt {
		// The target belongs to the later attempt: leave it alone.
		err := c.fault(c.cfg.Target, phalanx.ErrFenced, "a later coordinator has taken over: %s", ev.Text)
		err.Node = ev.Node
		c.places, c.stops = nil, stops{}
		c.fail(err, false)
		return
	}
	if p == nil || p.life != live || p.node != ev.Node || ev.Attempt != c.cfg.Attempt || ev.Version != p.version {
		return
	}
	switch ev.Kind {
	case phalanx.ErrNotFound, phalanx.ErrLost, phalanx.ErrReset, phalanx.ErrAborted, phalanx.ErrDeleted, phalanx.ErrCorrupt:
		c.strike(p)
		c.empty(p, LostRefused, ev.Text)
	case phalanx.ErrFenced, phalanx.ErrClosed, phalanx.ErrUnavailable:
		c.strike(p)
		c.lose(p, LostRefused, ev.Text, true)
	default:
		if c.phase == finalising { // its output is in the target
			c.lose(p, LostRefused, ev.Text, true)
			return
		}
		err := c.fault(p.source.id, ev.Kind, "the place of this source: %s", ev.Text)
		err.Node = ev.Node
		c.fail(err, true)
	}
}

func (c *Coordinator) repeatCommands() {
	if c.phase != running && c.phase != finalising {
		return
	}
	every := c.cfg.RepeatEvery
	for _, p := range c.places {
		if p.life == live && p.version > p.acked && c.now-p.sent >= every {
			p.sent = c.now
			c.emit(Command{Node: p.node, State: p.want})
		}
		c.wonder(p)
		if p.asked.pending && c.now < p.until && p.asked.due(c.now, every) {
			c.askParent(p)
		}
	}
}
