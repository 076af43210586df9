package reduce_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// TestCancelWhileFinalising checks that a caller who goes away is answered at
// once, but that the root keeps the target, since it may be final already.
func TestCancelWhileFinalising(t *testing.T) {
	g := phalanx.Generation{Epoch: 1, Seq: 1}
	root := reduce.PlaceGen{Attempt: 1, Seq: 1}
	c := reduce.New(reduce.Config{Target: "T", Sources: []phalanx.ObjectID{"R1"}, Num: 1, Op: phalanx.Sum, Node: "C", Attempt: 1, Degree: 1})
	for _, s := range []struct {
		ev   reduce.Event
		want string // kinds of effects
	}{
		{reduce.Start{}, "Begin Watch"},
		{reduce.Begun{Gen: g}, ""},
		{reduce.Ready{Source: "R1", Node: "N1", Gen: g, Meta: meta(8), Kind: reduce.Complete, Final: true}, "Notify Remember Command"},
		{reduce.RootDone{Gen: root, TargetGen: g, Size: 8}, "Finalise"},
		{reduce.Cancel{}, "Fail"},
		{reduce.Cancel{}, ""},
		{reduce.Start{}, "Fail"},
		{reduce.Finalised{Gen: g}, "Notify Unwatch Stop"},
		{reduce.Start{}, "Fail"},
	} {
		var kinds []string
		for _, e := range c.Step(s.ev) {
			kinds = append(kinds, strings.TrimPrefix(fmt.Sprintf("%T", e), "reduce."))
			if stop, ok := e.(reduce.Stop); ok && !stop.Final {
				t.Errorf("the root is to drop a target that is final: %+v", stop)
			}
		}
		if got := strings.Join(kinds, " "); got != s.want {
			t.Errorf("%T: did %q, want %q", s.ev, got, s.want)
		}
	}
}
