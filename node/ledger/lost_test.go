package ledger_test

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	node "github.com/phalanx-go/phalanx/node/ledger"
)

// A view is lost once the processes of most of its voters have ended: nobody waits then for a lease that comes late, neither of the
// survivors nor of a node that knows of it by them. As long as a host is silent its voter may live.
func TestALostViewIsNotWaitedFor(t *testing.T) {
	for seed := range worlds(8) {
		for _, away := range []bool{false, true} {
			w := restarting(t, seed, "a", "b", "c", "d", "e")
			for i := range 4 {
				w.hosts[(int(seed)+i)%5].kill()
			}
			w.run(time.Second)
			began := w.now
			for i := range 4 { // of the two nodes in the last view one is dead
				if h := w.hosts[(int(seed)+i)%5]; i < 3 || !away {
					h.start()
				}
			}
			w.until("cluster of all that are there", 30*time.Second, func() bool { return w.together(1) })
			if took := w.now - began; away != (took > 9*time.Second) || !away && took > 7*time.Second { // 5 s until they know that they have no lease
				t.Errorf("seed %d: with silent hosts (%v) the cluster begins after %v", seed, away, took)
			}
		}
	}
}

// deaths is the node a in a view of the members a to f, of which the first ones vote, and whether it says that this view is lost.
type deaths struct{ c *node.Core }

func deathsOf(t *testing.T, voters int) deaths {
	c, err := node.New(node.Config{Name: "a", Address: "a:1", Host: "h", Disk: 1, Ledger: 7, Opened: 1, Run: 3})
	if err != nil {
		t.Fatal(err)
	}
	view := node.Viewed{Self: "a#1", Number: 1}
	for i, n := range []phalanx.NodeID{"a#1", "b#1", "c#1", "d#1", "e#1", "f#1"} {
		view.Members = append(view.Members, node.Member{Node: n, Address: n.Name() + ":1", Keeps: true, Votes: i < voters})
	}
	c.Step(0, view)
	c.Step(time.Second, node.Leased{Until: 2 * time.Second})
	return deaths{c}
}

func (d deaths) lost(at time.Duration, ev node.Event) (says bool) {
	for _, e := range append(d.c.Step(at, ev), d.c.Step(at, node.Heard{Hello: node.Hello{Asks: true, Address: "x:1", Ledger: 7}})...) {
		if e, ok := e.(node.Say); ok && e.To == "x:1" {
			says = e.Hello.Lost
		}
	}
	return says
}

// A view is lost when the voters whose processes may live are no majority, and not before.
func TestViewIsLostWithItsMajority(t *testing.T) {
	for _, voters := range []int{2, 3, 4, 5} {
		d := deathsOf(t, voters)
		d.lost(time.Minute, node.NoLease{})
		d.lost(time.Minute, node.NotListening{Address: "f:1"}) // it does not vote
		for gone := 1; gone < voters; gone++ {
			says := d.lost(time.Minute, node.NotListening{Address: string(rune('a'+gone)) + ":1"})
			if want := 2*(voters-gone) <= voters; says != want {
				t.Errorf("with %d of %d voters gone the view is lost: %v", gone, voters, says)
			}
		}
	}
}

// Only voters whose processes have ended lose the view.
func TestWhoLosesAView(t *testing.T) {
	quiet := func(at string) node.Event { return node.NotListening{Address: at} }
	heard := func(h node.Hello) node.Event { return node.Heard{Hello: h} }
	for what, c := range map[string]struct {
		evs  []node.Event
		lost bool
	}{
		"two voters":                                {[]node.Event{node.NoLease{}, quiet("b:1"), quiet("c:1")}, true},
		"a voter and another member":                {[]node.Event{node.NoLease{}, quiet("b:1"), quiet("d:1")}, false},
		"processes in no view":                      {[]node.Event{node.NoLease{}, heard(node.Hello{Address: "b:1", Ledger: 7}), heard(node.Hello{Address: "c:1", Ledger: 7})}, true},
		"members that do not know their ledger":     {[]node.Event{node.NoLease{}, quiet("b:1"), heard(node.Hello{Address: "c:1", Boot: 1})}, false},
		"two, while there is a lease, and long ago": {[]node.Event{node.Leased{Until: 3 * time.Second}, quiet("b:1"), quiet("c:1"), node.Tick{}, node.Tick{}, node.Tick{}, node.Tick{}, node.Tick{}, node.NoLease{}}, false},
	} {
		d := deathsOf(t, 3)
		says := false
		for i, ev := range c.evs {
			says = d.lost(2200*time.Millisecond+time.Duration(i)*300*time.Millisecond, ev)
		}
		if says != c.lost {
			t.Errorf("%s: it says that its view is lost: %v", what, says)
		}
	}
}

// An address that has refused connections for a moment, and whose process then says that it is in the view, has not lost that process.
func TestAVoterThatAnswersAgainHasNotEnded(t *testing.T) {
	d := deathsOf(t, 3)
	in := node.Hello{Address: "b:1", Ledger: 7, Boot: 1}
	for i, s := range []struct {
		at   time.Duration
		ev   node.Event
		lost bool
	}{
		{4900 * time.Millisecond, node.NotListening{Address: "b:1"}, false},
		{5000 * time.Millisecond, node.Heard{Hello: in}, false},
		{5100 * time.Millisecond, node.NotListening{Address: "c:1"}, false},
		{5200 * time.Millisecond, node.NoLease{}, false}, // of the three only c has ended
		{5300 * time.Millisecond, node.NotListening{Address: "b:1"}, true},
		{5400 * time.Millisecond, node.Heard{Hello: in}, false},
		{5500 * time.Millisecond, node.NotListening{Address: "b:1"}, true},
	} {
		if says := d.lost(s.at, s.ev); says != s.lost {
			t.Errorf("step %d: it says that its view is lost: %v", i, says)
		}
	}
}
