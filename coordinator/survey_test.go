package coordinator

import (
	"fmt"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// A coordinator that goes on with what another has begun must hear of every source what
// became of it: it may have bytes of one that is gone.
func TestSurveyTellsWhatBecameOfASource(t *testing.T) {
	gen := phalanx.Generation{Epoch: 1, Seq: 2}
	state := func(s directory.State) directory.Readiness {
		r := directory.Readiness{Object: "x", State: s}
		if s != directory.Unbound {
			r.Gen = gen
		}
		return r
	}
	for _, c := range []struct {
		states []directory.State
		want   string // of the last
	}{
		{[]directory.State{directory.Unbound}, "[{x 0.0 aborted} {[]}]"},
		{[]directory.State{directory.Deleted}, "[{x 1.2 deleted} {[]}]"},
		{[]directory.State{directory.Lost}, "[{x 1.2} {[]}]"},
		{[]directory.State{directory.Finished}, "[{x 1.2} {[]}]"},
		{[]directory.State{directory.Begun}, "[{[]}]"},
		{[]directory.State{directory.Begun, directory.Lost}, "[{x 1.2 lost} {x 1.2}]"},
		{[]directory.State{directory.Begun, directory.Unbound}, "[{x 1.2 aborted}]"},
		{[]directory.State{directory.Unbound, directory.Deleted}, "[]"},
	} {
		s := newSurvey([]phalanx.ObjectID{"x"})
		var got string
		for _, st := range c.states {
			got = fmt.Sprint(s.take(0, state(st)))
		}
		if got != c.want {
			t.Errorf("%v: %s, want %s", c.states, got, c.want)
		}
	}
}
