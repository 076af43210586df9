package workflow

import (
	"errors"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
)

func TestCheckCall(t *testing.T) {
	long := strings.Repeat("x", 257)
	for _, id := range []string{"", long, "a\n", "\xff"} {
		for _, c := range []Call{StartRun{ID: id}, AttachRun{id}, AwaitResult{id}, GetStatus{ID: id}, CancelRun{ID: id}, ForgetRun{id}, ResumeRun{ID: id}, SignalRun{ID: id, Name: "n"}} {
			if err := CheckCall(c); !errors.Is(err, phalanx.ErrInvalid) {
				t.Errorf("%T of %q: %v", c, id, err)
			}
		}
	}
	for _, c := range []Call{
		ListRuns{Prefix: long}, ListRuns{After: "\xff"},
		ResumeRun{ID: "r", With: []Function{{long, 1}}}, ResumeRun{ID: "r", With: []Function{{"\xff", 1}}}, ResumeRun{ID: "r", With: []Function{{"f", -1}}}, ResumeRun{ID: "r", With: make([]Function, MaxVersions+1)},
		SignalRun{ID: "r"}, SignalRun{ID: "r", Name: strings.Repeat("x", MaxSignalName+1)}, SignalRun{ID: "r", Name: "n", Key: "\xff"}, SignalRun{ID: "r", Name: "n", Bytes: make([]byte, MaxSignal+1)},
	} {
		if err := CheckCall(c); !errors.Is(err, phalanx.ErrInvalid) {
			t.Errorf("%T: %v", c, err)
		}
	}
	for _, c := range []Call{ListRuns{}, ListRuns{Prefix: "a", After: "b"}, ResumeRun{ID: "r", With: []Function{{"f", 0}}}, SignalRun{ID: "r", Name: strings.Repeat("x", MaxSignalName), Bytes: make([]byte, MaxSignal)}} {
		if err := CheckCall(c); err != nil {
			t.Errorf("%T: %v", c, err)
		}
	}
}
