package view

import (
	"testing"

	"github.com/phalanx-go/phalanx"
)

func TestIdle(t *testing.T) {
	members := func(ids ...phalanx.NodeID) (all []Member) { // those in capitals are leaving
		for _, id := range ids {
			all = append(all, Member{ID: id + "#1", Leaving: id < "a"})
		}
		return all
	}
	for _, c := range []struct {
		name    string
		members []Member
		shard   Shard
		idle    bool // for X#1
	}{
		{"owner", members("X", "a"), Shard{Owner: "X#1"}, false},
		{"becomes owner or backup", members("X", "a"), Shard{Owner: "a#1", Next: "X#1"}, false},
		{"backup, another can be", members("X", "a", "b"), Shard{Owner: "a#1", Backup: "X#1"}, false},
		{"backup, another becomes it", members("X", "a", "b"), Shard{Owner: "a#1", Backup: "X#1", Next: "b#1"}, false},
		{"backup of the last that stays", members("X", "a"), Shard{Owner: "a#1", Backup: "X#1"}, true},
		{"backup, all others leave", members("X", "Y", "Z", "a"), Shard{Owner: "a#1", Backup: "X#1"}, true},
		{"backup of one that leaves", members("X", "Y", "a"), Shard{Owner: "Y#1", Backup: "X#1", Next: "a#1"}, false},
		{"nothing of it", members("X", "a", "b"), Shard{Owner: "a#1", Backup: "b#1"}, true},
		{"owner, all leave", members("X", "Y"), Shard{Owner: "X#1", Backup: "Y#1"}, true},
		{"alone", members("X"), Shard{Owner: "X#1"}, true},
	} {
		if got := (View{Members: c.members, Shards: []Shard{c.shard}}).Idle("X#1"); got != c.idle {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
