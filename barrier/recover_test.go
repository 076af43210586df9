package barrier_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
)

// Barriers are open, and two of three voters die at once: nobody passes. One node forms the
// cluster anew, and every barrier goes on with who had entered it, whoever had managed it.
func TestBarriersOfAClusterThatIsFormedAnew(t *testing.T) {
	const barriers, hosts = 6, 9
	nodes := start(t, 5)
	dead, left := voters(t, nodes, 2)
	cfg := barrier.Config{Max: hosts + 1}
	var early []<-chan outcome
	for i := range barriers {
		name := fmt.Sprint("anew/", i)
		early = append(early, enter(t, within(t), left, name, cfg, names(hosts)...))
	}
	eventually(t, "all have entered", func() bool {
		all, err := barrier.List(within(t), left[0])
		for i := range barriers {
			if err != nil || entered(all, fmt.Sprint("anew/", i)) != hosts {
				return false
			}
		}
		return true
	})
	for _, n := range dead {
		go n.Close()
	}
	recoverAt(t, left)
	for i, out := range early {
		name := fmt.Sprint("anew/", i)
		select {
		case o := <-out:
			t.Fatalf("%s passes %s before the last one has come: %+v, %v", o.host, name, o.Passage, o.err)
		default:
		}
		if p, err := open(t, left[i%3], name, cfg).Enter(within(t), barrier.Entry{Host: "last"}); err != nil || p.Late {
			t.Fatalf("%s: %+v, %v", name, p, err)
		}
		for range hosts {
			if o := <-out; o.err != nil || o.Late {
				t.Errorf("%s: %+v", name, o)
			}
		}
		if passed, err := open(t, left[0], name, cfg).Hosts(within(t)); err != nil || len(passed) != hosts+1 {
			t.Errorf("%d pass %s, %v", len(passed), name, err)
		}
	}
}

// voters returns k of the voters, and the other nodes.
func voters(t *testing.T, nodes []*cluster.Node, k int) (some, others []*cluster.Node) {
	t.Helper()
	eventually(t, "three voters", func() bool { return len(nodes[0].Status().Voters) == 3 })
	for _, n := range nodes {
		if len(some) < k && slices.Contains(nodes[0].Status().Voters, n.ID()) {
			some = append(some, n)
		} else {
			others = append(others, n)
		}
	}
	return some, others
}

// recoverAt has the first of the nodes that are left form the cluster anew.
func recoverAt(t *testing.T, left []*cluster.Node) {
	t.Helper()
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
	if r, err := left[0].Recover(within(t), cluster.RecoverOptions{}); err != nil || len(r.Members) != len(left) {
		t.Fatalf("%+v, %v", r, err)
	}
}
