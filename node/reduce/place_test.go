package reduce

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

var label = core.PlaceGen{Attempt: 1, Seq: 4}

// The node answers orders for a place that is not here, and only a Command starts one.
func TestObey(t *testing.T) {
	state := core.State{Target: "sum", Reduce: gen(5), Place: 3, Attempt: 1, Version: 2, Gen: label}
	for _, c := range []struct {
		order  core.Effect
		event  core.PlaceEvent
		absent core.Event
	}{
		{core.Command{Node: "me", State: state}, core.Commanded{State: state}, nil},
		{core.Stop{Target: "sum", Reduce: gen(5), Place: 3, Attempt: 1, Gen: label, Final: true, TargetGen: gen(6)},
			core.Stopping{Place: 3, Attempt: 1, Gen: label, Final: true, TargetGen: gen(6)}, core.Stopped{Place: 3, Node: "me", Gen: label}},
		{core.AskDelivered{Target: "sum", Reduce: gen(5), Parent: 3, ParentGen: label, Child: 7, ChildGen: label},
			core.Asked{ParentGen: label, Child: 7, ChildGen: label}, core.NotDelivered{Parent: 3, ParentGen: label, Child: 7, ChildGen: label}},
		{core.AskRuns{Target: "sum", Reduce: gen(5), Place: 3, Gen: label}, core.AskedRuns{Place: 3, Gen: label},
			core.PlaceLost{Place: 3, Gen: label, Reason: core.LostPanic, Text: "the place does not run any more"}},
	} {
		for _, here := range []bool{true, false} {
			for _, leaves := range []bool{false, true} {
				got := Obey(c.order, "me", leaves, func(k Key) bool { return here && k == Key{"sum", gen(5), 3} })
				want := Verdict{Key: Key{"sum", gen(5), 3}, Event: c.event}
				switch {
				case here:
				case c.absent != nil:
					want.Event, want.Answer = nil, c.absent
				case leaves:
					want.Event = nil
					want.Answer = core.Refused{Place: 3, Node: "me", Attempt: 1, Version: 2, Kind: phalanx.ErrClosed, Text: "the node is leaving the cluster"}
				default:
					want.Starts = true
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%T, it is here: %v, the node leaves: %v: %+v, want %+v", c.order, here, leaves, got, want)
				}
			}
		}
	}
}

// seat is a place of a Reduce.
type seat struct {
	t   *testing.T
	p   *Place
	now time.Duration
	out []PlaceEffect
}

func newSeat(t *testing.T) *seat {
	s := &seat{t: t, now: time.Hour}
	s.p = NewPlace(s.now, PlaceConfig{Node: "me", Can: func(op phalanx.Op, d phalanx.DType) bool { return op == phalanx.Sum && d == phalanx.Float32 }})
	return s
}

func (s *seat) step(ev PlaceEvent) []PlaceEffect {
	s.out = s.p.Step(s.now, ev)
	return s.out
}

// command orders the place, which is a leaf, to begin.
func (s *seat) command(by string, change func(*core.State)) []PlaceEffect {
	c := core.State{Target: "sum", Reduce: gen(5), Place: 1, Attempt: 1, Version: 1, Gen: label, Source: "a", SourceGen: gen(1), Op: phalanx.Sum, Meta: large,
		Parent: core.Peer{Place: 0}}
	if change != nil {
		change(&c)
	}
	return s.step(Ordered{by, core.Commanded{State: c}})
}

func (s *seat) has(e PlaceEffect) bool {
	return slices.ContainsFunc(s.out, func(x PlaceEffect) bool { return fmt.Sprintf("%T%+v", x, x) == fmt.Sprintf("%T%+v", e, e) })
}

func (s *seat) wants(e PlaceEffect, want bool) {
	s.t.Helper()
	if s.has(e) != want {
		s.t.Errorf("%T%+v is wanted: %v; the effects are %+v", e, e, want, s.out)
	}
}

// pass lets time pass, with the ticks that are due, and returns all effects.
func (s *seat) pass(d time.Duration) {
	var all []PlaceEffect
	for end := s.now + d; ; {
		at, ok := s.p.Due()
		if !ok || at > end {
			s.now, s.out = end, all
			return
		}
		s.now = at
		all = append(all, s.step(PlaceTick{})...)
	}
}

