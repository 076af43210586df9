package barrier_test

import (
	"fmt"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
)

// Every node sees the barriers that it manages itself, and those of others.
func TestEveryNodeSeesAll(t *testing.T) {
	nodes := start(t, 2)
	managed := map[phalanx.NodeID]string{}
	for i := 0; len(managed) < 2; i++ {
		name := fmt.Sprint("seen/", i)
		managed[barrier.ManagersOf(nodes[0].View(), name)[0]] = name
	}
	for _, name := range managed {
		if _, err := open(t, nodes[0], name, barrier.Config{Max: 1}).Enter(within(t), barrier.Entry{Host: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		all, err := barrier.List(within(t), n)
		if err != nil || len(all) != 2 {
			t.Fatalf("%+v, %v", all, err)
		}
		for _, s := range all {
			if managed[s.Managers[0]] != s.Name || s.Entered != 1 || s.Fired == "" {
				t.Errorf("%+v", s)
			}
		}
		for _, m := range nodes {
			if k, err := barrier.Letters(within(t), n, m.ID()); err != nil || k == 0 {
				t.Errorf("%s sees %d letters of %s, %v", n.ID(), k, m.ID(), err)
			}
		}
	}
	_, err := barrier.Letters(within(t), nodes[0], "nobody#1")
	is(t, err, phalanx.ErrInvalid)
}
