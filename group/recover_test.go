package group_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/group"
)

// Two of three voters die at once, members of a group among them. What the others agree on
// waits until one of them forms the cluster anew, and is then the same to all; they shrink
// the group, and go on.
func TestAGroupOfAClusterThatIsFormedAnew(t *testing.T) {
	nodes := start(t, 5)
	eventually(t, "three voters", func() bool { return len(nodes[0].Status().Voters) == 3 })
	groups := form(t, "g", nodes)
	var left []*cluster.Node
	var living []*group.Group
	var failed []int
	for i, n := range nodes {
		if len(failed) < 2 && slices.Contains(nodes[0].Status().Voters, n.ID()) {
			failed = append(failed, i)
			go n.Close()
			continue
		}
		left, living = append(left, n), append(living, groups[i])
	}
	ends := make(chan string, len(living))
	for i, g := range living {
		go func() {
			a, err := g.Agree(within(t), int64(1<<i), group.Or)
			ends <- fmt.Sprintf("value %d, failed %v, %v", a.Value, a.Failed, err)
		}()
	}
	eventually(t, "the majority is lost", func() bool {
		lost := true
		for _, n := range left {
			lost = lost && n.Status().MajorityLost
			if len(n.View().Members) == len(left) {
				t.Skip("the cluster has removed one node before the other one died")
			}
		}
		return lost
	})
	select {
	case e := <-ends:
		t.Fatalf("without a majority they agree: %s", e)
	default:
	}
	if r, err := left[0].Recover(within(t), cluster.RecoverOptions{}); err != nil || len(r.Members) != len(left) {
		t.Fatalf("%+v, %v", r, err)
	}
	want := fmt.Sprintf("value 7, failed %v, <nil>", failed)
	for range living {
		if e := <-ends; e != want {
			t.Errorf("%s, want %s", e, want)
		}
	}
	smaller := each(t, living, func(_ int, g *group.Group) (*group.Group, error) { return g.Shrink(within(t)) })
	for i, g := range smaller {
		if g.Size() != 3 || g.Rank() != i || g.Name() != smaller[0].Name() {
			t.Errorf("rank %d of %d in %s", g.Rank(), g.Size(), g.Name())
		}
	}
	for _, a := range each(t, smaller, func(i int, g *group.Group) (group.Agreement, error) {
		return g.Agree(within(t), int64(i), group.Max)
	}) {
		if a.Value != 2 || len(a.Failed) > 0 {
			t.Errorf("%+v", a)
		}
	}
}
