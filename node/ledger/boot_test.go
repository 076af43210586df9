package ledger_test

import (
	"fmt"
	"testing"
	"time"

	node "github.com/phalanx-go/phalanx/node/ledger"
)

// cluster is one beginning of the cluster. Its members have leases while most of those that it had are there.
type cluster struct {
	restarts uint64
	by       *host
	members  []*host
	view     uint64
	most     int // members that it had at once
}

// alive reports whether the cluster can decide.
func (c *cluster) alive() bool {
	up := 0
	for _, h := range c.members {
		if h.up && h.cluster == c {
			up++
		}
	}
	return 2*up > c.most
}

// enter has a node be a member of a cluster, as a new incarnation.
func (c *cluster) enter(h *host) {
	if h.cluster == c {
		return
	}
	h.cluster = c
	h.incarnation++
	c.members = append(c.members, h)
	c.changed()
}

// changed has the members learn a view, while the cluster can decide.
func (c *cluster) changed() {
	if !c.alive() {
		return
	}
	there := c.members[:0:0]
	for _, h := range c.members {
		if h.up && h.cluster == c {
			there = append(there, h)
		}
	}
	c.members, c.most = there, len(there)
	c.view++
	for _, h := range there {
		h.viewOf(c)
	}
}

// lease gives the members that want one leases, for as long as the cluster can decide. A member that could get none
// for 5 s learns that.
func (c *cluster) lease(w *world) {
	for _, h := range c.members {
		switch {
		case !h.up || h.cluster != c:
		case c.alive() && !h.lapsed:
			h.lacks = 0
			if w.now < h.wanted {
				h.lease()
			}
		default:
			if h.lacks++; h.lacks == 17 {
				h.later(0, func() { h.step(node.NoLease{}) })
			}
		}
	}
	w.after(300*time.Millisecond, func() { c.lease(w) })
}

// restarting returns a world in which nodes come into clusters by themselves.
func restarting(t *testing.T, seed int64, names ...string) *world {
	w := newWorld(t, seed)
	w.clusters = true
	w.cfg.AwayAfter = time.Hour
	for i, name := range names {
		w.node(name, fmt.Sprint("m", i)).start()
		w.run(100 * time.Millisecond)
	}
	w.until("ledger of three disks", 10*time.Second, func() bool { l := w.leader(); return l != nil && len(l.core.Voters()) == 3 })
	w.run(3 * time.Second) // folders remember
	return w
}

// together reports whether all nodes that are there are in one cluster of a number that has leases.
func (w *world) together(restarts uint64) bool {
	var c *cluster
	for _, h := range w.hosts {
		if !h.up {
			continue
		}
		if c == nil {
			c = h.cluster
		}
		if h.cluster == nil || h.cluster != c || c.restarts != restarts || !c.alive() {
			return false
		}
	}
	return c != nil
}

// All are killed. One alone begins nothing; two of three begin one cluster, and the third enters it.
func TestTwoOfThreeBeginTheClusterAnew(t *testing.T) {
	w := restarting(t, 1, "a", "b", "c")
	for round := range uint64(3) {
		for _, h := range w.hosts {
			h.kill()
		}
		w.hosts[round].start()
		w.run(time.Minute)
		if w.hosts[round].cluster != nil {
			t.Fatal("a node alone is in a cluster")
		}
		w.hosts[(round+1)%3].start()
		w.until("cluster of two", 15*time.Second, func() bool { return w.together(round + 1) })
		w.hosts[(round+2)%3].start()
		w.until("cluster of three", 5*time.Second, func() bool { return w.together(round + 1) })
	}
}

// The third one is not waited for if its host refuses connections, and for 10 s if it is silent.
func TestHostThatRefusesIsNotWaitedFor(t *testing.T) {
	for _, refuses := range []bool{true, false} {
		w := restarting(t, 1, "a", "b", "c")
		w.refuses = refuses
		for _, h := range w.hosts {
			h.kill()
		}
		w.run(5 * time.Second)
		began := w.now
		w.hosts[0].start()
		w.hosts[1].start()
		w.until("cluster of two", 15*time.Second, func() bool { return w.together(1) })
		if took := w.now - began; refuses != (took < 3*time.Second) || !refuses && took < 10*time.Second {
			t.Errorf("with a host that refuses connections (%v) the cluster begins after %v", refuses, took)
		}
	}
}

// Nor is a node without a folder that the folders remember: it is back, and in no cluster.
func TestNodeWithoutAFolderIsNotWaitedFor(t *testing.T) {
	w := restarting(t, 1, "a", "b", "c")
	d := w.node("d", "m3")
	d.folder = nil
	d.start()
	w.run(5 * time.Second)
	for _, h := range w.hosts {
		h.kill()
	}
	w.run(5 * time.Second)
	for _, h := range w.hosts {
		h.start()
	}
	w.until("cluster", 3*time.Second, func() bool {
		for _, h := range w.hosts[:3] {
			if h.cluster == nil || h.cluster.restarts != 1 || !h.cluster.alive() {
				return false
			}
		}
		return true
	})
}

