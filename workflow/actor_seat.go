package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// origin says which output of another task has the bytes of an argument.
type origin struct {
	from  *core.Located // nil: none has
	reads bool          // the task only reads the actors in it
	refs  []flow.Ref    // the objects that the output names
}

// seat is an actor that an attempt was given or has made. The first use by an attempt that writes makes the next version; if the actor is not there
// at the version that the attempt was given, it is restored of its snapshot, as an actor of the attempt's own.
type seat struct {
	life       *life
	kind, name string
	from       *core.Located // the output that has it; nil: the attempt has made it, or it is not known
	writes     bool          // the attempt was given it to write it
	snapshot   *Ref          // of the version that the attempt was given; nil: none
	turn       chan struct{} // has one item: whoever has it may restore the actor

	// under life.mu
	at    flow.ActorAt
	own   bool           // the attempt has made this version
	used  bool           // a call was made, so that the node may have made the next version
	lost  error          // nobody can use it any more
	tries []flow.ActorAt // where it was to be made, and perhaps was
	saved Ref            // the snapshot of this version
	kept  bool           // the output holds it
	times int            // that it was restored
}

// mostRestored is how often an attempt restores an actor that it reads: it may be that what it asks for kills each.
const mostRestored = 3

func (l *life) newSeat(kind, name string, at flow.ActorAt) *seat {
	s := &seat{life: l, kind: kind, name: name, at: at, turn: make(chan struct{}, 1)}
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
		s = l.newSeat(u.actor.Kind, u.actor.Name, key)
		s.from = of.from
		if at := slices.IndexFunc(of.refs, func(r flow.Ref) bool { return r.Object == u.actor.State }); at >= 0 {
			s.snapshot = &Ref{of.refs[at].Object, of.refs[at].Meta.Size, of.refs[at].Digest}
		}
		if l.given == nil {
			l.given = map[flow.ActorAt]*seat{}
		}
		l.given[key] = s
		l.seats = append(l.seats, s)
		l.spread.actors[key.Node]++
	}
	s.writes = s.writes || !u.reads
	u.seat = s
	return nil
}

// form returns the actor as an output holds it.
func (s *seat) form() flow.Actor {
	s.life.mu.Lock()
	defer s.life.mu.Unlock()
	return flow.Actor{ActorAt: s.at, Kind: s.kind, Name: s.name, State: s.saved.id}
}

// do has the actor do something, and restores it before if that is necessary and possible.
func (s *seat) do(ctx context.Context, c flow.ActorCall) (flow.ActorAnswer, error) {
	for {
		c.By = ""
		s.life.mu.Lock()
		if c.Actor = s.at; s.writes && !s.own {
			c.By = s.life.by
		}
		s.used = true
		lost := s.lost
		s.life.mu.Unlock()
		if lost != nil {
			return flow.ActorAnswer{}, lost
		}
		a := s.life.stage.call(ctx, c)
		switch a.End {
		case flow.ActorGone, flow.ActorCrashed:
			if err := s.replace(ctx, c.Actor, a); err != nil {
				return a, err
			}
			continue
		case flow.ActorDone, flow.ActorFailed:
			if c.By != "" {
				s.wrote(c.Actor)
			}
		}
		return a, s.failure(ctx, a)
	}
}

// failure returns the error of a call that was not carried out.
func (s *seat) failure(ctx context.Context, a flow.ActorAnswer) error {
	switch a.End {
	case flow.ActorWorks:
		return reason(ctx)
	case flow.ActorSilent:
		return s.error(phalanx.ErrUnavailable, errors.New(a.Why))
	case flow.ActorLacks:
		return s.error(phalanx.ErrNotFound, errors.New(a.Why))
	}
	return nil
}

func (s *seat) error(kind phalanx.Kind, err error) error {
	return &phalanx.Error{Op: "call", Kind: kind, Err: fmt.Errorf("the actor %s (%s): %w", s.name, s.kind, err)}
}

// wrote notes that the actor is at the attempt's own version.
func (s *seat) wrote(before flow.ActorAt) {
	s.life.mu.Lock()
	defer s.life.mu.Unlock()
	if s.at == before {
		s.at.Version, s.at.By, s.own = before.Version+1, s.life.by, true
	}
}

// replace restores the actor, which is not there any more at a version.
func (s *seat) replace(ctx context.Context, before flow.ActorAt, a flow.ActorAnswer) error {
	select {
	case <-s.turn:
	case <-ctx.Done():
		return reason(ctx)
	}
	defer func() { s.turn <- struct{}{} }()
	s.life.mu.Lock()
	again := s.at != before || s.lost != nil // another call has done it
	can := s.snapshot != nil && s.times < mostRestored && (!s.own || !s.writes)
	s.times++
	s.life.mu.Unlock()
	switch {
	case again:
		return nil
	case !can:
		return s.lose(a)
	}
	return s.restore(ctx, a.Why)
}

