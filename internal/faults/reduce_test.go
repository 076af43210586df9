package faults

import (
	"fmt"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
)

// sources returns an id for each node, under name.
func sources(name phalanx.ObjectID, nodes []*process) []phalanx.ObjectID {
	var ids []phalanx.ObjectID
	for i := range nodes {
		ids = append(ids, phalanx.ObjectID(fmt.Sprintf("%s/source/%d", name, i)))
	}
	return ids
}

// role is where in the tree the victim has its place.
type role struct {
	name string
	is   func(tree *cluster.Tree, place int) bool
}

func children(tree *cluster.Tree, place int) (n int) {
	for _, e := range tree.Edges {
		if e.ToPlace == place {
			n++
		}
	}
	return n
}

func parent(tree *cluster.Tree, place int) (int, bool) {
	for _, e := range tree.Edges {
		if e.FromPlace == place {
			return e.ToPlace, true
		}
	}
	return 0, false
}

var (
	leaf = role{"leaf", func(tree *cluster.Tree, place int) bool {
		_, child := parent(tree, place)
		return child && children(tree, place) == 0
	}}
	root = role{"root", func(tree *cluster.Tree, place int) bool {
		_, child := parent(tree, place)
		return !child && children(tree, place) > 0
	}}
)

// treeOf is empty while nobody has begun the object.
func treeOf(t *testing.T, at *process, id phalanx.ObjectID) *cluster.Tree {
	t.Helper()
	l := tell(at, order{Do: "tree", Object: id}).answer(t)
	if l.Err != "" && l.ErrKind != phalanx.ErrNotFound {
		t.Fatal(l.Err)
	}
	return l.Tree
}

// growing waits until the tree of a reduce is whole and its root has a quarter
// of what it gets, and returns the node of the place that has the role.
func growing(t *testing.T, nodes []*process, at *process, id phalanx.ObjectID, places int, before []*state, r role) (victim *process) {
	t.Helper()
	var top *process
	var tree *cluster.Tree
	eventually(t, func() string {
		tree = treeOf(t, at, id)
		if tree.Kind != "reduce" || len(tree.Nodes) != places || len(tree.Edges) != places-1 {
			return fmt.Sprintf("no tree of %d places: %+v", places, tree)
		}
		for _, n := range tree.Nodes {
			if root.is(tree, n.Place) {
				top = on(t, nodes, n.Node)
			}
			if r.is(tree, n.Place) && victim == nil {
				victim = on(t, nodes, n.Node)
			}
		}
		return ""
	})
	base := before[slices.Index(nodes, top)].BytesReceived
	eventually(t, func() string {
		if s := top.state(t); s.BytesReceived-base < uint64(large)/4 {
			return fmt.Sprintf("the root has %d bytes", s.BytesReceived-base)
		}
		return ""
	})
	return victim
}

// crawls waits until a node on a slow link has received or sent a little more.
func crawls(t *testing.T, p *process) {
	t.Helper()
	total := func() uint64 { s := p.state(t); return s.BytesReceived + s.BytesSent }
	now := total()
	eventually(t, func() string {
		if more := total() - now; more < uint64(large)/100 {
			return fmt.Sprintf("%d bytes more have come and gone over a slow link", more)
		}
		return ""
	})
}

// checkReduce checks what a reduce says of its sources, and has all nodes check
// its bytes.
func checkReduce(t *testing.T, nodes []*process, o order, l line) {
	t.Helper()
	all := slices.Sorted(slices.Values(append(slices.Clone(l.In), l.Out...)))
	if len(l.In) != o.Num || !slices.Equal(all, slices.Sorted(slices.Values(o.Sources))) {
		t.Fatalf("%d of %v were to be combined; in the result are %v, not %v", o.Num, o.Sources, l.In, l.Out)
	}
	var gets []call
	for _, p := range nodes {
		gets = append(gets, tell(p, order{Do: "get", Object: o.Object, Size: large, Sources: l.In}))
	}
	must(t, gets...)
}

// A node with a place of a reduce fails. Another source takes the place, and
// only its ancestors make their results again.
func TestReduce(t *testing.T) {
	for _, r := range []role{leaf, root} {
		t.Run(r.name, func(t *testing.T) {
			each(t, func(t *testing.T, f fault) { reduceWith(t, f, r, 2) })
		})
	}
}

func reduceWith(t *testing.T, f fault, r role, degree int) {
	nodes := start(t, 6)
	before := states(t, nodes)
	asks := nodes[0] // and has the source that is spare
	id := fresh("reduce")
	ids := sources(id, nodes)
	slices.Reverse(ids) // the spare one is the last
	var puts []call
	for i, p := range nodes {
		puts = append(puts, tell(p, order{Do: "put", Object: ids[len(ids)-1-i], Size: large}))
	}
	must(t, puts...)
	o := order{Do: "reduce", Object: id, Sources: ids, Num: len(nodes) - 1, Degree: degree}
	reduce := tell(asks, o)
	victim := growing(t, nodes, asks, id, o.Num, before, r)
	was := f.happens(t, victim)
	if f.fate == kept {
		crawls(t, victim)
		f.heal(t, victim)
	} else {
		lost := expect(t, asks, func(e actors.PlaceLost) bool { return e.Target == id && e.Node == was })
		expect(t, asks, func(e actors.PlaceReplaced) bool { return e.Target == id && e.Place == lost.Place && e.Node != was })
		if r.name != root.name {
			expect(t, asks, func(e actors.AncestorsCleared) bool { return e.Target == id && len(e.Cleared) > 0 })
		}
	}
	got := must(t, reduce)[0]
	checkReduce(t, without(nodes, victim), o, got)
	members := f.ends(t, nodes, victim, was)
	checkReduce(t, members, o, got)
	level(t, members, kindred(before, nodes, members), append(ids, id)...)
}
