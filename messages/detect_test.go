package messages

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/protocol/detect"
)

func TestSuspicionsArriveAsTheyWereSent(t *testing.T) {
	for _, cause := range []detect.Cause{detect.Trusted, detect.Silent, detect.Refused} {
		m := wire(t, SuspicionToProto("a#1", detect.Accuse{To: "v#1", Node: "b#1", Cause: cause, Told: time.Minute}))
		got, err := SuspicionFromProto(m, time.Second)
		if want := (detect.Accused{By: "a#1", Node: "b#1", Cause: cause, Told: time.Minute, Now: time.Second}); err != nil || got != want {
			t.Errorf("%+v, %v instead of %+v", got, err, want)
		}
	}
	for _, bad := range []*Suspicion{{Node: "b#1"}, {From: "a#1"}, {From: "a#1", Node: "b#1", Cause: 3}} {
		if _, err := SuspicionFromProto(bad, 0); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}
