package coordinator

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// treeState is the visible state of a running tree.
type treeState struct {
	mu     sync.Mutex
	places map[int]reduce.State
	nodes  map[int]phalanx.NodeID
	empty  map[int]time.Duration // since when
	degree int
	begun  bool
}

func newTreeState() *treeState {
	return &treeState{places: map[int]reduce.State{}, nodes: map[int]phalanx.NodeID{}, empty: map[int]time.Duration{}}
}

func (t *treeState) command(c reduce.Command) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.places[c.State.Place] = c.State
	t.nodes[c.State.Place] = c.Node
}

// planted reports whether the tree was not planted before.
func (t *treeState) planted(degree int) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	first = !t.begun
	t.degree, t.begun = degree, true
	return first
}

func (t *treeState) place(n reduce.Notify) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.empty, n.Place)
}

func (t *treeState) lost(n reduce.Notify, now time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.empty[n.Place]; !ok {
		t.empty[n.Place] = now
	}
}

func (t *treeState) since(place int, now time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, ok := t.empty[place]; ok {
		return now - at
	}
	return 0
}

// Tree is a running reduce.
type Tree struct {
	Degree int
	Size   int64       // of the target
	Places []TreePlace // by position
}

// TreePlace is one place of a running reduce.
type TreePlace struct {
	Place  int
	Parent int // -1 at the root
	Node   phalanx.NodeID
	Source phalanx.ObjectID
	Gen    reduce.PlaceGen // of its output
	Empty  bool            // no node runs it: it is lost, and not replaced yet
}

// Tree returns the tree of the reduce that makes target, if this node
// coordinates it and has begun to place its sources.
func (e *Env) Tree(target phalanx.ObjectID) (Tree, bool) {
	e.mu.Lock()
	runs := e.runs.byTarget[target]
	if len(runs) == 0 {
		e.mu.Unlock()
		return Tree{}, false
	}
	r := runs[0] // later ones wait for it
	e.mu.Unlock()
	t := r.tree
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.places) == 0 {
		return Tree{}, false
	}
	out := Tree{Degree: t.degree}
	for _, i := range slices.Sorted(maps.Keys(t.places)) {
		s := t.places[i]
		p := TreePlace{Place: i, Parent: s.Parent.Place, Node: t.nodes[i], Source: s.Source, Gen: s.Gen}
		_, p.Empty = t.empty[i]
		out.Size = s.Meta.Size
		if s.Root {
			p.Parent = -1
		}
		out.Places = append(out.Places, p)
	}
	return out, true
}
