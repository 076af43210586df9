package group_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/group"
)

// formSome has members on some of the nodes form a group with all.
func formSome(t testing.TB, nodes []*cluster.Node, come []*cluster.Node, opts ...group.Option) []*group.Group {
	t.Helper()
	ctx := within(t)
	return each(t, make([]*group.Group, len(come)), func(i int, _ *group.Group) (*group.Group, error) {
		return group.Form(ctx, come[i], "train", on(nodes), opts...)
	})
}

// A group is formed without a member that does not come. Nothing waits for that; when it comes
// it is told so, and the others take it in.
func TestFormWithoutAMember(t *testing.T) {
	for out := range 3 {
		nodes := start(t, 3)
		ctx := within(t)
		come := slices.Delete(slices.Clone(nodes), out, out+1)
		opts := []group.Option{group.AtLeast(2), group.JoinTimeout(50 * ms)}
		groups := formSome(t, nodes, come, opts...)
		for i, a := range each(t, groups, func(i int, g *group.Group) (group.Agreement, error) { return g.Agree(ctx, int64(i), group.Max) }) {
			if failed := groups[i].Failed(); a.Value != 1 || !slices.Equal(failed, []int{out}) || !slices.Equal(a.Unacknowledged, []int{out}) {
				t.Errorf("without %d: member %d agrees on %+v, failed are %v", out, i, a, failed)
			}
			groups[i].Acknowledge()
		}
		_, err := group.Form(ctx, nodes[out], "train", on(nodes), opts...)
		is(t, err, group.ErrFormedWithout)
		is(t, err, group.ErrNotMember)
		if _, err := groups[0].Grow(ctx, group.Member{Node: come[1].ID()}); err == nil {
			t.Errorf("a member that is there comes in again")
		}
		is(t, err, phalanx.ErrInvalid)
		type grown struct {
			*group.Group
			error
		}
		await := make(chan grown, 1)
		go func() {
			g, err := group.Await(ctx, nodes[out])
			await <- grown{g, err}
		}()
		all := each(t, groups, func(i int, g *group.Group) (*group.Group, error) {
			return g.Grow(ctx, group.Member{Node: nodes[out].ID()})
		})
		last := <-await
		if last.error != nil {
			t.Fatal(last.error)
		}
		for i, a := range each(t, append(all, last.Group), func(i int, g *group.Group) (group.Agreement, error) { return g.Agree(ctx, int64(i), group.Max) }) {
			if a.Value != 2 || len(a.Failed) > 0 {
				t.Errorf("without %d: when it is back, member %d agrees on %+v", out, i, a)
			}
		}
	}
}

// Numbers that cannot be are refused, and such that differ.
func TestNumbersThatCannotBe(t *testing.T) {
	nodes := start(t, 2)
	ctx := within(t)
	for _, opts := range [][]group.Option{
		{group.AtLeast(-1)}, {group.AtLeast(0)}, {group.AtLeast(1)}, {group.AtLeast(3)}, {group.AtLeast(2), group.JoinTimeout(-1)}, {group.JoinTimeout(time.Second)},
	} {
		_, err := group.Form(ctx, nodes[0], "train", on(nodes), opts...)
		is(t, err, phalanx.ErrInvalid)
	}
	hands := hire(t, nodes)
	for _, m := range []*group.FormGroup{{AtLeast: 1}, {AtLeast: 3}, {AtLeast: 2, JoinTimeout: -1}, {JoinTimeout: 1}} {
		m.Name, m.Members, m.Rank = "train", on(nodes), -1
		hands[0].send(m)
		is(t, next[*group.Formed](hands[0]).Err, phalanx.ErrInvalid)
	}
	_, errs := outcomes(make([]*group.Group, 2), func(i int, _ *group.Group) (*group.Group, error) {
		return group.Form(ctx, nodes[i], "train", on(nodes), group.AtLeast(2), group.JoinTimeout(time.Duration(i)))
	})
	for _, err := range errs {
		is(t, err, group.ErrDiffers)
	}
}

// A caller's deadline ends a Form that too few come to; the error names who is absent.
func TestTooFewCome(t *testing.T) {
	nodes := start(t, 3)
	short, cancel := context.WithTimeout(context.Background(), 300*ms)
	defer cancel()
	_, err := group.Form(short, nodes[1], "train", on(nodes), group.AtLeast(2))
	var absent *group.AbsentError
	if !errors.Is(err, phalanx.ErrDeadline) || !errors.As(err, &absent) || !slices.Equal(absent.Absent, []string{string(nodes[0].ID()), string(nodes[2].ID())}) {
		t.Errorf("%v", err)
	}
}

// Actors form a group without one that does not come.
func TestActorsFormWithoutOne(t *testing.T) {
	nodes := start(t, 3)
	hands := hire(t, nodes)
	say := func(h *hired) {
		h.send(&group.FormGroup{Name: "train", Members: on(nodes), Rank: -1, AtLeast: 2, JoinTimeout: 50 * ms})
	}
	say(hands[0])
	say(hands[2])
	for _, h := range []*hired{hands[0], hands[2]} {
		if f := next[*group.Formed](h); f.Err != nil || !slices.Equal(f.Group.Failed(), []int{1}) {
			t.Fatalf("%+v", f)
		}
	}
	say(hands[1])
	is(t, next[*group.Formed](hands[1]).Err, group.ErrFormedWithout)
}

// The process that gathers the calls is killed while it waits for more: the others are in the
// same group, and one that comes late is told so.
func TestKilledWhileItWaits(t *testing.T) {
	processes := launch(t, 5)
	o := order{Do: "form", Group: "train", Members: members(processes, 5), AtLeast: 3, JoinTimeout: 200 * ms}
	processes[1].Tell(t, o)
	processes[2].Tell(t, o)
	_ = processes[0].Kill()
	processes[3].Tell(t, o)
	for i, p := range processes[1:4] {
		if r := p.await(t); !slices.Equal(r.Failed, []int{0, 4}) {
			t.Errorf("process %d is in a group in which %v have failed", i+1, r.Failed)
		}
	}
	processes[4].Tell(t, o)
	if r := processes[4].Await(t); !strings.Contains(r.Err, group.ErrFormedWithout.Error()) {
		t.Errorf("process 4 comes late: %+v", r)
	}
}

// Two members of three are enough. They go on without the third one.
func ExampleAtLeast() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var nodes []*cluster.Node
	var members []group.Member
	for _, name := range []string{"a", "b", "c"} {
		cfg := config(name)
		if len(nodes) > 0 {
			cfg.Seeds = []string{nodes[0].ControlAddr()}
		}
		n, err := cluster.Join(ctx, cfg)
		if err != nil {
			log.Fatal(err)
		}
		defer func() { _ = n.Leave(ctx) }()
		nodes, members = append(nodes, n), append(members, group.Member{Node: n.ID()})
	}
	form := func(n *cluster.Node) *group.Group {
		g, err := group.Form(ctx, n, "train", members, group.AtLeast(2), group.JoinTimeout(100*time.Millisecond))
		if err != nil {
			log.Fatal(err)
		}
		return g
	}
	other := make(chan *group.Group)
	go func() { other <- form(nodes[1]) }()
	g := form(nodes[0])
	fmt.Println("absent:", g.Acknowledge(), (<-other).Acknowledge())
	_, err := group.Form(ctx, nodes[2], "train", members, group.AtLeast(2), group.JoinTimeout(100*time.Millisecond))
	fmt.Println("too late:", errors.Is(err, group.ErrFormedWithout))
	// Output:
	// absent: [2] [2]
	// too late: true
}
