package reduce_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// chainOf returns a Reduce of num of m sources in a chain, R1 at the last place, on N1.
// Those in notFinal are not final.
func chainOf(t *testing.T, m, num int, deadline time.Duration, notFinal ...phalanx.ObjectID) *reduce.Coordinator {
	t.Helper()
	cfg := reduce.Config{Target: "T", Num: num, Op: phalanx.Sum, Node: "C", Attempt: 1, Degree: 1, Deadline: deadline}
	for i := range m {
		cfg.Sources = append(cfg.Sources, phalanx.ObjectID(fmt.Sprintf("R%d", i+1)))
	}
	c := reduce.New(cfg)
	c.Step(reduce.Start{})
	c.Step(reduce.Begun{Gen: gen(1)})
	for i, id := range cfg.Sources[:num] {
		c.Step(reduce.Ready{Source: id, Node: phalanx.NodeID(fmt.Sprintf("N%d", i+1)), Gen: gen(1), Meta: meta(4096), Kind: reduce.Complete,
			Final: !slices.Contains(notFinal, id)})
	}
	return c
}

func rootIsDone(c *reduce.Coordinator) []reduce.Effect {
	return c.Step(reduce.RootDone{Gen: c.Places()[0].Gen, TargetGen: gen(1), Size: 4096})
}

var rootEnded = reduce.FinaliseRefused{Gen: gen(1), Kind: phalanx.ErrLost, Text: "it has ended"}

func asks(effects []reduce.Effect, child int) bool {
	return slices.ContainsFunc(effects, func(e reduce.Effect) bool {
		a, ok := e.(reduce.AskDelivered)
		return ok && a.Child == child
	})
}

// TestTheParentOfAnEarlierLossIsAsked checks that a place which died while the root held
// its part is asked for once the root has ended: its parent may have all that it made.
func TestTheParentOfAnEarlierLossIsAsked(t *testing.T) {
	for _, heard := range []bool{false, true} {
		c := chainOf(t, 3, 3, 0, "R2")
		rootIsDone(c)
		c.Step(reduce.PlaceLost{Place: 2, Gen: c.Places()[2].Gen, Reason: reduce.LostPanic}) // its Delivered was lost
		var out []reduce.Effect
		if heard { // the coordinator hears of the root's end itself
			out = c.Step(reduce.PlaceLost{Place: 0, Gen: c.Places()[0].Gen, Reason: reduce.LostPanic})
		} else {
			c.Step(reduce.SourceFinal{Source: "R2", Gen: gen(1)})
			if !c.Finalising() {
				t.Fatal("not finalising")
			}
			out = c.Step(rootEnded)
		}
		if q := c.Places()[1]; !asks(out, 2) || q.Gen != q.Since {
			t.Errorf("heard %v: place 1 is asked whether it has what place 2 made: %v; it is cleared: %v", heard, asks(out, 2), q.Gen != q.Since)
		}
	}
}

// TestMismatchWhileFinalising checks that a source that does not match fails the Reduce if
// that has to go on.
func TestMismatchWhileFinalising(t *testing.T) {
	c := chainOf(t, 3, 2, time.Minute)
	rootIsDone(c)
	for range 3 {
		c.Step(reduce.Ready{Source: "R3", Node: "N3", Gen: gen(1), Meta: meta(8192), Kind: reduce.Complete, Final: true})
	}
	for _, e := range c.Step(rootEnded) {
		if f, ok := e.(reduce.Fail); ok {
			if !errors.Is(f.Err, phalanx.ErrMismatch) || f.Err.Object != "R3" {
				t.Errorf("it fails with %v", f.Err)
			}
			return
		}
	}
	t.Error("it goes on")
}

// TestRefusedWhileFinalising checks that a place which cannot run any more does not fail a
// Reduce whose target becomes final.
func TestRefusedWhileFinalising(t *testing.T) {
	for _, k := range []phalanx.Kind{phalanx.ErrNoSpace, phalanx.ErrUnknownOp, phalanx.ErrInternal, phalanx.ErrInvalid} {
		c := chainOf(t, 2, 2, 0)
		rootIsDone(c)
		var all []reduce.Effect
		for v := uint64(1); v < 5; v++ { // one of them is its last
			all = append(all, c.Step(reduce.Refused{Place: 1, Node: "N1", Attempt: 1, Version: v, Kind: k, Text: "no"})...)
		}
		for _, e := range append(all, c.Step(reduce.Finalised{Gen: gen(1)})...) {
			if f, ok := e.(reduce.Fail); ok {
				t.Errorf("%v: the target is final, and the answer is %v", k, f.Err)
			}
		}
	}
}