// An idle member keeps no lease, and a node that asks whether it is in a cluster hears of it still.
func TestIdleMembersKeepNoLease(t *testing.T) {
	w := restarting(t, 3, "a", "b", "c")
	w.run(time.Minute)
	for _, h := range w.hosts {
		if h.wanted > w.now-30*time.Second {
			t.Errorf("%s has wanted a lease although nobody asks for one", h.name)
		}
	}
	c := w.hosts[2]
	c.kill()
	w.run(time.Second)
	c.start()
	w.until("return to the cluster", 2*time.Second, func() bool { return w.together(0) })
}

// A member whose cluster is dead says no longer that it is in one once a node asks that is in none, and waits for nobody's
// lease longer than it takes to get one.
func TestAnswerToANodeInNoClusterIsProven(t *testing.T) {
	c, err := node.New(node.Config{Name: "a", Address: "a:1", Host: "h", Disk: 1, Ledger: 7, Opened: 1, Run: 3})
	if err != nil {
		t.Fatal(err)
	}
	view := node.Viewed{Self: "a#1", Number: 1, Members: []node.Member{{Node: "a#1", Address: "a:1", Keeps: true}, {Node: "b#1", Address: "b:1", Keeps: true}}}
	ask := func(at time.Duration, in bool) (says, wants bool) {
		for _, e := range c.Step(at, node.Heard{Hello: node.Hello{Asks: true, Address: "c:1", Ledger: 7, InCluster: in}}) {
			switch e := e.(type) {
			case node.Say:
				says = says || e.To == "c:1" && e.Hello.InCluster
			case node.WantLease:
				wants = true
			}
		}
		return says, wants
	}
	c.Step(0, view)
	c.Step(time.Second, node.Leased{Until: 2 * time.Second})
	for i, s := range []struct {
		at              time.Duration
		ev              node.Event
		in, says, wants bool
	}{
		{1500 * time.Millisecond, nil, false, true, false},                           // it has a lease
		{time.Minute, nil, true, true, false},                                        // a member asks
		{time.Minute, nil, false, false, true},                                       // it has none now
		{61 * time.Second, node.Leased{Until: 62 * time.Second}, false, true, false}, // but gets one
		{2 * time.Minute, nil, false, false, true},                                   // and now gets none
		{2*time.Minute + 1500*time.Millisecond, node.Tick{}, true, false, true},      // so that it is in none
		{2*time.Minute + 2*time.Second, node.Leased{Until: 3 * time.Minute}, true, true, false},
		{4 * time.Minute, node.NoLease{}, true, false, true},
	} {
		if s.ev != nil {
			c.Step(s.at-1, s.ev)
		}
		if says, wants := ask(s.at, s.in); says != s.says || s.ev == nil && wants != s.wants {
			t.Errorf("step %d: it says that it is in a cluster (%v), and wants a lease (%v)", i, says, wants)
		}
	}
}

// A node of the cluster before that lives on enters the one that was begun anew, or begins it.
func TestSurvivorIsInTheNewCluster(t *testing.T) {
	for seed := range worlds(8) {
		w := restarting(t, seed, "a", "b", "c", "d", "e")
		for i, h := range w.hosts {
			if int64(i) != seed%5 {
				h.kill()
			}
		}
		w.run(5 * time.Second)
		for _, h := range w.hosts {
			if !h.up {
				h.start()
			}
		}
		w.until("cluster of all", 30*time.Second, func() bool { return w.together(1) })
		w.run(30 * time.Second)
		if !w.together(1) {
			t.Errorf("seed %d: they did not stay together\n%s", seed, w)
		}
	}
}

// A node without a folder that lives on in a view of which most nodes are dead enters the next cluster, too.
func TestSurvivorWithoutAFolder(t *testing.T) {
	w := restarting(t, 3, "a", "b", "c")
	d := w.node("d", "m3")
	d.folder = nil
	d.start()
	w.run(5 * time.Second)
	for range 2 {
		for _, h := range w.hosts[:3] {
			h.kill()
		}
		w.run(5 * time.Second)
		for _, h := range w.hosts[:3] {
			h.start()
		}
		w.until("cluster of all", 40*time.Second, func() bool {
			return w.together(d.cluster.restarts) && d.cluster.restarts > 0 && d.cluster == w.begun[len(w.begun)-1]
		})
	}
}

