package directory

import (
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// An owner forgets what a member has told of its holdings once that has left: nodes that
// are started again and again are new members each time.
func TestForgetsWhatMembersThatHaveLeftHaveTold(t *testing.T) {
	s := New(Config{Self: "a"})
	members := []phalanx.NodeID{"a"}
	view := func(number uint64) {
		s.Step(0, Configure{Epoch: 1, Owner: "a", Members: members, Number: number})
		s.Step(0, Lease{Until: time.Hour})
	}
	view(1)
	s.Step(0, Holdings{From: "a", Epoch: 1, Round: 1, End: true})
	for i := range 1000 {
		n := phalanx.NodeID(fmt.Sprintf("b#%d", i))
		members = []phalanx.NodeID{"a", n}
		view(uint64(2*i + 2))
		s.Step(0, Holdings{From: n, Epoch: 1, Round: 1, Before: 1, End: true})
		members = []phalanx.NodeID{"a"}
		view(uint64(2*i + 3))
	}
	if len(s.told) > 2 || len(s.before) > 2 {
		t.Errorf("told by %d, before of %d, and one is a member", len(s.told), len(s.before))
	}
}
