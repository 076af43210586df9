package view

import (
	"testing"

	"github.com/phalanx-go/phalanx"
)

// The voters let nobody in who is of another cluster, or speaks another version, and a
// node takes no view of such a one.
func TestOnlyThoseOfOneKindAreAdmitted(t *testing.T) {
	has := Common{Name: "mine", Wire: "1"}
	all := state{View: View{Number: 1, Cluster: "a#1", Common: has, Voters: []phalanx.NodeID{"a#1"}, Shards: make([]Shard, 2), Members: []Member{{ID: "a#1"}}}}
	for is, want := range map[Common]bool{has: true, {Name: "mine", Wire: "2"}: false, {Name: "other", Wire: "1"}: false, {}: false} {
		to, changed := all.apply(AddMember{Member: Member{ID: "b#1"}, Common: is})
		if changed != want || to.View.Has("b#1") != want {
			t.Errorf("%+v is let in: %v", is, changed)
		}
		c := New(Config{Self: Member{ID: "b#1"}, Common: is})
		var refused bool
		for _, e := range c.Step(Learn{From: "a#1", View: all.View}) {
			_, is := e.(Reject)
			refused = refused || is
		}
		if refused == want || (c.View().Cluster == "a#1") != want {
			t.Errorf("%+v takes the view: %v", is, !refused)
		}
	}
}
