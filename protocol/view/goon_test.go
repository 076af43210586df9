package view

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A member that hands over against its will, as a leader whose removal somebody has asked
// for, asks to be removed until it is: cut off for long enough, it would stay so for ever.
func TestHandingOverAgainstItsWillEnds(t *testing.T) {
	c := New(Config{Self: Member{ID: "b#1"}})
	v := View{Number: 5, Cluster: "a#1", Voters: []phalanx.NodeID{"a#1"}, Shards: make([]Shard, 1), Members: []Member{{ID: "a#1"}, {ID: "b#1", Leaving: true}}}
	c.Step(Learn{From: "a#1", Term: 2, View: v})
	asked := time.Duration(0)
	for now := time.Duration(0); now < time.Minute; now += 20 * time.Millisecond {
		for _, e := range c.Step(Tick{Now: now}) {
			if f, ok := e.(Forward); ok && f.Command == (RemoveMember{Node: "b#1"}) {
				asked = now
			}
		}
	}
	if asked < 59*time.Second {
		t.Errorf("it has asked after %v for the last time", asked)
	}
}

// A member that could not leave takes its mark back, also if that comes only after it has
// given up.
func TestAMarkThatComesLateIsTakenBack(t *testing.T) {
	c := New(Config{Self: Member{ID: "b#1"}})
	v := View{Number: 5, Cluster: "a#1", Voters: []phalanx.NodeID{"a#1"}, Shards: make([]Shard, 1), Members: []Member{{ID: "a#1"}, {ID: "b#1"}}}
	var asked []Command
	step := func(ev Event) {
		for _, e := range c.Step(ev) {
			if f, ok := e.(Forward); ok {
				asked = append(asked, f.Command)
			}
		}
	}
	step(Learn{From: "a#1", Term: 2, View: v})
	step(Propose{Command: Leaving{Node: "b#1"}})
	step(Propose{Command: Leaving{Node: "b#1", Stays: true}})
	asked = nil
	step(Tick{Now: time.Second})
	if len(asked) > 0 {
		t.Errorf("it still asks: %v", asked)
	}
	v.Number, v.Members = 6, []Member{{ID: "a#1"}, {ID: "b#1", Leaving: true}}
	step(Learn{From: "a#1", Term: 2, View: v, Now: 2 * time.Second})
	if len(asked) != 1 || asked[0] != (Leaving{Node: "b#1", Stays: true}) {
		t.Errorf("once the view has the mark, it asks: %v", asked)
	}
}

// Where a shard is lost, those that leave ask again: it may have kept bytes for them.
func TestALostShardKeepsNothing(t *testing.T) {
	s := state{View: View{Number: 7, Left: 2, Shards: []Shard{{Epoch: 3, Owner: "a#1", Next: "b#1"}}, Members: []Member{{ID: "a#1"}, {ID: "b#1"}, {ID: "c#1", Leaving: true}}}}
	if now, changed := s.apply(Drop{Shard: 0, Epoch: 3, Node: "a#1"}); !changed || now.View.Shards[0].LostAt != 4 || now.View.Left != 8 {
		t.Errorf("%v, Left %d", now.View, now.View.Left)
	}
}

// When a member stays after all, those that had nobody to hand over to ask again.
func TestAMemberThatStaysCanKeepWhatOthersHave(t *testing.T) {
	s := state{View: View{Number: 7, Left: 2, Shards: make([]Shard, 1), Members: []Member{{ID: "a#1", Leaving: true}, {ID: "b#1", Leaving: true}}}}
	now, changed := s.apply(Leaving{Node: "a#1", Stays: true})
	if m, _ := now.View.Member("a#1"); !changed || m.Leaving || now.View.Left != 8 {
		t.Errorf("%v, Left %d", now.View, now.View.Left)
	}
	if _, changed := now.apply(Leaving{Node: "a#1", Stays: true}); changed {
		t.Error("it counts twice")
	}
}
