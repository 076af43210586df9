package reduce

import (
	"testing"
	"time"

	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

func TestOpRuns(t *testing.T) {
	for _, c := range []struct {
		calls []Call
		text  string
	}{
		{nil, ""},
		{[]Call{{time.Minute - slowOp + 1, "a"}}, ""},
		{[]Call{{time.Minute - slowOp + 1, "a"}, {time.Minute - slowOp, "b"}, {0, "c"}}, `the op "sum" does not return; it was called for "b"`},
	} {
		if got := OpRuns(time.Minute, label, "sum", c.calls); got != (core.OpRuns{Gen: label, Text: c.text}) {
			t.Errorf("%v: %+v", c.calls, got)
		}
	}
}
