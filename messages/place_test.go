package messages

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

func ordered[E reduce.Effect](t *testing.T, node func(E) phalanx.NodeID) {
	t.Run(reflect.TypeFor[E]().Name(), func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			in, from := anyOf[E]().Draw(rt, "effect"), anyOf[phalanx.NodeID]().Draw(rt, "coordinator")
			to, m := OrderToProto(from, in)
			coordinator, out, err := OrderFromProto(wire(t, m))
			if err != nil || to != node(in) || coordinator != from || !reflect.DeepEqual(out, reduce.Effect(in)) {
				rt.Fatalf("%v, from %s, to %s\n in %+v\nout %+v", err, coordinator, to, in, out)
			}
		})
	})
}

func TestOrdersCross(t *testing.T) {
	ordered(t, func(e reduce.Command) phalanx.NodeID { return e.Node })
	ordered(t, func(e reduce.Stop) phalanx.NodeID { return e.Node })
	ordered(t, func(e reduce.AskDelivered) phalanx.NodeID { return e.Node })
	ordered(t, func(e reduce.Inspect) phalanx.NodeID { return e.Node })
	if to, m := OrderToProto("a#1", reduce.Begin{}); to != "" || m != nil {
		t.Errorf("Begin goes to %q as %v", to, m)
	}
}

// reported checks that events of type E cross. Fit sets what a report's
// envelope has in common with it.
func reported[E reduce.Event](t *testing.T, fit func(*E, Report)) {
	t.Run(reflect.TypeFor[E]().Name(), func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			in := Report{Target: anyOf[phalanx.ObjectID]().Draw(rt, "target"),
				Reduce: anyOf[phalanx.Generation]().Draw(rt, "reduce"), Node: anyOf[phalanx.NodeID]().Draw(rt, "node")}
			e := anyOf[E]().Draw(rt, "event")
			if fit != nil {
				fit(&e, in)
			}
			in.Event = e
			out, err := ReportFromProto(wire(t, ReportToProto(in)))
			if err != nil || !reflect.DeepEqual(out, in) {
				rt.Fatalf("%v\n in %+v\nout %+v", err, in, out)
			}
		})
	})
}

func TestReportsCross(t *testing.T) {
	reported(t, func(e *reduce.Acked, r Report) { e.Node = r.Node })
	reported(t, func(e *reduce.Refused, r Report) { e.Node = r.Node })
	reported(t, func(e *reduce.Stopped, r Report) { e.Node = r.Node })
	reported[reduce.Delivered](t, nil)
	reported[reduce.NotDelivered](t, nil)
	reported[reduce.Stalled](t, nil)
	reported[reduce.Moving](t, nil)
	reported[reduce.Waiting](t, nil)
	reported[reduce.Combining](t, nil)
	reported[reduce.CombineFailed](t, nil)
	reported[reduce.RootDone](t, nil)
	reported[reduce.PlaceLost](t, nil)
	reported(t, func(e *reduce.Inspected, r Report) {
		e.Node = r.Node
		for i := range e.Places {
			e.Places[i].State.Target, e.Places[i].State.Reduce = r.Target, r.Reduce
		}
	})
}

func TestReportOfNoPlacePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a Start was taken for a report")
		}
	}()
	ReportToProto(Report{Target: "t", Node: "a#1", Event: reduce.Start{}})
}

