package workflow

import (
	"context"
	"fmt"

	flow "github.com/phalanx-go/phalanx/node/workflow"
)

// settle has the actors that an output holds be at the attempt's version, with snapshots if the task has the annotation. final says that another
// attempt would fail as well.
func (r *runner) settle(ctx context.Context, t *Task, a *attempt, life *life, value any) (err error, final bool) {
	if t.expands || t.makes.actors == nil {
		return nil, false
	}
	if _, _, err := r.encoded(t, value); err != nil { // else the value may have a cycle
		return err, true
	}
	var seats []*seat
	seen := map[*seat]bool{}
	err = t.makes.actors.find(value, func(ref ActorRef) error {
		switch u := ref.of; {
		case u == nil:
		case u.seat == nil || u.seat.life != life:
			return fmt.Errorf("%w: %q", ErrStrangeActor, ref.Name())
		case u.reads:
			return fmt.Errorf("its output holds the actor %s: %w", ref.Name(), ErrReadOnly)
		case !seen[u.seat]:
			seen[u.seat] = true
			seats = append(seats, u.seat)
		}
		return nil
	})
	if err != nil {
		return invalid("run", err), true
	}
	err = each(ctx, len(seats), func(ctx context.Context, i int) error {
		if err := seats[i].settle(ctx); err != nil || !a.call.Snapshot {
			return err
		}
		return seats[i].save(ctx, i)
	})
	if err != nil {
		return err, IsPermanent(err)
	}
	life.mu.Lock()
	defer life.mu.Unlock()
	for _, s := range seats {
		s.core.Keep()
	}
	return nil, false
}

// settle has the actor be at the attempt's version, also if the task has not called it.
func (s *seat) settle(ctx context.Context) error {
	_, _, err := s.do(ctx, flow.ActorCall{Deed: flow.ActorDo})
	return err
}

// snapshots returns those of the actors in the output.
func (l *life) snapshots() (all []Ref) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.seats {
		if s.core.Kept() && !s.saved.IsZero() {
			all = append(all, s.saved)
		}
	}
	return all
}
