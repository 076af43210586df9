package view

import (
	"fmt"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// votersOf returns how many voters so many members have that do not leave.
func votersOf(members int) int {
	switch {
	case members >= 7:
		return 5
	case members >= 3:
		return 3
	}
	return min(members, 1)
}

// How many voters there are follows from how many members there are (2.1).
func TestVotersBySize(t *testing.T) {
	for members, want := range map[int]int{1: 1, 2: 1, 3: 3, 4: 3, 6: 3, 7: 5, 8: 5, 12: 5, 40: 5} {
		c := New(Config{Self: Member{ID: "n0#1"}})
		c.Step(Boot{})
		for i := 1; i < members; i++ {
			s, _ := c.voter.state.apply(AddMember{Member: Member{ID: phalanx.MakeNodeID(fmt.Sprint("n", i), 1)}})
			c.voter.state = s
		}
		if got := len(c.wantedVoters()); got != want {
			t.Errorf("%d members have %d voters, want %d", members, got, want)
		}
	}
}
