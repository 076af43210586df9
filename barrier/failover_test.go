package barrier_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
)

// observer is a node of this process, in the cluster of the others: it sees who
// manages what.
func observer(t testing.TB, all []*process) *cluster.Node {
	t.Helper()
	n, err := cluster.Join(within(t), config("observer", all[0].Control))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Leave(within(t)); err != nil { // the test has killed a majority of the voters
			n.Close()
		}
	})
	eventually(t, "all are members", func() bool { return len(n.View().Members) == len(all)+1 })
	return n
}

// managed waits until so many have entered a barrier, and returns its managers.
func managed(t testing.TB, n *cluster.Node, name string, count int) []phalanx.NodeID {
	t.Helper()
	var managers []phalanx.NodeID
	eventually(t, fmt.Sprintf("%d are in %s", count, name), func() bool {
		all, err := barrier.List(within(t), n)
		if err != nil || entered(all, name) != count {
			return false
		}
		for _, s := range all {
			if s.Name == name {
				managers = s.Managers
			}
		}
		return true
	})
	return managers
}

// A barrier is open, and its primary is killed (SIGKILL): another manager takes over,
// knows who has entered, and fires when the last one comes.
func TestAKilledManagerLosesNothing(t *testing.T) {
	all := launch(t, 6)
	n := observer(t, all)
	cfg := barrier.Config{Max: 30}
	for round := range 2 { // the second time after the first primary is gone
		name := managedByAProcess(t, n, all, fmt.Sprint("killed/", round))
		live := slices.DeleteFunc(slices.Clone(all), func(p *process) bool { return p.Err() != nil || !n.View().Has(p.ID) })
		hosts := names(29)
		// Those on the primary die with it: it has none.
		primary := primaryOf(t, n, live, name, cfg)
		others := slices.DeleteFunc(slices.Clone(live), func(p *process) bool { return p == primary })
		share := map[*process][]string{}
		for i, h := range hosts {
			p := others[i%len(others)]
			share[p] = append(share[p], h)
		}
		for p, some := range share {
			p.Tell(t, order{Name: name, Config: cfg, Hosts: some})
		}
		managed(t, n, name, 29)
		began := time.Now()
		if err := primary.Kill(); err != nil {
			t.Fatal(err)
		}
		ctx := within(t)
		if _, err := open(t, n, name, cfg).Enter(ctx, barrier.Entry{Host: "last"}); err != nil {
			t.Fatal(err)
		}
		for p := range share {
			if r := p.Await(t); r.Err != "" || r.Late > 0 || len(r.Passed) != len(share[p]) {
				t.Errorf("%s: %+v", p.ID, r)
			}
		}
		t.Logf("%v from the kill until all had passed", time.Since(began))
		if hosts, err := open(t, n, name, cfg).Hosts(within(t)); err != nil || len(hosts) != 30 {
			t.Errorf("%d passed, %v", len(hosts), err)
		}
	}
}

// managedByAProcess returns a name whose primary is not the observer.
func managedByAProcess(t testing.TB, n *cluster.Node, all []*process, name string) string {
	t.Helper()
	for i := 0; ; i++ {
		try := fmt.Sprintf("%s/%d", name, i)
		if barrier.ManagersOf(n.View(), try)[0] != n.ID() {
			return try
		}
	}
}

func primaryOf(t testing.TB, n *cluster.Node, live []*process, name string, cfg barrier.Config) *process {
	t.Helper()
	id := barrier.ManagersOf(n.View(), name)[0]
	for _, p := range live {
		if p.ID == id {
			return p
		}
	}
	t.Fatalf("%s is none of the processes", id)
	return nil
}

// While processes die, the primary among them, no more than its count hold a
// semaphore, and everybody who lives gets it.
func TestASemaphoreWhoseManagersAreKilled(t *testing.T) {
	all := launch(t, 7)
	n := observer(t, all)
	cfg := barrier.Config{Semaphore: barrier.Semaphore{Count: 2, Timeout: 20 * time.Second}}
	name := managedByAProcess(t, n, all, "slots")
	primary := primaryOf(t, n, all, name, cfg)
	others := slices.DeleteFunc(slices.Clone(all), func(p *process) bool { return p == primary })
	for i, p := range others {
		p.Tell(t, order{Name: name, Config: cfg, Hosts: []string{fmt.Sprint("a", i), fmt.Sprint("b", i)}, Rounds: 1, Hold: primary.ID})
	}
	managed(t, n, name, 12)
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	var passed, left []int64
	for _, p := range others {
		r := p.Await(t)
		if r.Err != "" {
			t.Errorf("%s: %s", p.ID, r.Err)
		}
		passed, left = append(passed, r.Passed...), append(left, r.Left...)
	}
	for i, at := range passed {
		holders := 0
		for k := range passed {
			if passed[k] <= at && at < left[k] {
				holders++
			}
		}
		if holders > 2 {
			t.Errorf("%d hold it when caller %d has it", holders, i)
		}
	}
}