// TestARepeatedLossIsOneStrike checks that a place which says again and again that it is
// lost, while the target is to become final, keeps its node from others no longer for that.
func TestARepeatedLossIsOneStrike(t *testing.T) {
	for _, r := range []reduce.Reason{reduce.LostSource, reduce.LostEdge, reduce.LostPanic} {
		for _, repeats := range []int{1, 8} {
			c := chainOf(t, 2, 2, 0)
			rootIsDone(c)
			now := time.Duration(0)
			p := c.Places()[1]
			for range repeats {
				now += 200 * time.Millisecond
				c.Step(reduce.Tick{Now: now})
				c.Step(reduce.PlaceLost{Place: 1, Gen: p.Gen, Reason: r})
			}
			c.Step(rootEnded)
			c.Step(reduce.Restarted{From: gen(1), Gen: gen(2)})
			from := now
			for c.Places()[1].State != "live" && now < from+30*time.Second {
				now += 100 * time.Millisecond
				c.Step(reduce.Tick{Now: now})
			}
			if took := now - from; took > 2*time.Second {
				t.Errorf("%v, said %d times: its source has a place again after %v", r, repeats, took)
			}
		}
	}
}

// TestARootThatEndedIsTriedElsewhere checks that the source of a root that has ended takes
// its place at another node, if one has it, whoever said that the root has ended.
func TestARootThatEndedIsTriedElsewhere(t *testing.T) {
	for _, byOwner := range []bool{false, true} {
		c := chainOf(t, 2, 2, 0)
		c.Step(reduce.Ready{Source: "R2", Node: "N9", Gen: gen(1), Meta: meta(4096), Kind: reduce.Complete, Final: true})
		old := c.Places()[0].Gen
		if byOwner {
			rootIsDone(c)
			c.Step(rootEnded)
		}
		c.Step(reduce.PlaceLost{Place: 0, Gen: old, Reason: reduce.LostPanic})
		if p := c.Places()[0]; p.Node != "N9" {
			t.Errorf("said by the owner: %v: the root is tried at %s again", byOwner, p.Node)
		}
	}
}

// TestALabelIsToldBeforeItIsAskedFor checks that no place is asked about an output that it
// was not told to make yet.
func TestALabelIsToldBeforeItIsAskedFor(t *testing.T) {
	cfg := reduce.Config{Target: "T", Num: 5, Op: phalanx.Sum, Node: "C", Attempt: 1, Degree: 2}
	for i := range 7 {
		cfg.Sources = append(cfg.Sources, phalanx.ObjectID(fmt.Sprintf("R%d", i+1)))
	}
	w := newWorld(t, cfg)
	w.keep = func() bool { return false }
	w.step(reduce.Start{})
	w.pump()
	for i, id := range cfg.Sources {
		n := phalanx.NodeID(fmt.Sprintf("N%d", i+1))
		w.src[id] = &object{id: id, value: 1 << (4 * i), size: 4096, gen: gen(1), holders: []phalanx.NodeID{n}, whole: true, final: true}
		w.step(reduce.Joined{Node: n, Has: w.announcements(w.src[id])})
	}
	for w.stream(); !w.c.Finalising() && w.deliver(); {
	}
	told := map[reduce.PlaceGen]bool{}
	places := w.c.Places()
	for _, p := range places {
		told[p.Gen] = true
	}
	w.c.Step(reduce.PlaceLost{Place: 3, Gen: places[3].Gen, Reason: reduce.LostSource})
	w.c.Step(reduce.PlaceLost{Place: 4, Gen: places[4].Gen, Reason: reduce.LostPanic})
	for _, e := range w.c.Step(reduce.FinaliseRefused{Gen: w.gen, Kind: phalanx.ErrLost}) {
		switch e := e.(type) {
		case reduce.Command:
			told[e.State.Gen] = true
		case reduce.AskDelivered:
			if !told[e.ParentGen] {
				t.Errorf("place %d is asked about %d under %v, which it was not told yet", e.Parent, e.Child, e.ParentGen)
			}
		}
	}
}
