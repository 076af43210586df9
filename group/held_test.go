package group_test

import (
	"fmt"
	"testing"

	"github.com/phalanx-go/phalanx/group"
)

// What a node holds for its groups counts against its memory cap, until they are over.
func TestGroupsCountAgainstTheMemoryCap(t *testing.T) {
	nodes := start(t, 2)
	ctx := within(t)
	const many = 200
	groups := each(t, make([]*group.Group, 2*many), func(i int, _ *group.Group) (*group.Group, error) {
		return group.Form(ctx, nodes[i%2], fmt.Sprint("g", i/2), on(nodes))
	})
	for i, n := range nodes {
		eventually(t, "the groups count", func() bool { return n.Status().Memory.Services > 1000*many })
		if m := n.Status().Memory; m.Services > m.Used || m.Services > 20_000*many {
			t.Errorf("node %d holds %+v for %d groups", i, m, many)
		}
	}
	for _, g := range groups {
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		eventually(t, "nothing is left to count", func() bool { return n.Status().Memory.Services == 0 })
	}
}
