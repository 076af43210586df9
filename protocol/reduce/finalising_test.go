package reduce_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

func kindsOf(effects []reduce.Effect) map[string]int {
	m := map[string]int{}
	for _, e := range effects {
		m[strings.TrimPrefix(fmt.Sprintf("%T", e), "reduce.")]++
	}
	return m
}

func done(t *testing.T, n int) *reduce.Coordinator {
	t.Helper()
	c := chainOf(t, n, n, 0)
	if rootIsDone(c); !c.Finalising() {
		t.Fatal("not finalising")
	}
	return c
}

func lostAt(c *reduce.Coordinator, pos int, r reduce.Reason) []reduce.Effect {
	return c.Step(reduce.PlaceLost{Place: pos, Gen: c.Places()[pos].Gen, Reason: r})
}

// A source that cannot be read counts more than a place that has ended, whichever comes first.
func TestALostSourceCountsMore(t *testing.T) {
	for _, order := range [][]reduce.Reason{{reduce.LostSource}, {reduce.LostPanic, reduce.LostSource}, {reduce.LostSource, reduce.LostPanic}} {
		c := done(t, 3)
		p := c.Places()
		c.Step(reduce.Delivered{Parent: 1, ParentGen: p[1].Gen, Child: 2, ChildGen: p[2].Gen})
		for _, r := range order {
			lostAt(c, 2, r)
		}
		c.Step(rootEnded)
		if got := c.Places()[2].State; got != "empty" {
			t.Errorf("%v: place 2 is %s", order, got)
		}
	}
}

// A loss counts once.
func TestALossCountsOnce(t *testing.T) {
	c := done(t, 2)
	lostAt(c, 1, reduce.LostPanic)
	c.Step(rootEnded)
	c.Step(reduce.Restarted{From: gen(1), Gen: gen(2)})
	c.Step(reduce.Tick{Now: 5 * time.Second})
	p := c.Places()
	c.Step(reduce.RootDone{Gen: p[0].Gen, TargetGen: gen(2), Size: 4096})
	if !c.Finalising() {
		t.Fatal("not finalising again")
	}
	c.Step(reduce.FinaliseRefused{Gen: gen(2), Kind: phalanx.ErrLost})
	if q := c.Places()[1]; q.State != "live" || q.Since != p[1].Since {
		t.Errorf("place 1 is %s since %v, was live since %v", q.State, q.Since, p[1].Since)
	}
}

// The parent of a place that was lost meanwhile is asked.
func TestTheParentOfALossIsAsked(t *testing.T) {
	for name, ev := range map[string]func(reduce.PlaceInfo) reduce.Event{
		"panic": func(p reduce.PlaceInfo) reduce.Event {
			return reduce.PlaceLost{Place: 2, Gen: p.Gen, Reason: reduce.LostPanic}
		},
		"suspected": func(p reduce.PlaceInfo) reduce.Event { return reduce.NodeGone{Node: p.Node} },
		"down":      func(p reduce.PlaceInfo) reduce.Event { return reduce.NodeGone{Node: p.Node, Down: true} },
	} {
		c := done(t, 3)
		c.Step(ev(c.Places()[2]))
		if got := c.Places()[2].State; name == "down" && got != "dead" {
			t.Errorf("%s: place 2 is %s", name, got)
		}
		if out := c.Step(rootEnded); !asks(out, 2) {
			t.Errorf("%s: place 1 is not asked: %v", name, out)
		}
	}
}

// An answer about another generation, or one that comes twice, changes nothing.
func TestOldAnswersToFinalise(t *testing.T) {
	c := done(t, 2)
	for _, ev := range []reduce.Event{
		reduce.FinaliseRefused{Gen: gen(9), Kind: phalanx.ErrLost}, reduce.FinaliseRefused{Gen: gen(9), Kind: phalanx.ErrExists}, reduce.Finalised{Gen: gen(9)},
	} {
		if out := c.Step(ev); len(out) > 0 || !c.Finalising() {
			t.Errorf("%+v: %v", ev, out)
		}
	}
	c.Step(rootEnded)
	for _, ev := range []reduce.Event{rootEnded, reduce.FinaliseRefused{Gen: gen(1), Kind: phalanx.ErrExists}, reduce.Finalised{Gen: gen(1)}} {
		if out := c.Step(ev); len(out) > 0 {
			t.Errorf("again, %+v: %v", ev, out)
		}
	}
}

