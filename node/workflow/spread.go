package workflow

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// spread is what an attempt knows of the nodes on which it makes actors. Seats own it.
type spread struct {
	actors map[phalanx.NodeID]int // that the attempt was given or has made
	lacks  map[kindOn]bool        // also of nodes that have not answered
	turn   int                    // has nodes with as many actors follow each other
}

// kindOn is a kind of actors on a node.
type kindOn struct {
	node phalanx.NodeID
	kind string
}

// newSpread returns that of an attempt. Attempts begin at different nodes.
func newSpread(by string) spread {
	h := fnv.New32a()
	_, _ = h.Write([]byte(by)) // it does not fail
	return spread{turn: int(h.Sum32() % 251)}
}

// added notes an actor on a node.
func (s *spread) added(n phalanx.NodeID) {
	if s.actors == nil {
		s.actors = map[phalanx.NodeID]int{}
	}
	s.actors[n]++
}

// cannot notes that a node lacks a kind of actors, or does not answer.
func (s *spread) cannot(n phalanx.NodeID, kind string) {
	if s.lacks == nil {
		s.lacks = map[kindOn]bool{}
	}
	s.lacks[kindOn{n, kind}] = true
}

// order returns the order in which nodes are asked to make an actor. Those with the fewest actors of the attempt come first, so that it also
// fills the place of a node that has died; those that lack the kind come last. The result is the caller's.
func (s *spread) order(kind string, nodes []phalanx.NodeID) []phalanx.NodeID {
	if len(nodes) == 0 {
		return nil
	}
	n := s.turn % len(nodes)
	s.turn++
	all := slices.Concat(nodes[n:], nodes[:n])
	has := func(n phalanx.NodeID) int {
		if s.lacks[kindOn{n, kind}] {
			return math.MaxInt
		}
		return s.actors[n]
	}
	slices.SortStableFunc(all, func(a, b phalanx.NodeID) int { return cmp.Compare(has(a), has(b)) })
	return all
}
