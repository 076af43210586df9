package cluster_test

import (
	"fmt"
	"testing"

	"github.com/phalanx-go/phalanx/cluster"
)

// A node that has started can be relied on: the next one may die at once.
func TestStartedIsRedundant(t *testing.T) {
	times := 12
	if testing.Short() {
		times = 4
	}
	for k := range times {
		nodes := start(t, k%4+1)
		last := nodes[len(nodes)-1]
		if v := last.View(); !v.Redundant(0) {
			t.Errorf("%s has started with %v", last.ID(), v)
		}
	}
}

// Nodes are killed and others started in their place, one after the other, under the old
// names or under new ones. With a new name the one that was killed is still in the view for
// a while, and does not count.
func TestOneNodeAfterTheOther(t *testing.T) {
	for name, of := range map[string]func(round int) string{
		"names that come back": func(round int) string { return string(rune('a' + round%3)) },
		"new names":            func(round int) string { return fmt.Sprint("new", round) },
	} {
		t.Run(name, func(t *testing.T) {
			nodes, rounds := start(t, 3), 6
			if testing.Short() {
				rounds = 4
			}
			for round := range rounds {
				nodes[0].Die()
				nodes = nodes[1:]
				seeds := []string{nodes[0].ControlAddr(), nodes[1].ControlAddr()}
				n, err := cluster.Join(within(t), cluster.Config{Name: of(round), Memory: 64 << 20, Seeds: seeds})
				if err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
				t.Cleanup(n.Close)
				nodes = append(nodes, n)
			}
			eventually(t, "a view of the three that live", func() bool { return len(nodes[2].View().Members) == 3 })
		})
	}
}
