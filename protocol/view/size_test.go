package view

import (
	"fmt"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// How many voters there are follows from how many members there are (2.1).
func TestVotersBySize(t *testing.T) {
	for members, want := range map[int]int{1: 1, 2: 1, 3: 3, 4: 3, 11: 3, 12: 5, 40: 5} {
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
