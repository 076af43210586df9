package workflow

import (
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// tried checks which node is asked next.
func tried(t *testing.T, m *Making, on phalanx.NodeID) ActorAt {
	t.Helper()
	at, next := m.Next()
	if next != MakingTries || at.Node != on {
		t.Fatalf("%v: node %s is asked, want %s", next, at.Node, on)
	}
	return at
}

func ends(t *testing.T, m *Making, want MakingNext) {
	t.Helper()
	if _, next := m.Next(); next != want {
		t.Fatalf("it ends with %v, want %v", next, want)
	}
}

// making returns a search on nodes a, b and c, in this order, and its attempt.
func making(patience time.Duration) (*Seats, *Making) {
	s := NewSeats(me)
	s.spread.turn = 0
	return s, s.Spawn("k@1").Make([]phalanx.NodeID{"a", "b", "c"}, patience)
}

// A node that cannot make the actor is followed by the next one. Each may have made it, and is asked for another ID.
func TestMakingAsksOneNodeAfterTheOther(t *testing.T) {
	s, m := making(0)
	var all []ActorAt
	for i, end := range []ActorEnd{ActorLacks, ActorSilent} {
		all = append(all, tried(t, m, []phalanx.NodeID{"a", "b"}[i]))
		if next := m.Answered(end); next != MakingTries {
			t.Fatalf("after %v it goes on with %v", end, next)
		}
	}
	all = append(all, tried(t, m, "c"))
	if next := m.Answered(ActorDone); next != MakingDone {
		t.Fatalf("it goes on with %v", next)
	}
	if all[0].ID == all[1].ID || all[1].ID == all[2].ID {
		t.Errorf("nodes are asked for %+v", all)
	}
	if got := s.Leaves(false); !slices.Equal(got, all) {
		t.Errorf("nodes forget %+v, want %+v", got, all)
	}
	s.spread.turn = 0
	if at, _ := s.Spawn("k@1").Make([]phalanx.NodeID{"a", "b", "c"}, 0).Next(); at.Node != "c" { // it has an actor, and the others lack the kind
		t.Errorf("node %s is asked first", at.Node)
	}
	s.all[0].Keep()
	if got := s.all[0].leaves(true); !slices.Equal(got, all[:2]) {
		t.Errorf("nodes forget %+v, want %+v", got, all[:2])
	}
}

// If what makes the actor fails it would fail on other nodes as well.
func TestMakingFails(t *testing.T) {
	for _, end := range []ActorEnd{ActorFailed, ActorCrashed} {
		s, m := making(0)
		at := tried(t, m, "a")
		if next := m.Answered(end); next != MakingFailed {
			t.Errorf("after %v it goes on with %v", end, next)
		}
		if got := s.Leaves(true); !slices.Equal(got, []ActorAt{at}) { // a node may have it all the same
			t.Errorf("nodes forget %+v", got)
		}
	}
}

// Nodes that do not answer are unavailable; there is no use in waiting for a kind.
func TestMakingOnSilentNodes(t *testing.T) {
	_, m := making(time.Minute)
	for _, n := range []phalanx.NodeID{"a", "b", "c"} {
		tried(t, m, n)
		m.Answered(map[bool]ActorEnd{true: ActorSilent, false: ActorLacks}[n == "b"])
	}
	ends(t, m, MakingSilent)
}

// While no node has the kind the attempt waits for its patience, and asks the nodes that there are then. Nodes that have left are none.
func TestMakingWaitsForAKind(t *testing.T) {
	for _, end := range []ActorEnd{ActorLacks, ActorGone} {
		_, m := making(2 * MakingPause)
		for _, n := range []phalanx.NodeID{"a", "b", "c"} {
			tried(t, m, n)
			m.Answered(end)
		}
		ends(t, m, MakingWaits)
		m.Again(nil)
		ends(t, m, MakingWaits)
		m.Again([]phalanx.NodeID{"d"})
		tried(t, m, "d")
		m.Answered(ActorLacks)
		ends(t, m, MakingLacks)
	}
	_, m := making(0)
	m.Again(nil)
	ends(t, m, MakingLacks)
}

// Actors are spread: the node with the fewest actors of the attempt comes first, given ones count, and nodes that lack the kind come last.
func TestSpread(t *testing.T) {
	s := NewSeats(me)
	nodes := []phalanx.NodeID{"a", "b", "c"}
	on := map[phalanx.NodeID]int{"a": 2}
	s.Given("k@1", ActorAt{Node: "a", ID: "1"}, nil, false)
	s.Given("k@1", ActorAt{Node: "a", ID: "2"}, nil, false)
	for i := range 7 {
		m := s.Spawn("k@1").Make(nodes, 0)
		at, _ := m.Next()
		m.Answered(ActorDone)
		if on[at.Node]++; i == 3 && (on["b"] != 2 || on["c"] != 2) {
			t.Errorf("%v: the actors that the attempt was given do not count", on)
		}
	}
	if on["a"] != 3 || on["b"] != 3 || on["c"] != 3 {
		t.Errorf("%v", on)
	}
	s.spread.cannot("b", "k@1")
	s.spread.added("a")
	if got := s.spread.order("k@1", nodes); !slices.Equal(got, []phalanx.NodeID{"c", "a", "b"}) {
		t.Errorf("%v", got)
	}
	if got := s.spread.order("other@1", nodes); got[2] != "a" {
		t.Errorf("%v: b lacks another kind", got)
	}
	if !slices.Equal(nodes, []phalanx.NodeID{"a", "b", "c"}) {
		t.Errorf("the host's nodes are %v now", nodes)
	}
}

// Attempts begin at different nodes, and one attempt takes turns.
func TestSpreadTakesTurns(t *testing.T) {
	nodes, first := []phalanx.NodeID{"a", "b", "c", "d"}, map[phalanx.NodeID]int{}
	for i := range 100 {
		s := newSpread(Prefix("run", string(rune('0'+i%10)), uint32(i/10), core.Attempt{Epoch: 1, Number: 1}, false))
		first[s.order("k@1", nodes)[0]]++
	}
	for _, n := range nodes {
		if first[n] < 5 {
			t.Errorf("%v attempts begin at the nodes", first)
		}
	}
	s, all := newSpread(me), map[phalanx.NodeID]bool{}
	for range nodes {
		all[s.order("k@1", nodes)[0]] = true
	}
	if len(all) != len(nodes) {
		t.Errorf("an attempt begins at %v only", all)
	}
}