// lose notes that nobody can use the actor any more. If a call has ended it, that is a failure of the task, and is counted; else an input was
// lost.
func (s *seat) lose(a flow.ActorAnswer) error {
	err := s.error(phalanx.ErrLost, errors.New(a.Why))
	s.life.mu.Lock()
	s.lost = err
	if s.from != nil && a.End != flow.ActorCrashed {
		note(&s.life.torn, []core.Blob{flow.BlobOf(s.life.a.uid, *s.from)})
	}
	at := s.at
	s.life.mu.Unlock()
	s.life.stage.tells(actors.ActorLost{UID: s.life.a.run, Actor: s.name, Of: s.kind, Node: at.Node, Why: a.Why})
	return err
}

// restore makes an actor of the snapshot.
func (s *seat) restore(ctx context.Context, why string) error {
	from := s.at.Node
	meta, err := s.life.look(ctx, *s.snapshot)
	if err != nil {
		return s.error(phalanx.ErrLost, fmt.Errorf("%s, and its snapshot: %w", why, err))
	}
	a, err := s.place(ctx, flow.ActorCall{Deed: flow.ActorRestore, Large: flow.Ref{Object: s.snapshot.id, Meta: meta, Digest: s.snapshot.digest}}, s.at.Version+1)
	if err == nil && a.End == flow.ActorFailed {
		err = fmt.Errorf("it cannot be restored: %s", a.Why)
	}
	if err != nil {
		return s.error(phalanx.ErrFailed, err)
	}
	s.life.stage.tells(actors.ActorRestored{UID: s.life.a.run, Actor: s.name, Of: s.kind, From: from, On: s.at.Node, Why: why})
	return nil
}

// place makes the actor on the first node that can.
func (s *seat) place(ctx context.Context, c flow.ActorCall, version uint64) (flow.ActorAnswer, error) {
	l := s.life
	var why []error
	for _, n := range l.placesFor(s.kind) {
		at := flow.ActorAt{Node: n, ID: l.nextActorID(), By: l.by, Version: version}
		l.mu.Lock()
		s.tries = append(s.tries, at)
		l.mu.Unlock()
		c.Actor, c.Name, c.As = at, s.kind, s.name
		a := l.stage.call(ctx, c)
		switch a.End {
		case flow.ActorWorks:
			return a, reason(ctx)
		case flow.ActorDone:
			l.mu.Lock()
			s.at, s.own = at, true
			l.spread.actors[n]++
			l.mu.Unlock()
			return a, nil
		case flow.ActorFailed:
			return a, nil
		case flow.ActorLacks:
			l.mu.Lock()
			l.spread.lacks[kindOn{n, s.kind}] = true
			l.mu.Unlock()
		}
		why = append(why, fmt.Errorf("node %s: %s", n, a.Why))
	}
	if why == nil {
		why = []error{errors.New("no node runs tasks")}
	}
	return flow.ActorAnswer{}, fmt.Errorf("no node can make it: %w", errors.Join(why...))
}

// save makes a snapshot of the actor, as an object with a number.
func (s *seat) save(ctx context.Context, number int) error {
	l, id := s.life, flow.StateID(s.life.by, number)
	l.tries(id)
	a, err := s.do(ctx, flow.ActorCall{Deed: flow.ActorSave, Object: id})
	switch {
	case err != nil:
		return err
	case a.End == flow.ActorFailed:
		return s.error(phalanx.ErrFailed, fmt.Errorf("its snapshot: %s", a.Why))
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

// leave has nodes forget what nobody can use once the attempt has ended: if it has not ended well all that it has made and written,
// else what its output does not hold.
func (l *life) leave(well bool) {
	l.mu.Lock()
	var all []flow.ActorAt
	for _, s := range l.seats {
		all = append(all, s.leaves(well)...)
	}
	l.mu.Unlock()
	for _, a := range all {
		l.stage.discard(a)
	}
}

// leaves returns at which versions the actor is of no use once the attempt has ended.
func (s *seat) leaves(well bool) (all []flow.ActorAt) {
	keeps := well && s.kept
	for _, a := range s.tries {
		if !keeps || a != s.at {
			all = append(all, a)
		}
	}
	switch {
	case keeps || slices.Contains(all, s.at):
		return all
	case s.own:
		return append(all, s.at)
	case s.writes && well: // a task that ends well and does not return it was the last to have it
		all = append(all, s.at)
	}
	if s.writes && s.used { // the node may have made the next version
		next := s.at
		next.Version, next.By = next.Version+1, s.life.by
		all = append(all, next)
	}
	return all
}

// nextActorID returns the ID of an actor that the attempt makes.
func (l *life) nextActorID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.actors++
	return flow.ActorID(l.by, fmt.Sprint(l.actors))
}