// A small target that its owner does not know any more fails: there is no root.
func TestInlineTargetRefusedAsLost(t *testing.T) {
	c := reduce.New(reduce.Config{Target: "T", Sources: []phalanx.ObjectID{"R1"}, Num: 1, Op: phalanx.Sum, Node: "C", Attempt: 1, Degree: 1, InlineLimit: 1024})
	c.Step(reduce.Start{})
	c.Step(reduce.Begun{Gen: gen(1)})
	c.Step(reduce.Ready{Source: "R1", Node: "N1", Gen: gen(1), Meta: meta(8), Kind: reduce.Complete, Final: true})
	c.Step(reduce.InlineDone{Seq: 1, Size: 8})
	if k := kindsOf(c.Step(rootEnded)); k["Fail"] != 1 || k["Abort"] != 1 {
		t.Errorf("did %v", k)
	}
}

// A caller that has gone leaves nothing, if the root has ended too.
func TestCancelThenRootEnded(t *testing.T) {
	c := done(t, 2)
	c.Step(reduce.Cancel{})
	if k := kindsOf(c.Step(rootEnded)); k["Abort"] != 1 || k["Stop"] != 2 || k["Command"]+k["Restart"]+k["Fail"] != 0 {
		t.Errorf("did %v", k)
	}
}

// A target that is deleted meanwhile ends its Reduce.
func TestDeletedWhileFinalising(t *testing.T) {
	c := done(t, 2)
	if k := kindsOf(c.Step(reduce.TargetGone{Kind: phalanx.ErrDeleted})); k["Fail"] != 1 || k["Stop"] != 2 || k["Abort"] != 0 {
		t.Errorf("did %v", k)
	}
}

// A ring goes on when a place of it is lost meanwhile.
func TestARingStaysWhileFinalising(t *testing.T) {
	for _, ev := range []func(reduce.PlaceInfo) reduce.Event{
		func(p reduce.PlaceInfo) reduce.Event { return reduce.NodeGone{Node: p.Node, Down: true} },
		func(p reduce.PlaceInfo) reduce.Event {
			return reduce.PlaceLost{Place: p.Place, Gen: p.Gen, Reason: reduce.LostSource}
		},
	} {
		w := finalising(t, true)
		p := w.c.Places()
		if k := kindsOf(w.c.Step(ev(p[2]))); k["Command"]+k["Restart"] > 0 || !w.c.Places()[0].Ring || w.c.Places()[1].Gen != p[1].Gen {
			t.Errorf("did %v", k)
		}
	}
}

// What does not match, and comes too late to matter, does not.
func TestALateMismatchDoesNotMatter(t *testing.T) {
	c := chainOf(t, 3, 2, 0)
	rootIsDone(c)
	out := c.Step(reduce.Ready{Source: "R3", Node: "N3", Gen: gen(1), Meta: meta(8192), Kind: reduce.Complete, Final: true})
	if k := kindsOf(append(out, c.Step(reduce.Finalised{Gen: gen(1)})...)); k["Result"] != 1 || k["Fail"] != 0 {
		t.Errorf("did %v", k)
	}
}

// What was lost meanwhile is handled in one order.
func TestLossesInOneOrder(t *testing.T) {
	first := ""
	for range 20 {
		c := done(t, 8)
		for pos := 7; pos > 0; pos-- {
			lostAt(c, pos, reduce.LostPanic)
		}
		out := fmt.Sprint(c.Step(rootEnded))
		if first == "" {
			first = out
		}
		if out != first {
			t.Fatalf("%s\nand\n%s", out, first)
		}
	}
}

// The end of a root under an older generation of the target, or before it has one, is not the end.
func TestRootDoneUnderAnOldGeneration(t *testing.T) {
	c := done(t, 2)
	c.Step(rootEnded)
	early := reduce.RootDone{Gen: c.Places()[0].Gen, TargetGen: gen(1), Size: 4096}
	if c.Step(early); c.Finalising() {
		t.Error("before it is restarted")
	}
	c = done(t, 2)
	c.Step(rootEnded)
	c.Step(reduce.Restarted{From: gen(1), Gen: gen(2)})
	if c.Step(early); c.Finalising() {
		t.Error("under an old generation")
	}
}