func TestReduceRefusesWhatItGets(t *testing.T) {
	const far = math.MaxUint32
	long := strings.Repeat("x", phalanx.MaxIDBytes+1)
	order := func(b isPlaceOrder_Body) error {
		_, e, err := OrderFromProto(&PlaceOrder{Coordinator: "a#1", Node: "b#1", Target: "t", Body: b})
		if e != nil {
			t.Errorf("%v became %+v", b, e)
		}
		return err
	}
	state := func(change func(*PlaceState)) error {
		m := &PlaceState{Source: "s", Op: "sum"}
		change(m)
		return order(&PlaceOrder_Command{m})
	}
	report := func(b isPlaceReport_Body) error {
		_, err := ReportFromProto(&PlaceReport{Target: "t", Node: "b#1", Body: b})
		return err
	}
	_, _, noCoordinator := OrderFromProto(&PlaceOrder{Node: "b#1", Target: "t"})
	_, _, noNode := OrderFromProto(&PlaceOrder{Coordinator: "a#1", Target: "t"})
	_, _, noTarget := OrderFromProto(&PlaceOrder{Coordinator: "a#1", Node: "b#1"})
	_, _, nothing := OrderFromProto(nil)
	_, reportNoTarget := ReportFromProto(&PlaceReport{Node: "b#1"})
	_, reportNoNode := ReportFromProto(&PlaceReport{Target: "t"})
	for _, c := range []struct {
		field string
		err   error
	}{
		{"order.coordinator", noCoordinator},
		{"order.coordinator", nothing},
		{"order.node", noNode},
		{"order.target", noTarget},
		{"order.body", order(nil)},
		{"state.place", state(func(s *PlaceState) { s.Place = far })},
		{"state.source", state(func(s *PlaceState) { s.Source = "" })},
		{"state.source", order(&PlaceOrder_Command{})},
		{"state.op", state(func(s *PlaceState) { s.Op = "" })},
		{"state.op", state(func(s *PlaceState) { s.Op = long })},
		{"state.meta", state(func(s *PlaceState) { s.Meta = &Meta{Size: -2} })},
		{"parent.place", state(func(s *PlaceState) { s.Parent = &PlacePeer{Place: far} })},
		{"parent.node", state(func(s *PlaceState) { s.Parent = &PlacePeer{Node: long} })},
		{"child.order", state(func(s *PlaceState) { s.Children = []*PlaceChild{{Order: far}} })},
		{"child.place", state(func(s *PlaceState) { s.Children = []*PlaceChild{{Place: far}} })},
		{"child.node", state(func(s *PlaceState) { s.Children = []*PlaceChild{{Node: long}} })},
		{"child.source", state(func(s *PlaceState) { s.Children = []*PlaceChild{{Source: long}} })},
		{"ask_runs.place", order(&PlaceOrder_AskRuns{&AskRuns{Place: far}})},
		{"stop.place", order(&PlaceOrder_Stop{&StopPlace{Place: far}})},
		{"ask_delivered.parent", order(&PlaceOrder_AskDelivered{&AskDelivered{Parent: far}})},
		{"ask_delivered.child", order(&PlaceOrder_AskDelivered{&AskDelivered{Child: far}})},
		{"report.target", reportNoTarget},
		{"report.node", reportNoNode},
		{"report.body", report(nil)},
		{"acked.place", report(&PlaceReport_Acked{&PlaceAcked{Place: far}})},
		{"refused.place", report(&PlaceReport_Refused{&PlaceRefused{Place: far}})},
		{"refused.kind", report(&PlaceReport_Refused{&PlaceRefused{Kind: 99}})},
		{"stopped.place", report(&PlaceReport_Stopped{&PlaceStopped{Place: far}})},
		{"delivered.parent", report(&PlaceReport_Delivered{&PlaceDelivered{Parent: far}})},
		{"delivered.child", report(&PlaceReport_Delivered{&PlaceDelivered{Child: far}})},
		{"not_delivered.parent", report(&PlaceReport_NotDelivered{&PlaceNotDelivered{Parent: far}})},
		{"not_delivered.child", report(&PlaceReport_NotDelivered{&PlaceNotDelivered{Child: far}})},
		{"stalled.place", report(&PlaceReport_Stalled{&PlaceStalled{Place: far}})},
		{"waiting.place", report(&PlaceReport_Waiting{&PlaceWaiting{Place: far}})},
		{"combining.place", report(&PlaceReport_Combining{&PlaceCombining{Place: far}})},
		{"combine_failed.place", report(&PlaceReport_CombineFailed{&CombineFailed{Place: far}})},
		{"combine_failed.source", report(&PlaceReport_CombineFailed{&CombineFailed{Source: long}})},
		{"combine_failed.kind", report(&PlaceReport_CombineFailed{&CombineFailed{Source: "s", Kind: 99}})},
		{"moving.place", report(&PlaceReport_Moving{&PlaceMoving{Place: far}})},
		{"root_done.place", report(&PlaceReport_RootDone{&RootDone{Place: far}})},
		{"root_done.size", report(&PlaceReport_RootDone{&RootDone{Size: -1}})},
		{"root_done.digest", report(&PlaceReport_RootDone{&RootDone{Digest: []byte{1}}})},
		{"lost.place", report(&PlaceReport_Lost{&PlaceLost{Place: far}})},
		{"lost.reason", report(&PlaceReport_Lost{&PlaceLost{Reason: 12}})},
		{"state.source", report(&PlaceReport_Inspected{&PlacesInspected{Places: []*HeldPlace{{}}}})},
		{"delivered.child", report(&PlaceReport_Inspected{&PlacesInspected{Places: []*HeldPlace{{
			State: &PlaceState{Source: "s", Op: "sum"}, Delivered: []*PlaceDelivered{{Child: far}}}}}})},
	} {
		if !errors.Is(c.err, phalanx.ErrInternal) || !strings.Contains(c.err.Error(), " "+c.field+":") {
			t.Errorf("%s: %v", c.field, c.err)
		}
	}
}
