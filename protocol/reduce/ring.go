package reduce

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// An AllReduce whose sources are all there, each on a node that wants the result,
// needs no tree: the nodes form a ring, and each sends its successor shards of
// the array, first summed on their way around (reduce-scatter), then whole
// (all-gather). Each link carries 2(n-1)/n of the size once. It is broken by the
// first failure; then the places make the same as a tree.

// RingGrain divides the sizes of a ring's shards, except the last one's.
const RingGrain = 64 << 10

// ringPhase is how far the ring is.
type ringPhase uint8

const (
	noRing    ringPhase = iota // a tree
	gathering                  // sources, or nodes that want the result, are missing
	circling
)

const (
	ringPatience    = 20 * time.Millisecond // the least time that is waited for a ring
	ringPatienceMax = 200 * time.Millisecond
	ringShare       = 16 // of the time that a link needs for the size, else
)

// RingFits reports whether an AllReduce of num of sources arrays of size bytes can
// be made in a ring: of all of them, if no degree of a tree is asked for, and in
// shards of grain bytes or more.
func RingFits(sources, num, degree int, size, grain int64) bool {
	return degree == 0 && num == sources && sources > 1 && size >= int64(sources)*grain
}

// mayCircle decides at the first source whether a ring is waited for, and how
// long.
func (c *Coordinator) mayCircle() {
	if !c.cfg.Shared || !RingFits(len(c.sources), c.cfg.Num, c.cfg.Degree, c.meta.Size, c.cfg.Grain) {
		return
	}
	wait := ringPatience
	if _, bandwidth := c.network(); bandwidth > 0 {
		link := time.Duration(float64(c.meta.Size) / bandwidth * float64(time.Second))
		wait = min(max(wait, link/ringShare), ringPatienceMax)
	}
	c.ring, c.ringUntil = gathering, c.now+wait
}

// joined takes note of a node that wants the target, and of its sources.
func (c *Coordinator) joined(ev Joined) {
	if c.gone[ev.Node] {
		return
	}
	c.wanting[ev.Node] = true
	switch c.phase {
	case idle, beginning:
		c.early = append(c.early, ev.Has...)
	case running:
		for _, r := range ev.Has {
			c.ready(r)
		}
	}
}

// gather forms the ring when it can be, and reports whether it has to be waited
// for.
func (c *Coordinator) gather() bool {
	if c.ring != gathering {
		return false
	}
	at := c.assign()
	if at == nil {
		if c.now < c.ringUntil {
			return true
		}
		c.ring = noRing
		c.watchSources()
		return false
	}
	c.ring = circling
	for i, s := range c.sources {
		c.put(c.places[i], s, at[i])
	}
	return false
}

// assign returns for each source a node that has it and wants the target, each
// another one; nil if that cannot be.
func (c *Coordinator) assign() []phalanx.NodeID {
	of := map[phalanx.NodeID]int{} // the source of each node so far
	for i := range c.sources {
		if !c.member(i, of, map[phalanx.NodeID]bool{}) {
			return nil
		}
	}
	at := make([]phalanx.NodeID, len(c.sources))
	for n, i := range of {
		at[i] = n
	}
	return at
}

// member finds a node for a source, and other nodes for sources that have to give
// theirs up for it: an augmenting path.
func (c *Coordinator) member(i int, of map[phalanx.NodeID]int, tried map[phalanx.NodeID]bool) bool {
	s := c.sources[i]
	if s.arrival == 0 || s.deleted {
		return false
	}
	for _, h := range s.holders {
		if !c.takes(h) || !c.wanting[h.node] || tried[h.node] {
			continue
		}
		tried[h.node] = true
		if other, taken := of[h.node]; !taken || c.member(other, of, tried) {
			of[h.node] = i
			return true
		}
	}
	return false
}

// around returns the wanted state of p in the ring.
func (c *Coordinator) around(p *place, s State) State {
	n := len(c.places)
	prev, next := c.places[(p.pos+n-1)%n], c.places[(p.pos+1)%n]
	s.Ring, s.TargetGen, s.Parent = n, c.gen, c.peer(next)
	peer := c.peer(prev)
	s.Children = []Child{{Place: peer.Place, Node: peer.Node, Gen: peer.Gen, Source: prev.source.id, SourceGen: prev.sourceGen}}
	return s
}

// breakRing has the places go on as a tree, except the lost one. No output of the
// ring is of use for that, so no place is asked for any.
func (c *Coordinator) breakRing(lost *place) {
	if c.ring != circling || c.phase == finalising {
		return
	}
	c.ring, c.broken = noRing, true
	c.watchSources()
	for _, p := range c.places {
		if p.life == live && p != lost {
			c.clear(p)
		}
	}
}
