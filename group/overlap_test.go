package group_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/group"
)

// Members of two groups who call them in another order wait for each other until their
// deadlines, which name who is absent; what they have contributed stands.
func TestOverlappingGroups(t *testing.T) {
	nodes := start(t, 3)
	a, b := form(t, "a", nodes[:2]), form(t, "b", nodes)
	ctx, cancel := context.WithTimeout(within(t), 300*ms)
	defer cancel()
	crossed := []*group.Group{a[0], b[1]} // and not b[0], a[1]
	_, errs := outcomes(crossed, func(_ int, g *group.Group) (group.Agreement, error) { return g.Agree(ctx, 5, group.Max) })
	for i, err := range errs {
		var absent *group.AbsentError
		if !errors.Is(err, phalanx.ErrDeadline) || !errors.As(err, &absent) || !slices.Contains(absent.Absent, string(nodes[1-i].ID())) {
			t.Errorf("member %d: %v", i, err)
		}
	}
	long := within(t)
	if got, err := a[1].Agree(long, 3, group.Max); err != nil || got.Value != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	if err := a[0].Revoke(long, ""); err != nil {
		t.Fatal(err)
	}
	for i, got := range each(t, []*group.Group{b[0], b[2]}, func(_ int, g *group.Group) (group.Agreement, error) { return g.Agree(long, 3, group.Max) }) {
		if got.Value != 5 {
			t.Errorf("member %d of the other group: %+v", i, got)
		}
	}
}
