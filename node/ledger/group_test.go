package ledger_test

import (
	"testing"
	"time"

	node "github.com/phalanx-go/phalanx/node/ledger"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// The first node with a folder creates the ledger alone; the third disk makes it three.
func TestOneReplicaGrowsToThree(t *testing.T) {
	w := newWorld(t, 1)
	w.node("a", "m1").start()
	w.until("ledger of one disk", 2*time.Second, func() bool { return w.voters() == "[a]" })
	w.node("b", "m2").start()
	w.run(5 * time.Second)
	if got := w.voters(); got != "[a]" {
		t.Errorf("with two disks %s vote", got)
	}
	w.node("c", "m3").start()
	w.until("ledger of three disks", 5*time.Second, func() bool { return w.voters() == "[a b c]" })
	if len(w.replaced) != 1 || len(w.replaced[0].Added) != 2 {
		t.Errorf("told of %+v", w.replaced)
	}
	w.node("d", "m4").start()
	w.run(10 * time.Second)
	if got := w.voters(); got != "[a b c]" {
		t.Errorf("a fourth disk changes the group to %s", got)
	}
}

// three returns a world whose ledger has the disks of a, b and c.
func three(t *testing.T, seed int64) *world {
	w := newWorld(t, seed)
	for i, name := range []string{"a", "b", "c"} {
		w.node(name, string(rune('1'+i))).start()
		w.run(100 * time.Millisecond)
	}
	w.until("ledger of three disks", 10*time.Second, func() bool { return w.voters() == "[a b c]" })
	return w
}

func (w *world) named(name string) *host {
	for _, h := range w.hosts {
		if h.name == name {
			return h
		}
	}
	w.t.Fatalf("no node %s", name)
	return nil
}

// Disks are spread over machines.
func TestReplicasAreOnDifferentHosts(t *testing.T) {
	for seed := range int64(4) {
		w := newWorld(t, seed)
		w.node("a", "m1").start()
		for _, name := range []string{"b", "c", "d"} {
			w.node(name, "m1")
		}
		w.node("e", "m2")
		w.node("f", "m3")
		w.run(time.Second)
		for _, h := range w.hosts[1:] { // all at once, so that the leader can choose
			h.start()
		}
		w.until("ledger on three machines", 20*time.Second, func() bool {
			l := w.leader()
			if l == nil {
				return false
			}
			machines := map[string]bool{}
			for _, id := range l.core.Voters() {
				machines[w.named(w.holder(id)).machine] = true
			}
			return len(machines) == 3
		})
		was := w.voters()
		w.run(30 * time.Second)
		if got := w.voters(); got != was {
			t.Errorf("seed %d: the group %s became %s", seed, was, got)
		}
	}
}

// A disk that is away is replaced after AwayAfter and not before; when it comes back it is a spare.
func TestDiskThatIsAwayIsReplaced(t *testing.T) {
	w := three(t, 2)
	w.node("d", "4").start()
	w.run(5 * time.Second)
	w.named("b").kill()
	w.run(15 * time.Second)
	if got := w.voters(); got == "[a c d]" {
		t.Errorf("it was replaced after 15 s")
	}
	w.until("replacement", 20*time.Second, func() bool { return w.voters() == "[a c d]" })
	w.named("b").start()
	w.run(30 * time.Second)
	if got := w.voters(); got != "[a c d]" {
		t.Errorf("when it came back the group became %s", got)
	}
	w.named("d").kill() // and it can take its part again
	w.until("second replacement", 40*time.Second, func() bool { return w.voters() == "[a b c]" })
}

// An empty folder under the name of a node is another disk.
func TestEmptyFolderIsAnotherDisk(t *testing.T) {
	w := three(t, 3)
	b := w.named("b")
	old := b.disk.Identity().Disk
	b.kill()
	b.folder = w.folder()
	b.start()
	w.run(15 * time.Second)
	w.until("replacement by the new disk", 30*time.Second, func() bool {
		l := w.leader()
		if l == nil || len(l.core.Voters()) != 3 {
			return false
		}
		for _, id := range l.core.Voters() {
			if id>>16 == old {
				return false
			}
		}
		return true
	})
}

// Of two disks of one host the one goes that is away: that of a folder in whose place there is an empty one.
func TestTheDiskThatIsAwayGoesFromAHost(t *testing.T) {
	w := three(t, 3)
	b := w.named("b")
	b.kill()
	b.folder = w.folder()
	b.start()
	w.run(time.Second)
	w.named("a").leaving = true // only the new disk is there to follow it
	w.changeView()
	w.until("group with both disks of b", 5*time.Second, func() bool { return w.voters() == "[b c none]" })
	w.node("d", "4").start()
	w.until("replacement of the old disk of b", 8*time.Second, func() bool { return w.voters() == "[b c d]" })
}

// A disk whose write fails is replaced at once.
func TestFailedDiskIsReplaced(t *testing.T) {
	w := three(t, 4)
	w.node("d", "4").start()
	w.run(5 * time.Second)
	w.named("b").fails = true
	w.until("replacement", 10*time.Second, func() bool { return w.voters() == "[a c d]" })
	if w.named("b").halted == nil {
		t.Error("the replica of the failed disk goes on")
	}
}

// A temporary disk is replaced as soon as its node is gone.
func TestTemporaryDiskIsReplacedAtOnce(t *testing.T) {
	w := newWorld(t, 5)
	for i, name := range []string{"a", "b", "c", "d"} {
		h := w.node(name, string(rune('1'+i)))
		h.temp = true
		h.start()
		w.run(time.Second)
	}
	w.until("ledger of three disks", 10*time.Second, func() bool { return w.voters() == "[a b c]" })
	w.named("b").kill()
	w.until("replacement", 3*time.Second, func() bool { return w.voters() == "[a c d]" })
}

// The leader's node leaves: another one leads within milliseconds, and its disk is replaced.
func TestLeavingLeaderHandsOver(t *testing.T) {
	for _, spare := range []bool{false, true} {
		w := three(t, 6)
		want := "[a b c]"
		if spare {
			w.node("d", "4").start()
			w.run(5 * time.Second)
		}
		l := w.leader()
		l.leaving = true
		began := w.now
		w.changeView()
		w.until("leader elsewhere", time.Second, func() bool { h := w.leader(); return h != nil && h != l })
		if took := w.now - began; took > 100*time.Millisecond {
			t.Errorf("another node leads after %v", took)
		}
		w.until("permission to leave", 10*time.Second, func() bool { return l.remains.View == w.view && l.remains.Left == 0 })
		if spare == l.keeps {
			t.Errorf("its disk keeps the replica: %v, with a spare disk: %v", l.keeps, spare)
		}
		if got := w.voters(); spare == (got == want) {
			t.Errorf("as the node may leave %s have replicas, a spare disk: %v", got, spare)
		}
	}
}

// All nodes of the ledger leave at once: they do not hand over to each other again and again. If one stays it leads, and
// nobody hands over to the other one that leaves.
func TestLeavingNodesDoNotHandOverToEachOther(t *testing.T) {
	for _, all := range []bool{true, false} {
		for seed := range int64(4) {
			w := three(t, seed)
			stays := w.hosts[2]
			if w.leader() == stays {
				stays = w.hosts[1]
			}
			before := len(w.epochs)
			for _, h := range w.hosts {
				if all || h != stays {
					h.leaving = true
				}
			}
			w.changeView()
			w.until("permission to leave", 10*time.Second, func() bool {
				for _, h := range w.hosts {
					if h.leaving && (h.remains.View != w.view || h.remains.Left != 0) {
						return false
					}
				}
				return true
			})
			w.run(5 * time.Second)
			if n := len(w.epochs) - before; n > 2 || !all && w.leader() != stays {
				t.Errorf("seed %d, all leave (%v): %d tenures have begun, and %v leads", seed, all, n, w.leader().name)
			}
		}
	}
}

// The only disk hands over to a spare one; alone it may leave at once.
func TestOnlyDiskLeaves(t *testing.T) {
	w := newWorld(t, 7)
	a := w.node("a", "1")
	a.start()
	w.until("ledger", 2*time.Second, func() bool { return w.voters() == "[a]" })
	w.node("b", "2").start()
	w.run(5 * time.Second)
	a.leaving = true
	w.changeView()
	w.until("other disk", 10*time.Second, func() bool { return w.voters() == "[b]" })
	w.until("permission to leave", 10*time.Second, func() bool { return a.remains.View == w.view && a.remains.Left == 0 })
	a.kill()
	b := w.named("b")
	b.leaving = true
	w.changeView()
	w.until("permission to leave", time.Second, func() bool { return b.remains.View == w.view && b.remains.Left == 0 })
}

// A copied folder: the one that was opened earlier ends, as a voter and as a spare.
func TestCopiedFolderEnds(t *testing.T) {
	for _, name := range []string{"b", "d"} {
		w := three(t, 8)
		w.node("d", "4").start()
		w.run(5 * time.Second)
		h := w.named(name)
		copied := h.folder.Copy()
		h.kill()
		h.start() // it counts one opening more
		w.run(5 * time.Second)
		h.kill()
		h.start()
		w.run(5 * time.Second)
		o := w.node("x", "5")
		o.folder = copied
		o.start()
		w.until("end of the copy", 20*time.Second, func() bool { return o.halted != nil })
		w.run(5 * time.Second)
		if h.halted != nil {
			t.Errorf("%s: the newest opening %+v has ended, the copy is %+v: %v", name, h.disk.Identity(), o.disk.Identity(), h.halted)
		}
	}
}

// Nodes of another ledger are refused, whatever they say.
func TestTwoLedgersRefuseEachOther(t *testing.T) {
	w := three(t, 9)
	other := newWorld(t, 10)
	x := other.node("x", "9")
	other.disks = 100
	x.folder = other.folder()
	x.start()
	other.until("ledger", 2*time.Second, func() bool { return other.voters() == "[x]" })
	x.kill()
	in := w.node("x", "9")
	in.folder, in.life, in.foreign = x.folder, 5, true
	in.start()
	w.run(30 * time.Second)
	if w.met < 1 {
		t.Errorf("%d nodes told of another ledger", w.met)
	}
	for _, h := range w.hosts {
		if h != in && h.leads.Replica>>16 == x.disk.Identity().Disk {
			t.Errorf("%s takes %+v for its leader", h.name, h.leads)
		}
	}
	w.until("end of its replica", 10*time.Second, func() bool { return in.halted != nil })
	for _, h := range w.hosts {
		if h != in && h.halted != nil {
			t.Errorf("%s ends its replica: %v", h.name, h.halted)
		}
	}
}

// A node with a folder of another ledger ends its replica when a seed says that it is in a cluster: before it is a member
// itself, so that its controller asks nobody there. An address that it only remembers does not count.
func TestReplicaEndsBeforeItComesIntoAnotherLedgersCluster(t *testing.T) {
	for seed, ends := range map[string]bool{"s:1": true, "r:1": false} {
		c, err := node.New(node.Config{Name: "x", Address: "x:1", Host: "h", Addresses: []string{"s:1", "r:1"}, Seeds: []string{"s:1"}, Disk: 1, Ledger: 9, Opened: 1, Run: 3})
		if err != nil {
			t.Fatal(err)
		}
		halted := func(ev node.Event) bool {
			is := false
			for _, e := range c.Step(0, ev) {
				_, h := e.(node.Halted)
				is = is || h
			}
			return is
		}
		halted(node.Opened{Ledger: 9, State: ledger.State{Replica: 1<<16 | 1}})
		hello := node.Hello{Address: seed, Ledger: 7, Disk: 2, Replica: 2<<16 | 1, Opened: 1, Run: 1}
		if halted(node.Heard{Hello: hello}) {
			t.Errorf("%s is in no cluster yet, and the replica has ended", seed)
		}
		hello.View = 1
		if halted(node.Heard{Hello: hello}) != ends {
			t.Errorf("%s: the replica goes on, or has ended", seed)
		}
	}
}

// Of two members with different ledgers the one that has joined first keeps its replica.
func TestTheFirstMemberKeepsItsLedger(t *testing.T) {
	x, y := node.Member{Node: "x#1", Address: "x:1", Keeps: true}, node.Member{Node: "y#1", Address: "y:1", Keeps: true}
	for i, members := range [][]node.Member{{x, y}, {y, x}} {
		c, err := node.New(node.Config{Name: "x", Address: "x:1", Host: "h", Disk: 1, Ledger: 9, Opened: 1, Run: 3})
		if err != nil {
			t.Fatal(err)
		}
		ended := false
		for _, ev := range []node.Event{node.Opened{Ledger: 9, State: ledger.State{Replica: 1<<16 | 1}}, node.Viewed{Self: "x#1", Number: 2, Members: members},
			node.Heard{Hello: node.Hello{Address: "y:1", Node: "y#1", View: 2, Ledger: 7, Disk: 2, Replica: 2<<16 | 1, Opened: 1, Run: 1}}} {
			for _, e := range c.Step(0, ev) {
				_, h := e.(node.Halted)
				ended = ended || h
			}
		}
		if ended != (i == 1) {
			t.Errorf("x has joined as number %d: its replica has ended: %v", i, ended)
		}
	}
}

// Only an answer to this opening of the folder says that another one is newer: one to an opening before may be late.
func TestStaleIsOfThisOpening(t *testing.T) {
	for stale, ends := range map[uint64]bool{2: false, 3: true} {
		c, err := node.New(node.Config{Name: "x", Address: "x:1", Host: "h", Disk: 1, Ledger: 9, Opened: 2, Run: 3})
		if err != nil {
			t.Fatal(err)
		}
		c.Step(0, node.Opened{Ledger: 9, State: ledger.State{Replica: 1<<16 | 1}})
		ended := false
		for _, e := range c.Step(0, node.Heard{Hello: node.Hello{Address: "y:1", Ledger: 9, Disk: 2, Replica: 2<<16 | 1, Opened: 1, Run: 1, Stale: stale}}) {
			_, h := e.(node.Halted)
			ended = ended || h
		}
		if ended != ends {
			t.Errorf("an answer to opening %d, of opening 3: the replica has ended: %v", stale, ended)
		}
	}
}

// A node without a folder finds the leader, again after it has changed.
func TestNodeWithoutFolderFindsTheLeader(t *testing.T) {
	w := three(t, 11)
	o := w.node("o", "9")
	o.folder = nil
	o.start()
	finds := func() bool { l := w.leader(); return l != nil && o.leads.Address == l.address() }
	w.until("leader", 3*time.Second, finds)
	w.leader().kill()
	w.until("other leader", 10*time.Second, func() bool { return finds() && w.leader().up })
}

// All nodes are killed and start again under other addresses: the folders' addresses bring them together.
func TestAllStartAgain(t *testing.T) {
	w := three(t, 12)
	w.run(time.Second)
	acked := len(w.acked)
	for _, h := range w.hosts {
		h.kill()
	}
	w.run(time.Minute)
	w.named("c").start()
	w.run(5 * time.Second)
	if w.leader() != nil {
		t.Error("one disk of three has a leader")
	}
	w.named("a").start()
	w.until("leader", 5*time.Second, func() bool { return w.leader() != nil })
	w.run(time.Second)
	if len(w.acked) <= acked {
		t.Error("nothing was appended after all started again")
	}
}

// After the end of its replica a node refuses appends and reads.
func TestWithoutReplicaAllIsRefused(t *testing.T) {
	w := newWorld(t, 13)
	o := w.node("o", "9")
	o.folder = nil
	o.start()
	for _, ev := range []ledger.Event{ledger.Append{Epoch: 3, Number: 1}, ledger.Read{ID: 5}} {
		if got := o.refusals(ev); got != 1 {
			t.Errorf("%T has %d answers", ev, got)
		}
	}
}

// Leadership goes around among nodes that are there: none is taken for away because an earlier leader has not
// heard of it for long.
func TestLeadershipGoesAround(t *testing.T) {
	for _, temp := range []bool{false, true} {
		w := newWorld(t, 14)
		w.cfg.AwayAfter = 5 * time.Second
		for i, name := range []string{"a", "b", "c", "d"} {
			h := w.node(name, string(rune('1'+i)))
			h.temp = temp && name != "a"
			h.start()
			w.run(time.Second)
		}
		w.until("ledger of three disks", 10*time.Second, func() bool { return w.voters() == "[a b c]" })
		led := map[string]int{}
		for range 6 {
			l := w.leader()
			led[l.name]++
			hung := l.hang()
			w.until("other leader", 10*time.Second, func() bool { h := w.leader(); return h != nil && h != l })
			hung()
			w.until("one leader", 10*time.Second, func() bool { return l.epoch == 0 || w.leader() == l })
			w.run(7 * time.Second) // longer than AwayAfter
		}
		if len(led) < 2 || led["a"]+led["b"]+led["c"] != 6 {
			t.Errorf("they led %v", led)
		}
		if got := w.voters(); got != "[a b c]" || len(w.replaced) != 1 {
			t.Errorf("temporary %v: the group became %s: %+v", temp, got, w.replaced)
		}
	}
}

// Executors tell the controller's incarnation what they have done: when its node comes again as another one, its tenure
// ends, and the next controller asks them.
func TestTenureIsOfOneIncarnation(t *testing.T) {
	w := three(t, 17)
	l := w.leader()
	epoch := l.epoch
	w.changeView()
	w.run(100 * time.Millisecond)
	if w.leader() != l || l.epoch != epoch {
		t.Fatal("another view ends the tenure")
	}
	l.incarnation++
	w.changeView()
	w.until("another tenure", time.Second, func() bool { h := w.leader(); return h != nil && h.epoch > epoch })
}
