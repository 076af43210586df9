package leave

import (
	"reflect"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	core "github.com/phalanx-go/phalanx/protocol/leave"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Other members count, and members that do not leave as well keep copies.
func TestViewed(t *testing.T) {
	v := view.View{Number: 9, Left: 7, Members: []view.Member{{ID: "a"}, {ID: "b", Leaving: true}, {ID: "c", Leaving: true}},
		Shards: []view.Shard{{Owner: "a", Backup: "b"}, {Owner: "c", Backup: "a"}}}
	owners := []phalanx.NodeID{"a", "c"}
	for self, want := range map[phalanx.NodeID]core.Viewed{
		"a": {Number: 9, Left: 7, Member: true, Others: 2, Owners: owners},
		"c": {Number: 9, Left: 7, Member: true, Marked: true, Others: 2, Stay: 1, Shards: 1, Owners: owners},
		"d": {Number: 9, Left: 7, Others: 3, Stay: 1, Owners: owners},
	} {
		if got := Viewed(self, v); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", self, got, want)
		}
	}
}

// A node that has asked to be removed cannot know by which removal it is gone.
func TestANodeIsFencedAsItLeaves(t *testing.T) {
	c := core.New(core.Config{Deadline: 10})
	c.Step(0, core.Viewed{Number: 3, Member: true, Marked: true, Others: 1, Stay: 1})
	c.Step(0, core.Start{})
	removing := false
	for range 2 {
		for _, e := range c.Step(0, core.Saw{Here: core.Here{All: true}}) {
			_, removes := e.(core.Remove)
			removing = removing || removes
		}
	}
	if got := c.Step(1, Fenced("c", view.View{Members: []view.Member{{ID: "a"}, {ID: "b", Leaving: true}, {ID: "c", Leaving: true}}})); !removing || len(got) == 0 || got[len(got)-1] != (core.Left{Fenced: true}) {
		t.Errorf("it asks to be removed: %v; it is removed: %+v", removing, got)
	}
}

// A node that is removed as all others leave does not join again.
func TestANodeIsFencedAsAllLeave(t *testing.T) {
	all := view.View{Members: []view.Member{{ID: "b", Leaving: true}, {ID: "c", Leaving: true}}}
	c := core.New(core.Config{Deadline: 10})
	c.Step(0, Viewed("c", all))
	c.Step(0, core.Start{})
	if got := c.Step(1, Fenced("c", all)); len(got) == 0 || got[len(got)-1] != (core.Left{Alone: true}) {
		t.Errorf("%+v", got)
	}
}

// Only members that stay, beside the node, count as lost.
func TestLost(t *testing.T) {
	v := view.View{Members: []view.Member{{ID: "a"}, {ID: "b", Leaving: true}, {ID: "c"}, {ID: "d"}}}
	gone := func(id phalanx.NodeID) bool { return id != "d" }
	if got := Lost("a", v, true, gone); got != (core.Lost{Majority: true, Gone: 1}) {
		t.Errorf("%+v", got)
	}
}

// An answer to a request that was taken back does not count for the next request.
func TestRequests(t *testing.T) {
	cp, r := core.Copy{Object: "o"}, Requests{}
	if b := r.Ask(core.Ask{Copy: cp, View: 4}, 1); b != (directory.AwaitCopies{Leaving: 4}) {
		t.Errorf("the request is %+v", b)
	}
	if num := r.Forget(cp); num != 1 || r.Forget(cp) != 0 {
		t.Errorf("request %d was taken back", num)
	}
	r.Ask(core.Ask{Copy: cp}, 2)
	for _, c := range []struct {
		num    uint64
		result directory.Result
		want   core.Event
	}{
		{1, directory.Result{}, nil},
		{2, directory.Result{Waiting: true}, core.Waits{Copy: cp, Node: "a"}},
		{2, directory.Result{Kind: phalanx.ErrLost, Text: "gone"}, core.Answered{Copy: cp, Kind: phalanx.ErrLost, Node: "a", Text: "gone"}},
		{2, directory.Result{}, nil},
	} {
		if ev, _ := r.Answered(cp, c.num, "a", c.result); !reflect.DeepEqual(ev, c.want) {
			t.Errorf("answer %+v to %d: %+v, want %+v", c.result, c.num, ev, c.want)
		}
	}
}
