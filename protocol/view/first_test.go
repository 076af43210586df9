package view

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// have has members with features join, one after the other.
func have(s state, features map[phalanx.NodeID][]string) state {
	for _, id := range slices.Sorted(maps.Keys(features)) {
		old, _ := s.View.Namesake(id)
		s, _ = s.apply(AddMember{Member: Member{ID: id, Features: features[id]}, Common: s.View.Common, Replaces: old.ID})
	}
	return s
}

// The first member with a feature is remembered, also when it is gone and when it comes again.
func TestFirsts(t *testing.T) {
	s := state{View: View{Cluster: "a#1", Shards: make([]Shard, 2)}}
	s = have(s, map[phalanx.NodeID][]string{"a#1": nil, "b#1": {"x"}, "c#1": {"x", "y"}})
	want := []First{{"x", "b#1"}, {"y", "c#1"}}
	if !reflect.DeepEqual(s.View.Firsts, want) {
		t.Fatal(s.View.Firsts)
	}
	before := s.View
	s, _ = s.apply(RemoveMember{Node: "b#1"})
	s = have(s, map[phalanx.NodeID][]string{"b#2": {"x"}, "c#2": {"y", "z"}})
	if want = append(want, First{"z", "c#2"}); !reflect.DeepEqual(s.View.Firsts, want) {
		t.Error(s.View.Firsts)
	}
	if len(before.Firsts) != 2 {
		t.Errorf("a view that was published has become %v", before.Firsts)
	}
	if x, none := s.View.First("x"), s.View.First("w"); x != "b#1" || none != "" {
		t.Errorf("first with x: %q, with w: %q", x, none)
	}
}

// The first member with a feature is known again by its mark and its name.
func TestWasFirst(t *testing.T) {
	s := state{View: View{Cluster: "a#1", Shards: make([]Shard, 2)}}
	s = have(s, map[phalanx.NodeID][]string{"a#1": nil, "b#1": {"x", "mark"}, "c#1": {"x", "other"}})
	s = have(s, map[phalanx.NodeID][]string{"b#2": {"x", "mark"}})
	for _, c := range []struct {
		id   phalanx.NodeID
		mark string
		want bool
	}{{"b#1", "", true}, {"b#2", "mark", true}, {"b#2", "", false}, {"b#2", "new", false}, {"b#2", "other", false}, {"c#1", "other", false}, {"c#1", "mark", false}, {"a#1", "", false}} {
		if got := s.View.WasFirst(c.id, "x", c.mark); got != c.want {
			t.Errorf("%s with the mark %q was the first: %v", c.id, c.mark, got)
		}
	}
	if s.View.WasFirst("a#1", "z", "mark") || (View{}).WasFirst("a#1", "x", "") {
		t.Error("somebody was the first with a feature that nobody has")
	}
}

// A node cannot fill the view with features.
func TestFirstsAreBounded(t *testing.T) {
	var many []string
	for i := range 2 * maxFirsts {
		many = append(many, fmt.Sprint("f", i))
	}
	s := have(state{View: View{Cluster: "a#1", Voters: []phalanx.NodeID{"a#1"}, Shards: make([]Shard, 2)}}, map[phalanx.NodeID][]string{"a#1": many})
	if len(s.View.Firsts) != maxFirsts {
		t.Errorf("the view has the first members with %d features", len(s.View.Firsts))
	}
	s.View.Firsts = append(s.View.Firsts, First{"one more", "a#1"})
	if err := s.View.valid(); err == nil {
		t.Error("a view with more features than a view can have is taken")
	}
}