// A place hears of the end of its coordinator, also if the first message got lost, and ends
// with it. It ignores another coordinator's end.
func TestAPlaceEndsWithItsCoordinator(t *testing.T) {
	s := newSeat(t)
	s.command("c1", nil)
	s.wants(WatchCoordinator{}, true)
	s.wants(Tell{core.Acked{Place: 1, Node: "me", Attempt: 1, Version: 1}}, true)
	s.command("c1", nil)
	s.wants(WatchCoordinator{}, false)
	s.pass(watchEvery - tickEvery)
	s.wants(WatchCoordinator{}, false)
	s.pass(tickEvery)
	s.wants(WatchCoordinator{}, true)
	s.command("c2", nil)
	s.wants(WatchCoordinator{}, true)
	if s.step(CoordinatorEnded{"c1"}); len(s.out) > 0 {
		t.Errorf("the place ends with another coordinator: %v", s.out)
	}
	s.step(CoordinatorEnded{"c2"})
	s.wants(Gone{}, true)
	if _, ok := s.p.Due(); ok {
		t.Error("a place that has ended wants a tick")
	}
	s.step(CoordinatorEnded{"c2"})
	s.wants(Gone{}, false)
}

// A place ends once it is stopped, also if it has refused its command.
func TestAPlaceEndsOnceItIsStopped(t *testing.T) {
	for _, op := range []phalanx.Op{phalanx.Sum, "unknown"} {
		s := newSeat(t)
		s.command("c", func(c *core.State) { c.Op = op })
		s.step(Ordered{"c", core.Stopping{Place: 1, Attempt: 1, Gen: label}})
		s.wants(Tell{core.Stopped{Place: 1, Node: "me", Gen: label}}, true)
		s.wants(Carry{core.Release{}}, op == phalanx.Sum)
		s.wants(Gone{}, true)
	}
	s := newSeat(t)
	s.command("c", nil)
	s.step(Ordered{"c", core.Stopping{Place: 1, Attempt: 1, Gen: core.PlaceGen{Attempt: 1, Seq: 3}}}) // it has a later label
	s.wants(Gone{}, false)
}

// A place can end before its time, but not if its output may be the target.
func TestAPlaceIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		root, made bool
	}{"a leaf": {false, true}, "a root that has made nothing": {true, false}, "a root": {true, true}} {
		s := newSeat(t)
		s.command("c", func(c *core.State) { c.Root = c.Root || name != "a leaf" })
		if c.made {
			s.step(Happened{core.OutputDone{Gen: label, Size: large.Size}})
		}
		s.step(GivenUp{})
		if s.has(Gone{}) == (c.root && c.made) {
			t.Errorf("%s: %v", name, s.out)
		}
	}
}

// A node refuses a command for an op that it does not have, and for a malformed ring.
func TestWhatANodeCannotDo(t *testing.T) {
	ring := func(n, place, before int, size int64) func(*core.State) {
		return func(c *core.State) {
			c.Ring, c.Place, c.Meta.Size, c.Children = n, place, size, make([]core.Child, before)
		}
	}
	for name, c := range map[string]struct {
		change func(*core.State)
		kind   phalanx.Kind // 0: the node accepts it
	}{
		"a tree":              {nil, 0},
		"an unknown op":       {func(c *core.State) { c.Op = "mine" }, phalanx.ErrUnknownOp},
		"another type":        {func(c *core.State) { c.Meta.DType = phalanx.Uint8 }, phalanx.ErrUnknownOp},
		"a ring":              {ring(2, 1, 1, 2*core.RingGrain), 0},
		"a ring of one":       {ring(1, 0, 1, 2*core.RingGrain), phalanx.ErrInvalid},
		"outside of the ring": {ring(2, 2, 1, 2*core.RingGrain), phalanx.ErrInvalid},
		"nobody before it":    {ring(2, 1, 0, 2*core.RingGrain), phalanx.ErrInvalid},
		"shards too small":    {ring(2, 1, 1, 2*core.RingGrain-1), phalanx.ErrInvalid},
	} {
		s := newSeat(t)
		s.command("c", c.change)
		var kind phalanx.Kind
		for _, e := range s.out {
			if told, ok := e.(Tell); ok {
				if r, ok := told.Event.(core.Refused); ok {
					kind = r.Kind
				}
			}
		}
		if kind != c.kind || s.p.Core().Runs() != (kind == 0) {
			t.Errorf("%s: refused for %v, want %v", name, kind, c.kind)
		}
	}
}

// A place that has just begun does not take its source for stalled, however long the node has
// run.
func TestTheSourceOfANewPlaceIsNotStalled(t *testing.T) {
	s := newSeat(t)
	s.command("c", nil)
	s.step(Happened{core.SourceMoved{Gen: gen(1)}})
	stalled := func() bool {
		return slices.ContainsFunc(s.out, func(e PlaceEffect) bool {
			told, ok := e.(Tell)
			if ok {
				_, ok = told.Event.(core.Stalled)
			}
			return ok
		})
	}
	s.pass(time.Second)
	if stalled() {
		t.Error("the source counts as stalled after a second")
	}
	if s.pass(2 * time.Second); !stalled() {
		t.Error("a stalled source does not count as stalled")
	}
}
