package faults

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/bed"
	"github.com/phalanx-go/phalanx/internal/poll"
)

var names atomic.Int64

// fresh returns an id that no test has used.
func fresh(name string) phalanx.ObjectID {
	return phalanx.ObjectID(fmt.Sprintf("%s/%d", name, names.Add(1)))
}

// start returns n nodes, on hosts 0 to n-1, which all see each other and whose
// shards all have a backup. No link is cut or slow.
func start(t testing.TB, n int) []*process {
	t.Helper()
	bed.Need(t)
	if shared == nil {
		b, err := bed.New(bed.Config{Hosts: hosts, Rate: rate})
		if err != nil {
			t.Fatal(err)
		}
		shared = b
	}
	do(t, shared.HealAll())
	first := launch(t, 0, "n0")
	nodes := []*process{first}
	up(t, first)
	for i := 1; i < n; i++ {
		nodes = append(nodes, launch(t, i, fmt.Sprint("n", i), seed(t, first)))
	}
	for _, p := range nodes {
		up(t, p)
	}
	settle(t, nodes)
	return nodes
}

// seed is where others join.
func seed(t testing.TB, p *process) string { t.Helper(); return up(t, p).Control }

// up waits until a node has joined, and returns what it said then.
func up(t testing.TB, p *process) *state {
	t.Helper()
	s, ok := p.joined()
	if !ok {
		t.Fatalf("%s does not join", p.name)
	}
	return s
}

// settle waits until the members are these nodes, and every shard has an owner
// and a backup.
func settle(t testing.TB, nodes []*process) {
	t.Helper()
	eventually(t, func() string {
		var ids []phalanx.NodeID
		var all []*state
		for _, p := range nodes {
			s := p.state(t)
			all, ids = append(all, s), append(ids, s.Node)
		}
		slices.Sort(ids)
		for _, s := range all {
			var members []phalanx.NodeID
			for _, m := range s.Members {
				members = append(members, m.ID)
			}
			if slices.Sort(members); !slices.Equal(members, ids) || !s.Whole || len(s.Voters) != min(3, len(nodes)) && len(nodes) >= 3 {
				return fmt.Sprintf("%s sees %v with voters %v, all shards whole: %v; want %v", s.Node, members, s.Voters, s.Whole, ids)
			}
		}
		return ""
	})
}

// eventually waits until wrong says nothing.
func eventually(t testing.TB, wrong func() string) {
	t.Helper()
	var what string
	if !poll.Holds(func() bool { what = wrong(); return what == "" }) {
		t.Fatal("not within a minute: ", what)
	}
}

// A node with nothing to do has this many goroutines at most: its connections to
// a member take some twenty, those for streams that are kept for the next one
// among them.
const (
	goroutines    = 40
	goroutinesFor = 22 // each member
)

// level deletes objects and waits until no node has anything left of them.
func level(t testing.TB, nodes []*process, objects ...phalanx.ObjectID) {
	t.Helper()
	for _, id := range objects {
		must(t, tell(nodes[0], order{Do: "delete", Object: id}))
	}
	for _, p := range nodes {
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("%s: %s", p.name, tell(p, order{Do: "goroutines"}).answer(t).Text)
			}
		})
		eventually(t, func() string {
			s := p.state(t)
			if used := s.Memory.Used - s.Memory.Idle - s.Memory.Directory; s.Objects+s.Fetching+s.Reduces+s.Places > 0 || used > 0 || s.Goroutines > goroutines+goroutinesFor*len(s.Members) {
				return fmt.Sprintf("%s has %d objects, %d fetches, %d reduces, %d places, %d bytes, %d goroutines with %d members", s.Node,
					s.Objects, s.Fetching, s.Reduces, s.Places, used, s.Goroutines, len(s.Members))
			}
			return ""
		})
	}
}

// states asks all nodes.
func states(t testing.TB, nodes []*process) []*state {
	t.Helper()
	var all []*state
	for _, p := range nodes {
		all = append(all, p.state(t))
	}
	return all
}

// without returns the others.
func without(nodes []*process, p *process) []*process {
	return slices.DeleteFunc(slices.Clone(nodes), func(q *process) bool { return q == p })
}

// on returns the process that is a node.
func on(t testing.TB, nodes []*process, id phalanx.NodeID) *process {
	t.Helper()
	for _, p := range nodes {
		if id.Name() == p.name {
			return p
		}
	}
	t.Fatalf("nobody is %s", id)
	return nil
}

// removed checks that a node has left the view of all others, and was suspected before.
func removed(t testing.TB, others []*process, id phalanx.NodeID) {
	t.Helper()
	suspected := false
	for _, p := range others {
		expect(t, p, func(e actors.NodeDown) bool { return e.Node == id })
		suspected = suspected || len(seen(p, func(e actors.NodeSuspected) bool { return e.Node == id })) > 0
	}
	if !suspected {
		t.Errorf("%s is down, and nobody suspected it", id)
	}
	nobodyElse(t, others, id)
}

// nobodyElse checks that only the given nodes were removed, in whatever life.
func nobodyElse(t testing.TB, nodes []*process, ids ...phalanx.NodeID) {
	t.Helper()
	for _, p := range nodes {
		other := func(e actors.NodeDown) bool {
			return !slices.ContainsFunc(ids, func(id phalanx.NodeID) bool { return id.Name() == e.Node.Name() })
		}
		for _, e := range seen(p, other) {
			t.Errorf("%s: %v, which has not failed", p.name, e)
		}
	}
}
