package reduce

import (
	"cmp"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// life is whether a place has a source, and whether it runs.
type life uint8

const (
	vacant life = iota // no source
	live
	dead // runs no more; its output may be held above
)

// place is the coordinator's knowledge of one place.
type place struct {
	pos       int
	life      life
	source    *source // nil if vacant
	sourceGen phalanx.Generation
	final     bool // the source is final in sourceGen
	node      phalanx.NodeID
	gen       PlaceGen // label of its output
	born      PlaceGen // label when the source took the place
	stalled   bool
	waiting   Waiting // its last report on memory
	combining Combining
	listed    bool // among Coordinator.turns
	stuck     bool // among Coordinator.stuck
	dirty     bool // among Coordinator.dirty
	cleared   bool // since the last commands

	delivered bool // the parent has all of gen …
	kept      bool // … apart from its own result
	asked     retry
	until     time.Duration // the parent is asked until then

	want           State // last commanded
	told           bool  // its node runs it, or was told to
	version, acked uint64
	sent           time.Duration
	heard          time.Duration // when it last said that it runs
	wondered       time.Duration // when it was last asked that
}

// plant makes the tree.
func (c *Coordinator) plant(degree int) {
	c.tree = NewTree(c.cfg.Num, degree)
	c.places = make([]*place, c.tree.Len())
	c.turns = make(turns, len(c.places)) // in order: that is a heap
	for i := range c.places {
		c.places[i] = &place{pos: i, listed: true}
		c.turns[i] = i
	}
	c.loads = map[phalanx.NodeID]int{}
	c.dead, c.stuck, c.dirty, c.cleared, c.unsure = nil, nil, nil, nil, 0
}

func (c *Coordinator) placeOf(s *source) *place {
	if s.position < 0 {
		return nil
	}
	return c.places[s.position]
}

func (c *Coordinator) parent(p *place) *place {
	if p.pos == 0 {
		return nil
	}
	return c.places[c.tree.Parent(p.pos)]
}

func (c *Coordinator) children(p *place) []*place {
	var kids []*place
	for _, k := range c.tree.Children(p.pos) {
		kids = append(kids, c.places[k])
	}
	return kids
}

// touch takes note that commands to p and its neighbours may have changed.
func (c *Coordinator) touch(p *place) {
	c.soil(p)
	if up := c.parent(p); up != nil {
		c.soil(up)
	}
	for _, k := range c.children(p) {
		c.soil(k)
	}
}

// soil marks p: commands to it may have changed.
func (c *Coordinator) soil(p *place) {
	if !p.dirty {
		p.dirty = true
		c.dirty = append(c.dirty, p)
	}
}

// become changes the life of p, whose node and source are set before, and keeps the lists
// by life up to date.
func (c *Coordinator) become(p *place, l life) {
	if p.life == live {
		c.loads[p.node]--
	}
	p.life = l
	switch l {
	case live:
		c.loads[p.node]++
		c.stops.again = append(c.stops.again, stopKey{p.pos, p.node})
	case dead:
		c.dead = append(c.dead, p)
	case vacant:
		c.list(p)
	}
}

func byPosition(a, b *place) int { return cmp.Compare(a.pos, b.pos) }

func (c *Coordinator) nextGen() PlaceGen {
	c.seq++
	return PlaceGen{Attempt: c.cfg.Attempt, Seq: c.seq}
}

// put gives p to s.
func (c *Coordinator) put(p *place, s *source, n phalanx.NodeID) {
	what := NotePlaced
	if !p.born.IsZero() {
		what = NoteReplaced
	}
	c.putAs(what, p, s, n)
}

func (c *Coordinator) putAs(what Notice, p *place, s *source, n phalanx.NodeID) {
	s.position = p.pos
	p.source, p.sourceGen, p.node = s, s.gen, n
	c.become(p, live)
	p.final = s.final == s.gen
	p.gen = c.nextGen()
	p.born = p.gen
	p.delivered, p.kept, p.stalled, p.told, p.asked = false, false, false, false, retry{}
	c.changed(s)
	c.touch(p)
	c.emit(Notify{What: what, Place: p.pos, Source: s.id, Node: n, Gen: p.gen})
}

// stalled takes note of a place whose source does not go on.
func (c *Coordinator) stalled(pos int, g PlaceGen, now bool) {
	if p := c.at(pos); p != nil && p.life == live && g.Compare(p.born) >= 0 && g.Compare(p.gen) <= 0 {
		p.stalled = now && !p.final
		if p.stalled && !p.stuck {
			p.stuck = true
			c.stuck = append(c.stuck, p)
		}
	}
}

// waits takes note of a place that has no memory for its output.
func (c *Coordinator) waits(ev Waiting) {
	if p := c.at(ev.Place); p != nil && p.life == live && p.gen == ev.Gen {
		still := ev.Text != "" && p.waiting.Gen == ev.Gen && p.waiting.Text != ""
		p.waiting = ev
		if still {
			c.breakRing(nil) // all wait for it, with all of the target in memory: a tree needs less
		}
	}
}

// inNeed returns the first place that waits for memory, or nil.
func (c *Coordinator) inNeed() *place {
	for _, p := range c.places {
		if p.life == live && p.waiting.Gen == p.gen && p.waiting.Text != "" {
			return p
		}
	}
	return nil
}

// replaceStalled takes the places of sources that do not go on away from them,
// as long as others are ready, and reports whether it did.
func (c *Coordinator) replaceStalled() bool {
	c.stuck = slices.DeleteFunc(c.stuck, func(p *place) bool {
		p.stuck = p.life == live && p.stalled && !p.final
		return !p.stuck
	})
	if len(c.stuck) == 0 {
		return false
	}
	slices.SortFunc(c.stuck, func(a, b *place) int { return cmp.Compare(c.tree.Rank(a.pos), c.tree.Rank(b.pos)) })
	stuck := c.stuck[:c.spare(len(c.stuck))]
	for _, p := range stuck {
		p.source.stalled = true
		c.empty(p, LostStalled, "")
	}
	return len(stuck) > 0
}

// at returns the place at a position that a message names, or nil.
func (c *Coordinator) at(pos int) *place {
	if pos < 0 || pos >= len(c.places) {
		return nil
	}
	return c.places[pos]
}

// A PlaceInfo is the visible state of a place.
type PlaceInfo struct {
	Place  int // position
	Parent int // position, -1 for the root
	Source phalanx.ObjectID
	Node   phalanx.NodeID
	Gen    PlaceGen
	Since  PlaceGen // the label when the source took the place
	State  string   // "empty", "live" or "dead"
	Held   bool     // its parent has all that it made
	Final  bool     // its source is final
	Acked  bool     // its last command is acknowledged
	Ring   bool     // the places form a ring; Parent is then the next one
}

// Places returns the place at each position, the root first. It is empty before
// the first source is ready, and for small sources.
func (c *Coordinator) Places() []PlaceInfo {
	infos := make([]PlaceInfo, 0, len(c.places))
	for _, p := range c.places {
		i := PlaceInfo{Place: p.pos, Parent: c.tree.Parent(p.pos), Node: p.node, Gen: p.gen, Since: p.born,
			State: []string{"empty", "live", "dead"}[p.life], Held: p.delivered, Final: p.final,
			Acked: p.acked == p.version}
		if c.ring == circling {
			i.Ring, i.Parent = true, (p.pos+1)%len(c.places)
		}
		if p.source != nil {
			i.Source = p.source.id
		} else {
			i.Node, i.Gen, i.Since = "", PlaceGen{}, PlaceGen{}
		}
		infos = append(infos, i)
	}
	return infos
}

// remember notes the nodes that are told something for the first time.
func (c *Coordinator) remember(nodes ...phalanx.NodeID) bool {
	grown := false
	for _, n := range nodes {
		if i, found := slices.BinarySearch(c.nodes, n); !found {
			c.nodes = slices.Insert(c.nodes, i, n)
			grown = true
		}
	}
	return grown
}
