package group

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/group"
)

// Op folds the values of an Agree.
type Op = core.Op

// The ops: And and Or are of each bit.
const (
	And = core.And
	Or  = core.Or
	Min = core.Min
	Max = core.Max
)

// Agreement is the result of an Agree, the same for all members that return from it.
type Agreement struct {
	Value          int64
	Failed         []int // ranks that had failed, and do not count
	Unacknowledged []int // failed ranks that not all members have acknowledged
}

// Agree returns the values of all live members, folded by op: the same to all. It
// also works in a revoked group, and when members fail meanwhile. Members make
// their calls of Agree, Shrink and Grow in the same order.
func (g *Group) Agree(ctx context.Context, value int64, op Op) (Agreement, error) {
	if !op.Valid() {
		return Agreement{}, failure("agree", g.name, phalanx.ErrInvalid, fmt.Errorf("there is no op %d", op))
	}
	e, err := g.agree(ctx, "agree", core.Contribution{For: core.ForAgree, Value: value, Op: op})
	return agreement(e), err
}

func agreement(e ending) Agreement {
	d := e.done.Decision
	return Agreement{Value: d.Value, Failed: d.Failed, Unacknowledged: d.Unacknowledged}
}

// Shrink returns a new group of the members that are left, in their order. The old
// one goes on as it is.
func (g *Group) Shrink(ctx context.Context) (*Group, error) {
	e, err := g.agree(ctx, "shrink", core.Contribution{For: core.ForShrink})
	return e.group, err
}

// Grow returns a new group of the members that are left and, behind them, newcomers.
// All members call it, with the newcomers that they know of. Each newcomer that a member names
// comes in, also one that has left this group or was never in it. Grow returns when the
// newcomers have called Await. The old group goes on as it is.
func (g *Group) Grow(ctx context.Context, newcomers ...Member) (*Group, error) {
	if err := g.validNewcomers(newcomers); err != nil {
		return nil, err
	}
	ctx, cancel := within(ctx)
	defer cancel()
	known(ctx, g.node, newcomers)
	e, err := g.agree(ctx, "grow", core.Contribution{For: core.ForGrow, Newcomers: newcomers})
	return e.group, err
}

func (g *Group) agree(ctx context.Context, op string, c core.Contribution) (ending, error) {
	if err := g.ended(); err != nil {
		return ending{}, named(err, op)
	}
	ctx, cancel := within(ctx)
	defer cancel()
	return do(ctx, g.node, g.pid, op, g.call(c))
}

// call is this member's part in an agreement.
func (g *Group) call(c core.Contribution) core.Call {
	c.Acked = g.acknowledged()
	return core.Call{Kind: core.CallAgree, Group: g.name, Rank: g.rank, Contribution: c}
}

func (g *Group) validNewcomers(newcomers []Member) error {
	if len(newcomers) == 0 {
		return nil
	}
	_, err := core.NewRoster(newcomers)
	failed := g.Failed() // those can come back
	for rank, m := range newcomers {
		if old := slices.Index(g.roster.Members(), m); old >= 0 && err == nil && !slices.Contains(failed, old) {
			err = &RosterError{Rank: rank, Text: fmt.Sprintf("%s is rank %d of the group already", m, old)}
		}
	}
	if err != nil {
		return failure("grow", g.name, phalanx.ErrInvalid, err)
	}
	return nil
}

func (g *Group) acknowledged() []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Sorted(maps.Keys(g.acked))
}
