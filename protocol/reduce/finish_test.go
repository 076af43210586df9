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

// TestRefusedTargetIsGivenBack checks that a target that cannot become final is released:
// it would be bound for ever, to a coordinator that has ended.
func TestRefusedTargetIsGivenBack(t *testing.T) {
	g := phalanx.Generation{Epoch: 1, Seq: 1}
	for kind, want := range map[phalanx.Kind]string{phalanx.ErrInvalid: "Fail Unwatch Stop Abort", phalanx.ErrDeleted: "Fail Unwatch Stop"} {
		c := reduce.New(reduce.Config{Target: "T", Sources: []phalanx.ObjectID{"R1"}, Num: 1, Op: phalanx.Sum, Node: "C", Attempt: 1, Degree: 1})
		c.Step(reduce.Start{})
		c.Step(reduce.Begun{Gen: g})
		c.Step(reduce.Ready{Source: "R1", Node: "N1", Gen: g, Meta: meta(8), Kind: reduce.Complete, Final: true})
		c.Step(reduce.RootDone{Gen: reduce.PlaceGen{Attempt: 1, Seq: 1}, TargetGen: g, Size: 8})
		var kinds []string
		for _, e := range c.Step(reduce.FinaliseRefused{Gen: g, Kind: kind, Text: "no"}) {
			kinds = append(kinds, strings.TrimPrefix(fmt.Sprintf("%T", e), "reduce."))
		}
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("refused as %v: did %q, want %q", kind, got, want)
		}
		c.Step(reduce.Stopped{Node: "N1", Gen: reduce.PlaceGen{Attempt: 1, Seq: 1}})
		if c.Step(reduce.Aborted{}); !c.Ended() {
			t.Errorf("refused as %v: it goes on", kind)
		}
	}
}