// A member with a lease asks only the leader's node: the others are in the same cluster. It asks one that is away, too.
func TestMembersAskOnlyTheLeader(t *testing.T) {
	w := restarting(t, 5, "a", "b", "c", "d", "e")
	asked := func() (most int) {
		for _, h := range w.hosts {
			h.asks = 0
		}
		w.run(time.Minute)
		for _, h := range w.hosts {
			if h.up && h != w.leader() {
				most = max(most, h.asks)
			}
		}
		return most
	}
	w.run(time.Minute)
	if n := asked(); n > 3 { // each 30 s
		t.Errorf("a member has asked %d times in a minute", n)
	}
	away := w.hosts[0] // later ones knew it as they came
	if away == w.leader() {
		away = w.hosts[1]
	}
	away.kill()
	w.run(time.Minute)
	if n := asked(); n < 12 || n > 16 { // and each 5 s
		t.Errorf("a member has asked %d times in a minute, with one that is away", n)
	}
}

// A cluster that works is left alone, whatever happens to its members one at a time.
func TestNoClusterBesideOneThatWorks(t *testing.T) {
	w := restarting(t, 2, "a", "b", "c", "d", "e")
	w.drop = 0.05
	for range 8 {
		h := w.hosts[w.rng.Intn(len(w.hosts))]
		h.kill()
		w.run(time.Duration(w.rng.Intn(20)) * time.Second)
		h.start()
		w.until("return to the cluster", 10*time.Second, func() bool { return w.together(0) })
	}
}

// Nodes are killed at random, all of them too. No number is begun twice, and in the end all are in one cluster.
func TestRandomRestarts(t *testing.T) {
	for seed := range worlds(8) {
		w := restarting(t, seed, "a", "b", "c", "d")
		w.drop = []float64{0, 0.05}[seed%2]
		for range 12 {
			for _, h := range w.hosts {
				switch {
				case h.up && w.rng.Intn(3) == 0:
					h.kill()
				case !h.up && w.rng.Intn(2) == 0:
					h.start()
				}
			}
			w.run(time.Duration(w.rng.Intn(15000)) * time.Millisecond)
		}
		w.drop = 0
		for _, h := range w.hosts {
			if !h.up {
				h.start()
			}
		}
		w.until(fmt.Sprintf("one cluster of all (seed %d)", seed), 2*time.Minute, func() bool { return w.hosts[0].cluster != nil && w.together(w.hosts[0].cluster.restarts) })
		begun := map[uint64]string{}
		for _, c := range w.begun {
			if by, ok := begun[c.restarts]; ok {
				t.Errorf("seed %d: %s and %s have begun cluster %d", seed, by, c.by.name, c.restarts)
			}
			begun[c.restarts] = c.by.name
		}
	}
}

// A node that knows no other one begins the cluster at once when it starts again, and not once more when its lease
// comes late.
func TestNodeAloneBeginsTheClusterOnce(t *testing.T) {
	w := newWorld(t, 3)
	w.clusters = true
	h := w.node("a", "m")
	h.start()
	w.until("ledger", 2*time.Second, func() bool { return w.leader() != nil })
	h.kill()
	h.start()
	w.until("cluster", time.Second, func() bool { return w.together(1) })
	h.lapsed = true
	w.run(5 * time.Second)
	h.lapsed = false
	w.run(20 * time.Second)
	if len(w.begun) != 2 || !w.together(1) {
		t.Errorf("it has begun %d clusters", len(w.begun))
	}
}

// A member whose lease comes late stays in its cluster, which others say they are in.
func TestMemberWithoutLeaseStays(t *testing.T) {
	w := restarting(t, 4, "a", "b", "c")
	for _, h := range w.hosts {
		h.lapsed = true
		w.run(30 * time.Second)
		h.lapsed = false
		if h.enters > 0 || !w.together(0) {
			t.Errorf("%s was told %d times to enter a cluster", h.name, h.enters)
		}
	}
}

// A node that has heard of a cluster says that it joins: it may be the only one that knows of it.
func TestNodeSaysThatItJoins(t *testing.T) {
	c, err := node.New(node.Config{Name: "a", Address: "a:1", Host: "h", Addresses: []string{"b:1", "c:1"}, Disk: 1, Ledger: 7, Opened: 1, Run: 3})
	if err != nil {
		t.Fatal(err)
	}
	c.Step(0, node.Tick{})
	said := func() (joins bool) {
		for _, e := range c.Step(time.Second, node.Heard{Hello: node.Hello{Asks: true, Address: "c:1", Ledger: 7}}) {
			if s, is := e.(node.Say); is && s.To == "c:1" {
				joins = joins || s.Hello.Joining
			}
		}
		return joins
	}
	if said() {
		t.Error("it joins a cluster that it has not heard of")
	}
	c.Step(time.Second, node.Heard{Hello: node.Hello{Address: "b:1", Ledger: 7, InCluster: true, Boot: 2}})
	if !said() {
		t.Error("it does not say that it joins")
	}
}
