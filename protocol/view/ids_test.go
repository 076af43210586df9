package view

import (
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
)

func TestIDs(t *testing.T) {
	v := View{Members: []Member{{ID: "a", Features: []string{"f"}}, {ID: "b", Leaving: true}, {ID: "c", Features: []string{"f"}, Leaving: true}}}
	for feature, want := range map[string][2][]phalanx.NodeID{"": {{"a", "b", "c"}, {"b", "c"}}, "f": {{"a", "c"}, {"c"}}, "g": {}} {
		if members, leaving := v.IDs(feature); !slices.Equal(members, want[0]) || !slices.Equal(leaving, want[1]) {
			t.Errorf("%q: %v, of which %v leave", feature, members, leaving)
		}
	}
}
