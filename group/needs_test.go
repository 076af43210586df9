package group_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/group"
	"github.com/phalanx-go/phalanx/storenode"
)

// Calls end with ErrFailed when a member leaves without which they cannot end well, and
// those that the others can meet go on.
func TestCallsEndThatCannotEndWell(t *testing.T) {
	nodes := start(t, 4)
	groups := form(t, "g", nodes)
	needs(t, groups[:3], nodes, groups[3].Close)
}

// The same holds for a member whose process is killed.
func TestCallsEndThatAKilledMemberIsNeededFor(t *testing.T) {
	process := launch(t, 1)[0]
	var nodes []*cluster.Node
	t.Cleanup(func() {
		for _, n := range nodes {
			if err := n.Leave(within(t)); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range 3 {
		n, err := cluster.Join(within(t), config(fmt.Sprint("n", i), process.Control))
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		eventually(t, "a view of all", func() bool { return len(n.View().Members) == 4 })
	}
	members := append(on(nodes), group.Member{Node: process.ID})
	process.Tell(t, order{Do: "form", Group: "g", Members: members})
	ctx := within(t)
	groups := each(t, make([]*group.Group, 3), func(i int, _ *group.Group) (*group.Group, error) {
		return group.Form(ctx, nodes[i], "g", members)
	})
	if r := process.await(t); r.Err != "" {
		t.Fatal(r.Err)
	}
	needs(t, groups, nodes, process.Kill)
}

// needs has calls wait in the groups of three of four members, and ends the last one.
func needs(t *testing.T, groups []*group.Group, nodes []*cluster.Node, end func() error) {
	t.Helper()
	g, ctx := groups[0], within(t)
	ids := func(call string, k int) []phalanx.ObjectID {
		var all []phalanx.ObjectID
		for i := range k {
			all = append(all, phalanx.ObjectID(fmt.Sprint(call, "/", i)))
		}
		return all
	}
	reduce := func(call string, num, of int) storenode.Reduce {
		return storenode.Reduce{Target: phalanx.ObjectID(call), Sources: ids(call, of), Num: num, Op: phalanx.Sum}
	}
	enter := func(g *group.Group, name string, cfg barrier.Config) error {
		b, err := g.Barrier(name, cfg)
		if err == nil {
			_, err = b.Enter(ctx, barrier.Entry{})
		}
		return err
	}
	type ended struct {
		call string
		err  error
	}
	fail, well := make(chan ended, 16), make(chan ended, 16)
	cannot := map[string]func(string) error{
		"reduce of all":    func(c string) error { _, err := g.Reduce(ctx, reduce(c, 0, 4)); return err },
		"reduce of 4 of 4": func(c string) error { _, err := g.Reduce(ctx, reduce(c, 4, 4)); return err },
		"reduce of 7 of 8": func(c string) error { _, err := g.Reduce(ctx, reduce(c, 7, 8)); return err },
		"gather of all":    func(c string) error { _, err := g.Gather(ctx, ids(c, 4), 0); return err },
		"allgather":        func(c string) error { _, err := g.AllGather(ctx, ids(c, 4)); return err },
		"allreduce of all": func(c string) error { _, _, err := g.AllReduce(ctx, reduce(c, 0, 4)); return err },
		"strict barrier":   func(c string) error { return enter(g, c, barrier.Config{}) },
		"barrier of 4":     func(c string) error { return enter(g, c, barrier.Config{Max: 4}) },
		"barrier of 80 %":  func(c string) error { return enter(g, c, barrier.Config{Max: 4, Percent: 80}) },
		"throttled barrier": func(c string) error {
			return enter(g, c, barrier.Config{Max: 4, Throttle: barrier.Throttle{Count: 1, Period: ms}})
		},
	}
	can := map[string]func(string) error{
		"reduce of 3 of 4": func(c string) error { _, err := g.Reduce(ctx, reduce(c, 3, 4)); return err },
		"gather of 3 of 4": func(c string) error {
			got, err := g.Gather(ctx, ids(c, 4), 3)
			for _, v := range got.Views {
				if v != nil {
					v.Release()
				}
			}
			return err
		},
		"barrier of 2":    func(c string) error { return enter(g, c, barrier.Config{Max: 2}) },
		"barrier of 50 %": func(c string) error { return enter(g, c, barrier.Config{Max: 4, Percent: 50}) },
	}
	for c, f := range cannot {
		go func() { fail <- ended{c, f(c)} }()
	}
	for c, f := range can {
		go func() { well <- ended{c, f(c)} }()
	}
	eventually(t, "both barriers are entered", func() bool { return entered(t, nodes[1], "barrier of 2") && entered(t, nodes[1], "barrier of 50 %") })
	if err := end(); err != nil {
		t.Fatal(err)
	}
	for range cannot {
		var m *group.MemberError
		if e := <-fail; !errors.Is(e.err, phalanx.ErrFailed) || !errors.As(e.err, &m) || !slices.Equal(m.Ranks, []int{3}) {
			t.Errorf("%s: %v", e.call, e.err)
		}
	}
	for _, other := range groups {
		eventually(t, "all know", func() bool { return slices.Equal(other.Failed(), []int{3}) })
	}
	for c := range can { // those who are left bring what they wait for
		for i := range 3 {
			if _, err := nodes[i].Put(ctx, phalanx.ObjectID(fmt.Sprint(c, "/", i)), make([]byte, 64), cluster.WithArray(phalanx.Float32, 16)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, cfg := range map[string]barrier.Config{"barrier of 2": {Max: 2}, "barrier of 50 %": {Max: 4, Percent: 50}} {
		if err := enter(groups[1], name, cfg); err != nil {
			t.Errorf("the second one enters the %s: %v", name, err)
		}
	}
	for range can {
		if e := <-well; e.err != nil {
			t.Errorf("%s: %v", e.call, e.err)
		}
	}
	// What cannot end well is not begun, until the failure is acknowledged.
	is(t, cannot["reduce of all"]("again"), phalanx.ErrFailed)
	g.Acknowledge()
	short, cancel := context.WithTimeout(ctx, 50*ms)
	defer cancel()
	_, err := g.Gather(short, ids("never", 2), 0)
	is(t, err, phalanx.ErrDeadline)
}

// entered reports whether somebody waits in a barrier of group g.
func entered(t testing.TB, n *cluster.Node, name string) bool {
	t.Helper()
	all, err := barrier.List(within(t), n)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(all, func(s barrier.Status) bool { return s.Name == "g/"+name && s.Entered == 1 })
}
