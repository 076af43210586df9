package membership

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// oneSet starts n nodes that are all given the addresses of all as seeds, and have not joined.
func oneSet(t *testing.T, n int) []*node {
	t.Helper()
	var nodes []*node
	var seeds []string
	for i := range n {
		nodes = append(nodes, start(t, fmt.Sprint("n", i)))
		seeds = append(seeds, nodes[i].address())
	}
	for _, n := range nodes {
		n.cfg.Seeds = seeds
	}
	return nodes
}

// joinAll has nodes join at once.
func joinAll(t *testing.T, nodes ...*node) {
	t.Helper()
	var wg sync.WaitGroup
	for _, n := range nodes {
		wg.Go(func() {
			if err := n.Join(within(t)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// All nodes have one set of seeds, which names them, and start at once: one cluster.
func TestSeedsBeginOneCluster(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			nodes := oneSet(t, n)
			joinAll(t, nodes...)
			agree(t, nodes...)
		})
	}
}

// Less than a majority of the seeds waits, and says for which.
func TestAMinorityOfTheSeedsWaits(t *testing.T) {
	nodes := oneSet(t, 3)
	nodes[1].Stop()
	nodes[2].Stop()
	short, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	err := nodes[0].Join(short)
	if !errors.Is(err, phalanx.ErrDeadline) {
		t.Errorf("it ended with %v, %v", err, nodes[0].View())
	}
	if v := nodes[0].View(); v.Number != 0 {
		t.Errorf("it is in a cluster: %v", v)
	}
	for _, missing := range nodes[1:] {
		if !strings.Contains(err.Error(), missing.address()) {
			t.Errorf("%s is missing in %v", missing.address(), err)
		}
	}
}

// A seed that dies and starts again with its own flags joins the cluster that lives, whichever
// it was.
func TestASeedStartsAgain(t *testing.T) {
	nodes := oneSet(t, 3)
	joinAll(t, nodes...)
	agree(t, nodes...)
	cluster := nodes[0].View().Cluster
	for i, old := range nodes {
		old.Stop()
		again := startOf(t, fmt.Sprint("n", i), uint64(10+i))
		nodes[i] = again
		for _, n := range nodes {
			again.cfg.Seeds = append(again.cfg.Seeds, n.address())
		}
		joinAll(t, again)
		if v := again.View(); v.Cluster != cluster {
			t.Errorf("it is in another cluster: %v", v)
		}
		agree(t, nodes...)
	}
}

// A node at the address of a seed was given no seeds, and has begun a cluster of its own at
// once. The members of the first go on asking when they have joined. Both they and the node
// that they ask say so, once each.
func TestAClusterThatIsMet(t *testing.T) {
	nodes := oneSet(t, 3)
	met := make(chan [2]phalanx.NodeID, 10) // who, and whose cluster
	for _, n := range nodes {
		n.cfg.OnMet = func(_ string, cluster phalanx.NodeID) { met <- [2]phalanx.NodeID{n.id(), cluster} }
	}
	joinAll(t, nodes[:2]...)
	nodes[2].cfg.Seeds = nil // else it listens for members that live, and joins them
	joinAll(t, nodes[2])
	first := nodes[0].View().Cluster
	want := map[[2]phalanx.NodeID]bool{{nodes[0].id(), nodes[2].id()}: true, {nodes[1].id(), nodes[2].id()}: true, {nodes[2].id(), first}: true}
	for len(want) > 0 {
		select {
		case m := <-met:
			if !want[m] {
				t.Fatalf("%s met the cluster of %s, or again", m[0], m[1])
			}
			delete(want, m)
		case <-within(t).Done():
			t.Fatalf("not met: %v; the third is in %v, the first in %v", want, nodes[2].View(), nodes[0].View())
		}
	}
}
