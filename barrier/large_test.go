package barrier_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
)

// A barrier of 15,000 entries with labels of 200 bytes goes to new managers when a node joins.
// All others go on, whoever their primary is, and so does that one.
func TestALargeBarrierHoldsUpNoOther(t *testing.T) {
	if testing.Short() {
		t.Skip("15,000 entries")
	}
	nodes := start(t, 3)
	const entries = 15_000
	ctx := within(t)
	cfg := barrier.Config{Max: entries + 1}
	var in sync.WaitGroup
	enter := func(n *cluster.Node, i int) {
		in.Add(1)
		e := barrier.Entry{Host: "h", Label: fmt.Sprintf("%s%06d", strings.Repeat("x", 194), i)}
		open(t, n, "large", cfg).EnterFunc(ctx, e, func(p barrier.Passage, err error) {
			if err != nil || p.Late {
				t.Errorf("entry %d: %+v, %v", i, p, err)
			}
			in.Done()
		})
	}
	for i := range entries {
		enter(nodes[i%3], i)
	}
	eventually(t, "all entries", func() bool {
		all, err := barrier.List(ctx, nodes[0])
		return err == nil && len(all) == 1 && all[0].Entered == entries
	})
	joined, err := cluster.Join(ctx, config("n3", nodes[0].ControlAddr()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := joined.Leave(within(t)); err != nil {
			t.Error(err)
		}
	}()
	var others sync.WaitGroup
	for i := range 20 { // some of each primary
		for _, n := range nodes {
			others.Add(1)
			open(t, n, fmt.Sprint("other/", i), barrier.Config{Max: 3}).EnterFunc(ctx, barrier.Entry{}, func(_ barrier.Passage, err error) {
				if err != nil {
					t.Errorf("barrier %d: %v", i, err)
				}
				others.Done()
			})
		}
	}
	others.Wait()
	enter(joined, entries)
	in.Wait()
	if hosts, err := open(t, joined, "large", cfg).Hosts(ctx); err != nil || len(hosts["h"]) != entries+1 {
		t.Errorf("%d have passed, %v", len(hosts["h"]), err)
	}
}
