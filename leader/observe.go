package leader

import (
	"context"
	"errors"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Leader is the present leader.
type Leader struct {
	Name     string // that it campaigns by; empty: there is no leader
	Campaign string // tells two campaigns by one name apart
}

// Leader returns the present leader. There may be none.
func (e *Election) Leader(ctx context.Context) (Leader, error) {
	all, err := e.slot.Holders(ctx)
	if err != nil {
		return Leader{}, named(err, "look", e.name)
	}
	if len(all) == 0 {
		return Leader{}, nil
	}
	return Leader{Name: all[0].Host, Campaign: all[0].Label}, nil
}

// lookEvery is how often an observer asks.
const lookEvery = 250 * time.Millisecond

// Observe calls f with the leader, now and at each change, until ctx ends or f returns
// false. It asks four times a second, and may miss a shorter leadership. It fails if
// the election's managers do not answer for a minute. An observer sees the cluster's leader;
// a former leader may not know yet that it has lost its leadership.
func (e *Election) Observe(ctx context.Context, f func(Leader) bool) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var last Leader
	for first := true; ; first = false {
		now, err := e.Leader(ctx)
		if err != nil {
			return err
		}
		if (first || now != last) && !f(now) {
			return nil
		}
		last = now
		select {
		case <-tick.C:
		case <-ctx.Done():
			kind := phalanx.ErrDeadline
			if errors.Is(ctx.Err(), context.Canceled) {
				kind = phalanx.ErrCanceled
			}
			return failure("observe", e.name, kind, ctx.Err())
		}
	}
}
