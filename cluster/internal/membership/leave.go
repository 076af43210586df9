package membership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/view"
)

const (
	// removal is how long before the end of ctx Leave stops waiting for others to
	// take over, to be removed in any case.
	removal = time.Second

	// proposeAgain is less than the core's patience with a command.
	proposeAgain = 2 * time.Second
)

// Leave hands this node's shards and its vote over to the others and takes it
// out of the view. If ctx ends first, the node is removed nevertheless if that
// can be done, and the error says what was not handed over. The last member
// leaves at once. The caller stops the node after it.
func (m *Membership) Leave(ctx context.Context) error {
	m.leaving.Store(true)
	self := m.cfg.Self.ID
	if v := m.View(); !v.Has(self) || len(v.Members) == 1 {
		return nil
	}
	patience := ctx
	if end, ok := ctx.Deadline(); ok {
		left := time.Until(end)
		var cancel context.CancelFunc
		patience, cancel = context.WithTimeout(ctx, max(left/2, left-removal))
		defer cancel()
	}
	var unfinished error
	if fenced, err := m.insist(patience, view.Leaving{Node: self}, func(v view.View) bool { return v.Idle(self) }); err != nil {
		unfinished = fmt.Errorf("%d shards were not handed over", held(m.View(), self))
	} else if fenced {
		return nil
	}
	_, err := m.insist(ctx, view.RemoveMember{Node: self}, func(v view.View) bool { return !v.Has(self) })
	if err != nil {
		err = fmt.Errorf("the voters did not agree to it: %w", err)
	}
	if err = errors.Join(unfinished, err); err != nil {
		return m.fail("leave", phalanx.ErrDeadline, err)
	}
	return nil
}

// insist proposes c until a view fulfils until. No member is left to ask if all
// others have gone.
func (m *Membership) insist(ctx context.Context, c view.Command, until func(view.View) bool) (fenced bool, err error) {
	for {
		m.Propose(c)
		wait, cancel := context.WithTimeout(ctx, proposeAgain)
		fenced, err := m.await(wait, func(v view.View) bool { return until(v) || len(v.Members) == 1 })
		cancel()
		if err == nil || ctx.Err() != nil {
			return fenced, err
		}
	}
}

// held returns how many shards id owns or is to own.
func held(v view.View, id phalanx.NodeID) int {
	n := 0
	for _, s := range v.Shards {
		if s.Owner == id || s.Next == id {
			n++
		}
	}
	return n
}
