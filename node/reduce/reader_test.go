package reduce

import (
	"testing"
	"time"

	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// A reader waits for a place that is about to start, and is turned away by one that makes a later
// output.
func TestTurn(t *testing.T) {
	r := Reader{Want: label, Since: time.Minute}
	for _, c := range []struct {
		after time.Duration
		makes core.PlaceGen
		want  Turn
	}{
		{0, core.PlaceGen{}, Later},
		{orderPatience, core.PlaceGen{}, Later},
		{orderPatience + 1, core.PlaceGen{}, Absent},
		{0, core.PlaceGen{Attempt: 1, Seq: 3}, Later},
		{orderPatience + 1, core.PlaceGen{Attempt: 1, Seq: 3}, Absent},
		{0, label, Reads},
		{time.Hour, label, Reads},
		{0, core.PlaceGen{Attempt: 1, Seq: 5}, Passed},
		{time.Hour, core.PlaceGen{Attempt: 2, Seq: 1}, Passed},
	} {
		if got := (Reader{Since: time.Minute}).Turn(time.Minute+c.after, core.PlaceGen{}); got == Reads {
			t.Error("nothing is read where there is no place")
		}
		if got := r.Turn(time.Minute+c.after, c.makes); got != c.want {
			t.Errorf("after %v, at a place that makes %v: %v, want %v", c.after, c.makes, got, c.want)
		}
	}
}

func TestRemains(t *testing.T) {
	for _, c := range []struct {
		keep, circles, whole bool
		want                 Remains
	}{
		{false, false, false, Nothing}, {false, true, false, Nothing},
		{false, false, true, Target}, {false, true, true, Target}, {true, false, false, Target}, {true, false, true, Target},
		{true, true, false, Circles}, {true, true, true, Circles},
	} {
		if got := RemainsOf(c.keep, c.circles, c.whole); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
