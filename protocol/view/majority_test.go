package view

import (
	"testing"
	"time"
)

// A view that names no voter for a moment is no reason for an alarm, as long as the lease
// has not ended for long.
func TestNoVotersAreNoAlarm(t *testing.T) {
	for since, lost := range map[time.Duration]bool{time.Second: false, 10 * time.Second: true} {
		c := &Core{cfg: Config{Self: Member{ID: "a#1"}}.withDefaults(), member: true, view: View{Members: []Member{{ID: "a#1"}, {ID: "b#1"}}}, now: time.Minute}
		c.lease = c.now - since
		if c.watchMajority(nil, 0); c.alarm.Lost != lost {
			t.Errorf("without a lease for %v: lost is %v", since, c.alarm.Lost)
		}
	}
}
