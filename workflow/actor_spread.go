package workflow

import (
	"cmp"
	"math"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// spread is what an attempt knows of the nodes on which it makes actors.
type spread struct {
	actors map[phalanx.NodeID]int // that the attempt was given or has made
	lacks  map[kindOn]bool
	turn   int // has nodes with as many actors follow each other
}

// kindOn is a kind of actors on a node.
type kindOn struct {
	node phalanx.NodeID
	kind string
}

// newSpread returns that of an attempt. Attempts begin at different nodes.
func newSpread(by string) spread {
	d := dataplane.DigestBytes([]byte(by))
	return spread{actors: map[phalanx.NodeID]int{}, lacks: map[kindOn]bool{}, turn: int(d[0])}
}

// placesFor returns the nodes on which an actor may be made. Those with the fewest actors of the attempt come first, so that it also
// fills the place of a node that has died; those that lack the kind come last.
func (l *life) placesFor(kind string) []phalanx.NodeID {
	all := l.stage.places()
	if len(all) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.spread.turn % len(all)
	l.spread.turn++
	all = append(all[n:len(all):len(all)], all[:n]...)
	has := func(n phalanx.NodeID) int {
		if l.spread.lacks[kindOn{n, kind}] {
			return math.MaxInt
		}
		return l.spread.actors[n]
	}
	slices.SortStableFunc(all, func(a, b phalanx.NodeID) int { return cmp.Compare(has(a), has(b)) })
	return all
}
