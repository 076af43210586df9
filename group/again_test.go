package group_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/group"
)

// A training that begins again has a group of the same name, though its members do not leave
// the old one at the same time.
func TestANameIsUsedAgain(t *testing.T) {
	nodes := start(t, 3)
	for round := range 20 {
		ctx := within(t)
		groups := form(t, "train", nodes)
		_, err := group.Form(ctx, nodes[0], "train", on(nodes))
		is(t, err, group.ErrUsed)
		if round%2 == 0 {
			if err := groups[1].Revoke(ctx, "again"); err != nil {
				t.Fatal(err)
			}
		}
		again := each(t, groups, func(i int, g *group.Group) (*group.Group, error) {
			if err := g.Close(); err != nil {
				return nil, err
			}
			return group.Form(ctx, nodes[i], "train", on(nodes))
		})
		for i, a := range each(t, again, func(i int, g *group.Group) (group.Agreement, error) { return g.Agree(ctx, int64(round+i), group.Max) }) {
			if a.Value != int64(round+2) || len(a.Failed) > 0 {
				t.Errorf("round %d: member %d agrees on %+v", round, i, a)
			}
		}
		for i, g := range again {
			if len(g.Failed()) > 0 || g.IsRevoked() {
				t.Errorf("round %d: member %d begins with failures %v, revoked: %v", round, i, g.Failed(), g.IsRevoked())
			}
		}
		for _, g := range again {
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A member that forms its group again names those that have not left the old one.
func TestFormAgainNamesThoseLeft(t *testing.T) {
	nodes := start(t, 2)
	groups := form(t, "train", nodes)
	if err := groups[0].Close(); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(context.Background(), 100*ms)
	defer cancel()
	_, err := group.Form(short, nodes[0], "train", on(nodes))
	var absent *group.AbsentError
	if !errors.Is(err, phalanx.ErrDeadline) || !errors.As(err, &absent) || len(absent.Absent) != 1 || absent.Absent[0] != string(nodes[1].ID()) {
		t.Errorf("%v", err)
	}
}

// A process that is killed and started again forms the group of the same name with the others,
// once these have left the old one.
func TestANameIsUsedAgainWithARestartedMember(t *testing.T) {
	nodes := start(t, 3)
	join := func() *cluster.Node {
		n, err := cluster.Join(within(t), config("late", nodes[0].ControlAddr()))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	ctx := within(t)
	last := join()
	for round := range 3 {
		all := append(nodes[:3:3], last)
		for _, n := range all {
			eventually(t, "a view of all", func() bool { return len(n.View().Members) == 4 && n.View().Has(last.ID()) })
		}
		groups := form(t, "train", all)
		if err := last.Leave(ctx); err != nil {
			t.Fatal(err)
		}
		for _, g := range groups[:3] {
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if last = join(); round == 2 {
			if err := last.Leave(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A Form that nobody waits for any more is forgotten, and other members can have its name.
func TestAFormThatAllHaveGivenUpIsForgotten(t *testing.T) {
	nodes := start(t, 3)
	short, cancel := context.WithTimeout(context.Background(), 50*ms)
	defer cancel()
	_, errs := outcomes(make([]*group.Group, 2), func(i int, _ *group.Group) (*group.Group, error) {
		return group.Form(short, nodes[i], "train", on(nodes))
	})
	for _, err := range errs {
		is(t, err, phalanx.ErrDeadline)
	}
	eventually(t, "others can have the name", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_, errs := outcomes(make([]*group.Group, 2), func(i int, _ *group.Group) (*group.Group, error) {
			return group.Form(ctx, nodes[i], "train", on(nodes[:2]))
		})
		return errs[0] == nil && errs[1] == nil
	})
}
