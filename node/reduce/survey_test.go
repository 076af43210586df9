package reduce

import (
	"fmt"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// A coordinator that continues another's Reduce must hear the fate of every source: places may
// have bytes of a source that is gone.
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
		{[]directory.State{directory.Finished}, "[{x 1.2}]"}, // the location comes later
		{[]directory.State{directory.Finished, directory.Lost}, "[{x 1.2} {[]}]"},
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

// An owner that has just taken over tells that a source is final before a holder has reported
// it. The sources are still in the order of the request.
func TestSurveyWaitsForTheHolders(t *testing.T) {
	at := func(id phalanx.ObjectID, nodes ...phalanx.NodeID) directory.Readiness {
		r := directory.Readiness{Object: id, State: directory.Finished, Gen: phalanx.Generation{Epoch: 1, Seq: 2}}
		for _, n := range nodes {
			r.Ready = append(r.Ready, directory.Location{Node: n, Complete: true})
		}
		return r
	}
	s := newSurvey([]phalanx.ObjectID{"x", "y"})
	for _, c := range []struct {
		source int
		told   directory.Readiness
		want   int // sources that the survey hands over
	}{{0, at("x"), -1}, {1, at("y", "b"), -1}, {1, at("y", "b", "c"), -1}, {0, at("x", "a"), 3}} {
		got := -1
		for _, ev := range s.take(c.source, c.told) {
			switch ev := ev.(type) {
			case core.Surveyed:
				got = len(ev.Ready)
			case core.Ready:
				t.Errorf("the survey hands %s over before the others", ev.Source)
			}
		}
		if got != c.want {
			t.Errorf("after %s at %d nodes, the survey hands over %d sources, want %d", c.told.Object, len(c.told.Ready), got, c.want)
		}
	}
}

// An owner tells of directory.MaxReady holders at most: others are not gone. With fewer, a holder that is
// not named is gone.
func TestHoldersThatAnOwnerHasNoRoomFor(t *testing.T) {
	at := func(first, n int) directory.Readiness {
		r := directory.Readiness{Object: "x", State: directory.Finished, Gen: phalanx.Generation{Epoch: 1, Seq: 2}}
		for i := range n {
			r.Ready = append(r.Ready, directory.Location{Node: phalanx.NodeID(fmt.Sprint("n", first+i)), Complete: true})
		}
		return r
	}
	for n, gone := range map[int]int{directory.MaxReady: 0, directory.MaxReady - 1: 1} {
		s := newSurvey([]phalanx.ObjectID{"x"})
		s.take(0, at(0, directory.MaxReady))
		got := 0
		for _, ev := range s.take(0, at(1, n)) { // n0 is not named
			if _, ok := ev.(core.HolderGone); ok {
				got++
			}
		}
		if got != gone {
			t.Errorf("%d holders are named: %d others are gone, want %d", n, got, gone)
		}
	}
}

// A source is final at an owner that has just taken over, and is deleted before a holder has
// reported it. The Reduce must fail at once, as it does after a report.
func TestSourceDeletedWhileTheSurveyWaitsForItsHolder(t *testing.T) {
	for name, ready := range map[string][]directory.Location{"located": {{Node: "a", Complete: true}}, "not yet": nil} {
		cfg := core.Config{Target: "t", Sources: []phalanx.ObjectID{"x", "y"}, Num: 2, Op: phalanx.Sum, Node: "a", Room: 1 << 30, Attempt: 1, Degree: 2}
		c := core.New(cfg)
		var failed *phalanx.Error
		step := func(ev core.Event) {
			for _, e := range c.Step(ev) {
				if f, ok := e.(core.Fail); ok {
					failed = f.Err
				}
			}
		}
		step(core.Start{})
		step(core.Begun{Gen: phalanx.Generation{Epoch: 1, Seq: 9}})
		s := newSurvey(cfg.Sources)
		g := phalanx.Generation{Epoch: 1, Seq: 2}
		for _, r := range []directory.Readiness{
			{Object: "x", State: directory.Finished, Gen: g, Meta: phalanx.Meta{Size: 8}, Ready: ready},
			{Object: "x", State: directory.Deleted, Gen: g},
		} {
			for _, ev := range s.take(0, r) {
				t.Logf("%s: %T%+v", name, ev, ev)
				step(ev)
			}
		}
		s.watches.begin(1, func(int) uint64 { return 1 })
		for _, ev := range s.tick(surveyFor) {
			step(ev)
		}
		if failed == nil {
			t.Errorf("%s: a source is deleted, and the Reduce waits", name)
		} else {
			t.Logf("%s: it fails: %v", name, failed)
		}
	}
}

// If a source was deleted and put again while its owner could not tell, its watch sees only the
// later generation, and bytes of the earlier one do not count.
func TestSurveyOfASourceThatWasDeletedAndPutAgain(t *testing.T) {
	s := newSurvey([]phalanx.ObjectID{"x"})
	final := func(gen, after uint64) directory.Readiness {
		return directory.Readiness{Object: "x", State: directory.Finished, Gen: phalanx.Generation{Epoch: 1, Seq: gen}, After: phalanx.Generation{Epoch: 1, Seq: after},
			Ready: []directory.Location{{Node: "n1", Complete: true}}}
	}
	s.take(0, final(2, 0))
	got := s.take(0, final(3, 2))
	want := []core.Event{core.SourceReset{Source: "x", Gen: phalanx.Generation{Epoch: 1, Seq: 3}},
		core.Ready{Source: "x", Node: "n1", Gen: phalanx.Generation{Epoch: 1, Seq: 3}, Kind: core.Complete, Final: true},
		core.SourceFinal{Source: "x", Gen: phalanx.Generation{Epoch: 1, Seq: 3}}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}
