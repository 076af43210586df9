package detect

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

func TestRoutes(t *testing.T) {
	members := []phalanx.NodeID{"a#1", "b#1", "c#1", "d#1"}
	r := NewRoutes("a#1")
	r.Learn(members)
	now := time.Minute
	by := func(node phalanx.NodeID) phalanx.NodeID {
		by, ok := r.To(node, now)
		if ok == (by == "") {
			t.Fatalf("by %q, %v", by, ok)
		}
		return by
	}
	if by("b#1") != "" {
		t.Error("a node that answers is reached by another")
	}
	r.Suspect("b#1")
	tried := map[phalanx.NodeID]bool{}
	for range members {
		tried[by("b#1")] = true
	}
	if len(tried) != 2 || !tried["c#1"] || !tried["d#1"] {
		t.Errorf("tried are %v", tried)
	}
	r.Suspect("c#1")
	if by("b#1") != "d#1" || by("c#1") != "d#1" {
		t.Error("a node that is suspected brings messages")
	}
	r.Suspect("d#1")
	if by("b#1") != "" {
		t.Error("nobody is left who could bring it")
	}
	r.Forget("d#1")
	r.Forget("c#1")
	r.Hear("b#1", "c#1", now)
	r.Hear("d#1", "c#1", now)
	for range members {
		if by("b#1") != "c#1" || by("d#1") != "c#1" {
			t.Error("the member that brought a message does not bring the answer")
		}
	}
	r.Suspect("c#1")
	if by("b#1") != "d#1" || by("d#1") != "" {
		t.Error("the member that brought a message cannot be reached any more")
	}
	r.Forget("c#1")
	if now += 2 * heardFor; by("d#1") != "" {
		t.Error("a message that was brought is remembered for ever")
	}
	r.Forget("b#1")
	if by("b#1") != "" {
		t.Error("a node that answers again is reached by another")
	}
	r.Suspect("b#1")
	r.Hear("c#1", "d#1", now)
	if r.Learn(members[3:]); by("b#1") != "" || by("c#1") != "" || len(r.suspected) > 0 {
		t.Error("nodes that are no members any more are remembered")
	}
}

// A node sends no answer by way of a relay that has left, although its message came by that relay.
func TestARelayThatLeaves(t *testing.T) {
	r := NewRoutes("a#1")
	r.Learn([]phalanx.NodeID{"a#1", "b#1", "c#1"})
	r.Hear("b#1", "c#1", time.Minute)
	r.Learn([]phalanx.NodeID{"a#1", "b#1"})
	r.Hear("b#1", "c#1", time.Minute) // late
	if by, ok := r.To("b#1", time.Minute); ok {
		t.Errorf("messages to b#1 go by way of %s, which has left", by)
	}
}
