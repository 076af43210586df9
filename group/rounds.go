package group

import (
	"context"
	"sync"
)

// rounds are the functions that Go has started, in rounds that follow each other. Each round
// ends with a Wait.
type rounds struct {
	mu      sync.Mutex
	present *round // nil: nothing was started since the last Wait
}

// round is the functions that were started between two Waits.
type round struct {
	context.Context // of its functions
	end             context.CancelCauseFunc
	running         int   // under rounds.mu, as the other fields
	failed          error // of the function that failed first
	quiet           *sync.Cond
}

// Go runs f in a goroutine of its own, as errgroup.Group.Go does. The context of f ends when
// the group is revoked or left, when a function that was started since the last Wait fails,
// and when Wait returns. It does not end when a member fails. Go starts nothing once the
// group is revoked or left, and Wait says why.
//
// Go does not recover a panic of f: it ends the program, like a panic of any goroutine. An
// f that calls runtime.Goexit counts as having returned nil.
func (g *Group) Go(f func(ctx context.Context) error) {
	r := g.rounds.begin(g.ctx)
	if r == nil {
		return
	}
	go func() {
		defer g.rounds.leave(r) // also if f panics: then the program ends
		if err := f(r); err != nil {
			g.rounds.fail(r, g.ctx, err)
		}
	}()
}

// Wait waits until the functions that Go has started since the last Wait have returned, and
// returns the first error of one of them. Once the group is revoked, it is phalanx.ErrRevoked
// with a RevokedError, unless a function had failed before; once it is left, it is
// phalanx.ErrClosed. Wait has no deadline: it returns when the functions heed their context.
// Functions started after its return belong to the next Wait.
func (g *Group) Wait() error {
	if err := g.rounds.wait(); err != nil {
		return err
	}
	if g.ctx.Err() != nil {
		return named(context.Cause(g.ctx), "wait")
	}
	return nil
}

// begin returns the round that one more function runs in, or nil if the group has ended.
func (s *rounds) begin(group context.Context) *round {
	s.mu.Lock()
	defer s.mu.Unlock()
	if group.Err() != nil {
		return nil
	}
	if s.present == nil {
		r := &round{quiet: sync.NewCond(&s.mu)}
		r.Context, r.end = context.WithCancelCause(group)
		s.present = r
	}
	s.present.running++
	return s.present
}

// fail notes that a function has failed. In a group that has ended it says nothing new.
func (s *rounds) fail(r *round, group context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.failed == nil && group.Err() == nil {
		r.failed = err
		r.end(err)
	}
}

func (s *rounds) leave(r *round) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.running--; r.running == 0 {
		r.quiet.Broadcast()
	}
}

// wait ends the present round, and returns the error of the function that failed first.
func (s *rounds) wait() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.present
	if r == nil {
		return nil
	}
	for r.running > 0 {
		r.quiet.Wait()
	}
	if s.present == r { // no other Wait has ended the round
		s.present = nil
	}
	r.end(nil)
	return r.failed
}
