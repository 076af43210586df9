package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// origin says which output of another task has the bytes of an argument.
type origin struct {
	from  *core.Located // nil: none has
	reads bool          // the task only reads the actors in it
	refs  []flow.Ref    // the objects that the output names, in the order of their ids
}

// seat hosts a flow.Seat: an actor that an attempt was given or has made. It makes the calls that the core asks for.
type seat struct {
	life       *life
	kind, name string
	snapshot   *Ref          // of the version that the attempt was given; nil: none
	turn       chan struct{} // has one item: whoever has it may claim or restore the actor

	// under life.mu
	core  *flow.Seat
	lost  error // why nobody can use it any more; nil: somebody can
	saved Ref   // the snapshot of this version
}

func (l *life) newSeat(kind, name string) *seat {
	s := &seat{life: l, kind: kind, name: name, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s
}

// finds returns what a reader calls for the arguments of the attempt.
func (l *life) finds() found { return found{ref: l.know, actor: l.seatFor} }

// seatFor gives the attempt an actor that is in an argument.
func (l *life) seatFor(u *actorUse, of *origin) error {
	if of == nil {
		of = &origin{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	u.reads = of.reads || l.a.kind == core.TakeBack || l.a.kind == core.MakeUp
	key := u.actor.ActorAt
	s := l.given[key]
	if s == nil {
		s = l.newSeat(u.actor.Kind, u.actor.Name)
		at, is := slices.BinarySearchFunc(of.refs, u.actor.State, func(r flow.Ref, id phalanx.ObjectID) int { return cmp.Compare(r.Object, id) })
		if is {
			s.snapshot = &Ref{of.refs[at].Object, of.refs[at].Meta.Size, of.refs[at].Digest}
		}
		var from *core.Blob
		if of.from != nil {
			b := flow.BlobOf(l.a.uid, *of.from)
			from = &b
		}
		s.core = l.actors.Given(s.kind, key, from, s.snapshot != nil)
		if l.given == nil {
			l.given = map[flow.ActorAt]*seat{}
		}
		l.given[key] = s
		l.seats = append(l.seats, s)
	}
	if !u.reads {
		s.core.Write()
	}
	u.seat = s
	return nil
}

// form returns the actor as an output holds it.
func (s *seat) form() flow.Actor {
	s.life.mu.Lock()
	defer s.life.mu.Unlock()
	return flow.Actor{ActorAt: s.core.At(), Kind: s.kind, Name: s.name, State: s.saved.id}
}

// do has the actor do something, as often as the core says. at is where the actor has done it.
func (s *seat) do(ctx context.Context, c flow.ActorCall) (a flow.ActorAnswer, at flow.ActorAt, err error) {
	for again := true; again; {
		a, at, again, err = s.once(ctx, c)
	}
	return a, at, err
}

// once makes the next call that the core asks for; again says that c is to be made still.
func (s *seat) once(ctx context.Context, c flow.ActorCall) (a flow.ActorAnswer, at flow.ActorAt, again bool, err error) {
	call, next, lost := s.next(c)
	claims := next == flow.SeatClaims
	if claims {
		if err := s.take(ctx); err != nil {
			return a, at, false, err
		}
		defer s.pass()
		if call, next, lost = s.next(c); next == flow.SeatCalls {
			return a, at, true, nil // another call has claimed it: this one needs no turn
		}
	}
	if next == flow.SeatLost {
		return a, at, false, lost
	}
	a = s.life.stage.call(ctx, call)
	if a.End.NoMore() && !claims {
		again, err = s.replace(ctx, call, a)
	} else {
		again, err = s.answered(ctx, call, a)
	}
	return a, call.Actor, again, err
}

func (s *seat) next(c flow.ActorCall) (call flow.ActorCall, next flow.SeatNext, lost error) {
	s.life.mu.Lock()
	defer s.life.mu.Unlock()
	call, next = s.core.Next(c)
	return call, next, s.lost
}

// replace waits for the turn, and tells the core that a call has found no actor.
func (s *seat) replace(ctx context.Context, c flow.ActorCall, a flow.ActorAnswer) (again bool, err error) {
	if err := s.take(ctx); err != nil {
		return false, err
	}
	defer s.pass()
	return s.answered(ctx, c, a)
}

// answered does what follows of an answer. The caller has the turn if the call was a claim or has found no actor.
func (s *seat) answered(ctx context.Context, c flow.ActorCall, a flow.ActorAnswer) (again bool, err error) {
	s.life.mu.Lock()
	next, told := s.core.Answered(c, a.End), s.lost != nil
	if next == flow.SeatLost && !told {
		s.lost = s.error(phalanx.ErrLost, errors.New(a.Why))
	}
	lost := s.lost
	s.life.mu.Unlock()
	switch next {
	case flow.SeatAgain:
		return true, nil
	case flow.SeatRestores:
		err := s.restore(ctx, a.Why)
		return err == nil, err
	case flow.SeatLost:
		if !told {
			s.life.stage.tells(actors.ActorLost{UID: s.life.a.run, Actor: s.name, Of: s.kind, Node: c.Actor.Node, Why: a.Why})
		}
		return false, lost
	}
	return false, s.failure(ctx, a)
}

// take waits for the turn to claim or to restore the actor; pass gives it on.
func (s *seat) take(ctx context.Context) error {
	select {
	case <-s.turn:
		return nil
	case <-ctx.Done():
		return s.reason(ctx)
	}
}

func (s *seat) pass() { s.turn <- struct{}{} }

// failure returns the error of a call that was not carried out.
func (s *seat) failure(ctx context.Context, a flow.ActorAnswer) error {
	switch a.End {
	case flow.ActorWorks:
		return s.reason(ctx)
	case flow.ActorSilent:
		return s.error(phalanx.ErrUnavailable, errors.New(a.Why))
	}
	return nil
}

// reason says why a context has ended in which the actor was used.
func (s *seat) reason(ctx context.Context) error {
	return fmt.Errorf("the actor %s (%s): %w", s.name, s.kind, reason(ctx))
}

func (s *seat) error(kind phalanx.Kind, err error) error {
	return &phalanx.Error{Op: "call", Kind: kind, Err: fmt.Errorf("the actor %s (%s): %w", s.name, s.kind, err)}
}

// restore makes an actor of the snapshot.
func (s *seat) restore(ctx context.Context, why string) error {
	stop := s.life.beatMeanwhile()
	defer stop()
	from := s.form()
	meta, err := s.life.look(ctx, *s.snapshot)
	if err != nil {
		return s.error(phalanx.ErrLost, fmt.Errorf("%s, and its snapshot: %w", why, err))
	}
	at, err := s.place(ctx, flow.ActorCall{Deed: flow.ActorRestore, Large: flow.Ref{Object: s.snapshot.id, Meta: meta, Digest: s.snapshot.digest}})
	if err != nil {
		return fmt.Errorf("it has to be restored, as %s: %w", why, err)
	}
	s.life.stage.tells(actors.ActorRestored{UID: s.life.a.run, Actor: s.name, Of: s.kind, From: from.Node, On: at.Node, Why: why})
	return nil
}

// place makes the actor on the first node that can.
func (s *seat) place(ctx context.Context, c flow.ActorCall) (at flow.ActorAt, err error) {
	l, nodes := s.life, s.life.stage.places()
	c.Name, c.As = s.kind, s.name
	l.mu.Lock()
	m := s.core.Make(nodes, l.stage.patience())
	l.mu.Unlock()
	var why []error // by nodes that were asked since the last pause
	for {
		l.mu.Lock()
		at, next := m.Next()
		l.mu.Unlock()
		switch next {
		case flow.MakingWaits:
			if err := s.pause(ctx); err != nil {
				return at, err
			}
			nodes, why = l.stage.places(), nil
			l.mu.Lock()
			m.Again(nodes)
			l.mu.Unlock()
			continue
		case flow.MakingSilent:
			return at, s.error(phalanx.ErrUnavailable, fmt.Errorf("no node can make it: %w", errors.Join(why...)))
		case flow.MakingLacks:
			return at, s.error(phalanx.ErrNotFound, fmt.Errorf("no node can make it; give one the kind, in Settings.Actors: %w", errors.Join(why...)))
		}
		c.Actor = at
		a := l.stage.call(ctx, c)
		if a.End == flow.ActorWorks {
			return at, s.reason(ctx)
		}
		l.mu.Lock()
		next = m.Answered(a.End)
		l.mu.Unlock()
		switch next {
		case flow.MakingDone:
			return at, nil
		case flow.MakingFailed:
			return at, s.failed(a, "")
		}
		why = append(why, fmt.Errorf("node %s: %s", at.Node, a.Why))
	}
}

// pause waits until the attempt asks nodes again.
func (s *seat) pause(ctx context.Context) error {
	timer := time.NewTimer(flow.MakingPause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return s.reason(ctx)
	}
}

// failed returns the error that the actor has said, or that has ended it as it was made.
func (s *seat) failed(a flow.ActorAnswer, method string) error {
	err := error(&phalanx.Error{Op: "call", Kind: phalanx.ErrFailed, Err: &ActorError{Name: s.name, Kind: s.kind, Method: method, Text: a.Why}})
	if a.Final {
		return Permanent(err)
	}
	return err
}

// save makes a snapshot of the actor, as an object with a number.
func (s *seat) save(ctx context.Context, number int) error {
	l, id := s.life, flow.StateID(s.life.by, number)
	l.tries(id)
	a, _, err := s.do(ctx, flow.ActorCall{Deed: flow.ActorSave, Object: id})
	switch {
	case err != nil:
		return err
	case a.End == flow.ActorFailed:
		return s.failed(a, "the snapshot")
	case a.Large.Object != id:
		return s.error(phalanx.ErrInternal, fmt.Errorf("its snapshot is %q", a.Large.Object))
	}
	r := Ref{id, a.Large.Meta.Size, a.Large.Digest}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.saved = r
	l.refs[r], l.metas[id] = true, a.Large.Meta
	l.made = append(l.made, r)
	return nil
}

// leave has nodes forget the actors that nobody can use once the attempt has ended.
func (l *life) leave(well bool) {
	l.mu.Lock()
	all := l.actors.Leaves(well)
	l.mu.Unlock()
	for _, a := range all {
		l.stage.discard(a)
	}
}
