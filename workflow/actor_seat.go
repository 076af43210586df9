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

// seat is an actor that an attempt was given or has made. Before an attempt writes it, it makes the next version; if the actor is not there at
// the version that the attempt was given, it is restored of its snapshot, as an actor of the attempt's own.
type seat struct {
	life       *life
	kind, name string
	from       *core.Located // the output that has it; nil: the attempt has made it, or it is not known
	writes     bool          // the attempt was given it to write it
	snapshot   *Ref          // of the version that the attempt was given; nil: none
	turn       chan struct{} // has one item: whoever has it may claim or restore the actor

	// under life.mu
	at    flow.ActorAt
	own   bool           // the attempt has made this version
	used  bool           // the node may have made the attempt's version
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
		at, is := slices.BinarySearchFunc(of.refs, u.actor.State, func(r flow.Ref, id phalanx.ObjectID) int { return cmp.Compare(r.Object, id) })
		if is {
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

// do has the actor do something. An actor that the attempt writes is at the attempt's own version before; one that is not there any more
// is restored, if that is possible. at is where the actor has done it.
func (s *seat) do(ctx context.Context, c flow.ActorCall) (a flow.ActorAnswer, at flow.ActorAt, err error) {
	if err := s.claim(ctx); err != nil {
		return a, at, err
	}
	for {
		s.life.mu.Lock()
		c.Actor = s.at
		lost := s.lost
		s.life.mu.Unlock()
		if lost != nil {
			return a, at, lost
		}
		a = s.life.stage.call(ctx, c)
		if a.End != flow.ActorGone && a.End != flow.ActorCrashed {
			return a, c.Actor, s.failure(ctx, a)
		}
		if err := s.replace(ctx, c.Actor, a); err != nil {
			return a, at, err
		}
	}
}

// claim has an actor that the attempt writes be at the attempt's own version, before it is written: as long as it is not, nothing is lost
// if it has to be restored.
func (s *seat) claim(ctx context.Context) error {
	if done, err := s.claimed(); done {
		return err
	}
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.pass()
	for {
		if done, err := s.claimed(); done {
			return err
		}
		s.life.mu.Lock()
		at := s.at
		s.used = true
		s.life.mu.Unlock()
		switch a := s.life.stage.call(ctx, flow.ActorCall{Deed: flow.ActorDo, Actor: at, By: s.life.by}); a.End {
		case flow.ActorDone:
			s.life.mu.Lock()
			s.at.Version, s.at.By, s.own = at.Version+1, s.life.by, true
			s.life.mu.Unlock()
		case flow.ActorGone, flow.ActorCrashed:
			if err := s.restoreOrLose(ctx, a); err != nil {
				return err
			}
		default:
			return s.failure(ctx, a)
		}
	}
}

// claimed reports whether the actor may be used as it is, or why nobody can use it any more.
func (s *seat) claimed() (done bool, lost error) {
	s.life.mu.Lock()
	defer s.life.mu.Unlock()
	return s.lost != nil || s.own || !s.writes, s.lost
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

// replace restores the actor, which is not there any more at a version.
func (s *seat) replace(ctx context.Context, before flow.ActorAt, a flow.ActorAnswer) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.pass()
	s.life.mu.Lock()
	again := s.at != before || s.lost != nil // another call has done it
	s.life.mu.Unlock()
	if again {
		return nil
	}
	return s.restoreOrLose(ctx, a)
}

// restoreOrLose restores the actor if it has a snapshot of the version that the attempt was given, and the attempt has not written it. The caller
// has the turn.
func (s *seat) restoreOrLose(ctx context.Context, a flow.ActorAnswer) error {
	s.life.mu.Lock()
	can := s.snapshot != nil && s.times < mostRestored && (!s.own || !s.writes)
	if can {
		s.times++
	}
	s.life.mu.Unlock()
	if !can {
		return s.lose(a)
	}
	return s.restore(ctx, a.Why)
}

// lose notes that nobody can use the actor any more. If a call has ended it, that is a failure of the task, and is counted; else an input was
// lost, or an actor of the attempt's own with its node.
func (s *seat) lose(a flow.ActorAnswer) error {
	err := s.error(phalanx.ErrLost, errors.New(a.Why))
	s.life.mu.Lock()
	s.lost = err
	if a.End != flow.ActorCrashed {
		if s.from != nil {
			note(&s.life.torn, []core.Blob{flow.BlobOf(s.life.a.uid, *s.from)})
		} else {
			s.life.bereft = true
		}
	}
	at := s.at
	s.life.mu.Unlock()
	s.life.stage.tells(actors.ActorLost{UID: s.life.a.run, Actor: s.name, Of: s.kind, Node: at.Node, Why: a.Why})
	return err
}

// restore makes an actor of the snapshot.
func (s *seat) restore(ctx context.Context, why string) error {
	stop := s.life.beatMeanwhile()
	defer stop()
	s.life.mu.Lock()
	from := s.at
	s.life.mu.Unlock()
	meta, err := s.life.look(ctx, *s.snapshot)
	if err != nil {
		return s.error(phalanx.ErrLost, fmt.Errorf("%s, and its snapshot: %w", why, err))
	}
	at, err := s.place(ctx, flow.ActorCall{Deed: flow.ActorRestore, Large: flow.Ref{Object: s.snapshot.id, Meta: meta, Digest: s.snapshot.digest}}, from.Version+1)
	if err != nil {
		return fmt.Errorf("it has to be restored, as %s: %w", why, err)
	}
	s.life.stage.tells(actors.ActorRestored{UID: s.life.a.run, Actor: s.name, Of: s.kind, From: from.Node, On: at.Node, Why: why})
	return nil
}

// Patience of an attempt for a node that can make an actor.
const (
	placePause = 500 * time.Millisecond
	// mostPlaced is how long no node may have the kind of an actor: the one that had may begin anew.
	mostPlaced = time.Minute
)

// place makes the actor on the first node that can.
func (s *seat) place(ctx context.Context, c flow.ActorCall, version uint64) (at flow.ActorAt, err error) {
	for waited := time.Duration(0); ; waited += placePause {
		at, lacks, err := s.placeNow(ctx, c, version)
		if !lacks || waited >= s.life.stage.patience() {
			return at, err
		}
		timer := time.NewTimer(placePause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return at, s.reason(ctx)
		}
	}
}

// placeNow makes the actor on one of the nodes that there are; lacks says that all answer, and none has the kind.
func (s *seat) placeNow(ctx context.Context, c flow.ActorCall, version uint64) (at flow.ActorAt, lacks bool, err error) {
	l, silent := s.life, false
	var why []error
	for _, n := range l.placesFor(s.kind) {
		at = flow.ActorAt{Node: n, ID: l.nextActorID(), By: l.by, Version: version}
		l.mu.Lock()
		s.tries = append(s.tries, at)
		l.mu.Unlock()
		c.Actor, c.Name, c.As = at, s.kind, s.name
		a := l.stage.call(ctx, c)
		switch a.End {
		case flow.ActorWorks:
			return at, false, s.reason(ctx)
		case flow.ActorDone:
			l.mu.Lock()
			s.at, s.own = at, true
			l.spread.actors[n]++
			l.mu.Unlock()
			return at, false, nil
		case flow.ActorFailed, flow.ActorCrashed:
			return at, false, s.failed(a, "")
		case flow.ActorLacks, flow.ActorSilent:
			silent = silent || a.End == flow.ActorSilent
			l.mu.Lock()
			l.spread.lacks[kindOn{n, s.kind}] = true
			l.mu.Unlock()
		}
		why = append(why, fmt.Errorf("node %s: %s", n, a.Why))
	}
	if silent {
		return at, false, s.error(phalanx.ErrUnavailable, fmt.Errorf("no node can make it: %w", errors.Join(why...)))
	}
	return at, true, s.error(phalanx.ErrNotFound, fmt.Errorf("no node can make it; give one the kind, in Settings.Actors: %w", errors.Join(why...)))
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
