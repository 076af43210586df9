package leader

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
)

// Election is an election as one node sees it. It is safe for concurrent use, and need not be
// closed.
type Election struct {
	name string
	slot *barrier.Barrier
}

// prefix keeps the semaphores of elections from the application's barriers.
const prefix = "leader/"

// Open returns the election called name. Nothing is created before there is a candidate. It
// fails with phalanx.ErrInvalid if the node has no barriers.
func Open(n *cluster.Node, name string) (*Election, error) {
	if name == "" {
		return nil, failure("open", name, phalanx.ErrInvalid, errors.New("an election needs a name"))
	}
	slot, err := barrier.Open(n, prefix+name, barrier.Config{Semaphore: barrier.Semaphore{Count: 1}})
	if err != nil {
		return nil, named(err, "open", name)
	}
	return &Election{name: name, slot: slot}, nil
}

// Leadership is the leadership of a candidate that was elected.
type Leadership struct {
	e    *Election
	hold *barrier.Hold
}

// forever is how long a candidate waits whose context has no deadline: a leader may lead
// for as long as it likes.
const forever = 100 * 365 * 24 * time.Hour

// Campaign waits until the candidate is elected, or ctx ends: it has no deadline of its own.
// Observers see the name of the leader, for example its address; if it is empty, the name of
// the node. Candidates may share a name. If ctx ends with a phalanx.Error as its cause, like
// the context of a revoked group, Campaign returns that error.
func (e *Election) Campaign(ctx context.Context, name string) (*Leadership, error) {
	patient := ctx
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		patient, cancel = context.WithTimeout(ctx, forever)
		defer cancel()
	}
	hold, err := e.slot.Acquire(patient, barrier.Entry{Label: rand.Text(), Host: name}) // each campaign is an entry of its own
	for errors.Is(err, barrier.ErrNotHeld) && ctx.Err() == nil {                        // it was lost before the grant came
		hold, err = e.slot.Acquire(patient, barrier.Entry{Label: rand.Text(), Host: name})
	}
	if err == nil {
		return &Leadership{e: e, hold: hold}, nil
	}
	var why *phalanx.Error
	if ctx.Err() != nil && errors.As(context.Cause(ctx), &why) {
		err = why
	}
	return nil, named(err, "campaign", e.name)
}

// Fence returns the number of the leadership.
func (l *Leadership) Fence() barrier.Fence { return l.hold.Fence() }

// Context ends when the candidate does not lead any more. If it has not resigned, the cause
// is an error with barrier.ErrNotHeld.
func (l *Leadership) Context() context.Context { return l.hold.Context() }

// Leads reports whether the candidate leads still, as far as its node knows. It looks at the
// clock too, which Context does not where the process was stopped.
func (l *Leadership) Leads() bool { return l.hold.Held() }

// Resign ends the leadership, and returns when the next candidate can lead. It succeeds if the
// leadership was lost or resigned before. If ctx ends first, it is resigned nevertheless, later.
func (l *Leadership) Resign(ctx context.Context) error {
	err := l.hold.Release(ctx)
	if err == nil || errors.Is(err, barrier.ErrNotHeld) {
		return nil
	}
	return named(err, "resign", l.e.name)
}

// resignWithin bounds how long Lead waits for its end to be known.
const resignWithin = 5 * time.Second

// Lead campaigns, calls f when the candidate is elected, and resigns when f returns. The
// context of f ends with ctx, and when the candidate does not lead any more. Lead returns the
// error of f; if that is nil, and the leadership was lost before f has returned, an error with
// barrier.ErrNotHeld.
func (e *Election) Lead(ctx context.Context, name string, f func(ctx context.Context, fence barrier.Fence) error) (err error) {
	l, err := e.Campaign(ctx, name)
	if err != nil {
		return err
	}
	leads, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.Context(), func() { cancel(context.Cause(l.Context())) })()
	defer func() { // also if f panics
		cancel(context.Canceled) // before another one can lead
		ctx, done := context.WithTimeout(context.WithoutCancel(ctx), resignWithin)
		defer done()
		if resigned := l.Resign(ctx); err == nil {
			err = resigned
		}
	}()
	if err = f(leads, l.Fence()); err == nil && l.Context().Err() != nil {
		err = named(context.Cause(l.Context()), "lead", e.name)
	}
	return err
}

func failure(op, name string, kind phalanx.Kind, err error) *phalanx.Error {
	return &phalanx.Error{Op: "leader " + op, Object: phalanx.ObjectID(name), Kind: kind, Err: err}
}

// named returns err as the error of a call of the election.
func named(err error, op, name string) error {
	var e *phalanx.Error
	if !errors.As(err, &e) {
		return failure(op, name, phalanx.ErrInternal, fmt.Errorf("unexpected: %w", err))
	}
	out := *e
	out.Op, out.Object = "leader "+op, phalanx.ObjectID(name)
	return &out
}
