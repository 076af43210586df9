package view

import (
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// A view is redundant once enough members vote, and every shard has a backup.
func TestRedundant(t *testing.T) {
	all := []Member{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	six := append(slices.Clone(all), Member{ID: "d"}, Member{ID: "e"}, Member{ID: "f"})
	backed, bare := Shard{Owner: "a", Backup: "b"}, Shard{Owner: "b", Next: "c"}
	a, abc := []phalanx.NodeID{"a"}, []phalanx.NodeID{"a", "b", "c"}
	for name, test := range map[string]struct {
		view   View
		voters int
		is     bool
	}{
		"alone":             {View{Members: all[:1], Voters: a, Shards: []Shard{{Owner: "a"}}}, 0, true},
		"two":               {View{Members: all[:2], Voters: a, Shards: []Shard{backed}}, 0, true},
		"a shard is bare":   {View{Members: all[:2], Voters: a, Shards: []Shard{backed, bare}}, 0, false},
		"three":             {View{Members: all, Voters: abc, Shards: []Shard{backed}}, 0, true},
		"one votes":         {View{Members: all, Voters: a, Shards: []Shard{backed}}, 0, false},
		"one is to":         {View{Members: all, Voters: a, Shards: []Shard{backed}}, 1, true},
		"three of six":      {View{Members: six, Voters: abc, Shards: []Shard{backed}}, 3, true},
		"three of five":     {View{Members: six, Voters: abc, Shards: []Shard{backed}}, 5, false},
		"one of six":        {View{Members: six, Voters: a, Shards: []Shard{backed}}, 5, false},
		"the third leaves":  {View{Members: []Member{all[0], all[1], {ID: "c", Leaving: true}}, Voters: a, Shards: []Shard{backed}}, 0, true},
		"the voter leaves":  {View{Members: []Member{{ID: "a", Leaving: true}, all[1], all[2]}, Voters: a, Shards: []Shard{{Owner: "b", Backup: "c"}}}, 0, false},
		"the others leave":  {View{Members: []Member{all[0], {ID: "b", Leaving: true}}, Voters: a, Shards: []Shard{{Owner: "a"}}}, 0, true},
		"nothing is shared": {View{Members: all, Voters: abc, Shards: []Shard{{Owner: "a"}}}, 0, false},
	} {
		if is := test.view.Redundant(test.voters); is != test.is {
			t.Errorf("%s: %v", name, is)
		}
	}
}

func TestCritical(t *testing.T) {
	v := View{Voters: []phalanx.NodeID{"a", "b"}, Shards: []Shard{{Owner: "c", Backup: "a"}, {Owner: "d"}, {Owner: "c", Backup: "e"}}}
	if got := v.Critical(10); !slices.Equal(got, []phalanx.NodeID{"a", "b", "c", "d", "e"}) {
		t.Errorf("all: %v", got)
	}
	if got := v.Critical(3); !slices.Equal(got, []phalanx.NodeID{"a", "b", "c"}) {
		t.Errorf("three: %v", got)
	}
}
