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

func childrenOf(tree *cluster.Tree, place int) (n int) {
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
		return child && childrenOf(tree, place) == 0
	}}
	root = role{"root", func(tree *cluster.Tree, place int) bool {
		_, child := parent(tree, place)
		return !child && childrenOf(tree, place) > 0
	}}
)

// treeOf is empty while nobody has begun the object.
func treeOf(t testing.TB, at *process, id phalanx.ObjectID) *cluster.Tree {
	t.Helper()
	l := tell(at, order{Do: "tree", Object: id}).answer(t)
	if l.Err != "" && l.ErrKind != phalanx.ErrNotFound {
		t.Fatal(l.Err)
	}
	return l.Tree
}

// whole waits until the tree of a reduce has all its places.
func whole(t testing.TB, at *process, id phalanx.ObjectID, places int) (tree *cluster.Tree) {
	t.Helper()
	eventually(t, func() string {
		tree = treeOf(t, at, id)
		if tree.Kind != "reduce" || len(tree.Nodes) != places || len(tree.Edges) != places-1 {
			return fmt.Sprintf("no tree of %d places: %+v", places, tree)
		}
		return ""
	})
	return tree
}

// with returns the first node that has a place in the role.
func (r role) with(t testing.TB, nodes []*process, tree *cluster.Tree) *process {
	t.Helper()
	for _, n := range tree.Nodes {
		if r.is(tree, n.Place) {
			return on(t, nodes, n.Node)
		}
	}
	t.Fatalf("no %s in %+v", r.name, tree)
	return nil
}

// growing waits until a node has received a quarter of an object more.
func growing(t testing.TB, p *process, before *state) {
	t.Helper()
	eventually(t, func() string {
		if more := p.state(t).BytesReceived - before.BytesReceived; more < uint64(large)/4 {
			return fmt.Sprintf("%s has %d bytes", p.name, more)
		}
		return ""
	})
}

// crawls waits until a node on a slow link has received or sent a little more, or has nothing
// left to do: what was on its way when the link became slow may have been enough.
func crawls(t testing.TB, p *process) {
	t.Helper()
	total := func() uint64 { s := p.state(t); return s.BytesReceived + s.BytesSent }
	now := total()
	eventually(t, func() string {
		if s := p.state(t); s.Fetching+s.Places == 0 {
			return ""
		}
		if more := total() - now; more < uint64(large)/100 {
			return fmt.Sprintf("%d bytes more have come and gone over a slow link", more)
		}
		return ""
	})
}

// checkReduce checks what a reduce says of its sources, and has all nodes check
// its bytes.
func checkReduce(t testing.TB, nodes []*process, o order, l line) {
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
	for _, c := range []struct {
		role
		short []string
	}{{leaf, []string{"kill", "stop", "drop"}}, {root, []string{"kill", "reset"}}} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, f fault) { reduceWith(t, f, c.role, 2) }, c.short...)
		})
	}
}

func reduceWith(t testing.TB, f fault, r role, degree int) {
	nodes := start(t, 6)
	before := states(t, nodes)
	asks := nodes[0] // and has the source that is spare: it comes last
	id := fresh("reduce")
	ids := sources(id, nodes)
	slices.Reverse(ids) // the spare one is the last
	put := func(i int) call { return tell(nodes[i], order{Do: "put", Object: ids[len(ids)-1-i], Size: large}) }
	var puts []call
	for i := 1; i < len(nodes); i++ {
		puts = append(puts, put(i))
	}
	must(t, puts...)
	o := order{Do: "reduce", Object: id, Sources: ids, Num: len(nodes) - 1, Degree: degree}
	reduce := tell(asks, o)
	tree := whole(t, asks, id, o.Num)
	must(t, put(0))
	victim, top := r.with(t, nodes, tree), root.with(t, nodes, tree)
	growing(t, top, before[slices.Index(nodes, top)])
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
	level(t, members, append(ids, id)...)
}
