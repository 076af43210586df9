package dataplane

import (
	"testing"
	"time"
)

// Of the last round trips the shortest counts; older ones are forgotten.
func TestTheShortestOfTheLastRoundTripsCounts(t *testing.T) {
	var p trip
	if p.value() != 0 {
		t.Errorf("there was none, and it took %v", p.value())
	}
	for _, d := range []time.Duration{5, 3, 9} {
		p.took(d * time.Millisecond)
	}
	if p.value() != 3*time.Millisecond {
		t.Errorf("the shortest of 5, 3 and 9 ms is %v", p.value())
	}
	for range trips {
		p.took(7 * time.Millisecond)
	}
	if p.value() != 7*time.Millisecond {
		t.Errorf("after many of 7 ms it is %v", p.value())
	}
}
