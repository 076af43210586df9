package cluster

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/view"
)

func TestRelays(t *testing.T) {
	members := []view.Member{{ID: "a#1"}, {ID: "b#1"}, {ID: "c#1"}, {ID: "d#1"}}
	r := newRelays("a#1")
	now := time.Minute
	by := func(node phalanx.NodeID) phalanx.NodeID {
		by, ok := r.to(node, members, now)
		if ok == (by == "") {
			t.Fatalf("by %q, %v", by, ok)
		}
		return by
	}
	if by("b#1") != "" {
		t.Error("a node that answers is reached by another")
	}
	r.suspect("b#1")
	tried := map[phalanx.NodeID]bool{}
	for range members {
		tried[by("b#1")] = true
	}
	if len(tried) != 2 || !tried["c#1"] || !tried["d#1"] {
		t.Errorf("tried are %v", tried)
	}
	r.suspect("c#1")
	if by("b#1") != "d#1" || by("c#1") != "d#1" {
		t.Error("who is suspected relays")
	}
	r.suspect("d#1")
	if by("b#1") != "" {
		t.Error("there is nobody who could relay")
	}
	r.forget("d#1")
	r.forget("c#1")
	r.hear("b#1", "c#1", now)
	r.hear("d#1", "c#1", now)
	for range members {
		if by("b#1") != "c#1" || by("d#1") != "c#1" {
			t.Error("who relayed what came is not answered")
		}
	}
	r.suspect("c#1")
	if by("b#1") != "d#1" || by("d#1") != "" {
		t.Error("who relayed cannot be reached any more")
	}
	r.forget("c#1")
	if now += 2 * heardFor; by("d#1") != "" {
		t.Error("a relayed message is remembered for ever")
	}
	r.forget("b#1")
	if by("b#1") != "" {
		t.Error("a node that answers again is reached by another")
	}
}
