package workflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/phalanx-go/phalanx"
	flow "github.com/phalanx-go/phalanx/node/workflow"
)

// maxActors is how many actors an attempt may make.
const maxActors = 10_000

// ActorError says that a method of an actor, or what makes it, has returned an error. The actor goes on.
type ActorError struct {
	Name   string // of the actor
	Kind   string // name@version
	Method string // "": the actor could not be made
	Text   string // of the error
}

func (e *ActorError) Error() string {
	if e.Method == "" {
		return fmt.Sprintf("the actor %s (%s) cannot be made: %s", e.Name, e.Kind, e.Text)
	}
	return fmt.Sprintf("%s of the actor %s (%s): %s", e.Method, e.Name, e.Kind, e.Text)
}

// Spawn makes an actor, on the node with its kind that has the fewest of the actors that the attempt was given or has made. A name can be used once
// in an attempt; it has 1 to 64 printable bytes and does not begin with a dot. The actor lives until its run has ended, or a task has
// written it and does not return it. The error of what makes the actor is an *ActorError in an ErrFailed; if no node has the kind it
// is ErrNotFound.
func (k ActorKind[S, I]) Spawn(c Context, name string, init I) (ActorRef, error) {
	l, ctx, done, err := enter(c, "spawn", "the making of "+name)
	if err != nil {
		return ActorRef{}, err
	}
	defer done()
	if err := checkPutName(name); err != nil {
		return ActorRef{}, invalid("spawn", err)
	}
	if err := l.takeName(name); err != nil {
		return ActorRef{}, invalid("spawn", err)
	}
	s := l.newSeat(k.full(), name)
	call := flow.ActorCall{Deed: flow.ActorMake}
	drop, err := l.argument(ctx, k.init, init, &call)
	if err != nil {
		l.freeName(name)
		return ActorRef{}, err
	}
	defer drop()
	l.mu.Lock()
	s.core = l.actors.Spawn(s.kind)
	l.seats = append(l.seats, s)
	l.mu.Unlock()
	if _, err := s.place(ctx, call); err != nil {
		l.freeName(name)
		return ActorRef{}, err
	}
	return ActorRef{&actorUse{seat: s}}, nil
}

// Call has an actor do something, on the node where it lives, and returns what it answers. The context is that of the task, or was derived
// from it. An error of the method is an *ActorError in an ErrFailed. If the actor is no more, and is not restored of a snapshot, the
// error is ErrLost: a task that returns it is repeated after the actor was made again; a task may also go on with other actors. A node that does
// not answer for 10 s is ErrUnavailable.
func (m ActorMethod[A, R]) Call(c context.Context, a ActorRef, arg A) (R, error) {
	var none R
	l, ctx, done, err := enter(c, "call", m.name+" of "+a.Name())
	if err != nil {
		return none, err
	}
	defer done()
	switch {
	case a.of == nil || a.of.seat == nil || a.of.seat.life != l:
		return none, invalid("call", fmt.Errorf("%w: %q", ErrStrangeActor, a.Name()))
	case a.of.seat.kind != m.kind.full():
		return none, invalid("call", fmt.Errorf("%s is a method of %s, and the actor %s is of %s", m.name, m.kind.full(), a.Name(), a.of.seat.kind))
	case a.of.reads && !m.reads:
		return none, invalid("call", fmt.Errorf("%w: %s of %s", ErrReadOnly, m.name, a.Name()))
	}
	call := flow.ActorCall{Deed: flow.ActorDo, Name: m.name}
	drop, err := l.argument(ctx, m.method.arg, arg, &call)
	if err != nil {
		return none, err
	}
	defer drop()
	v, err := a.of.seat.ask(ctx, call, m.method.result)
	if err != nil {
		return none, err
	}
	return v.(R), nil
}

// ask calls a method of the actor, and returns its result.
func (s *seat) ask(ctx context.Context, c flow.ActorCall, result codec) (any, error) {
	for {
		c.Object = s.life.nextLarge("answer")
		a, at, err := s.do(ctx, c)
		if err != nil {
			return nil, err
		}
		if a.End == flow.ActorFailed {
			return nil, s.failed(a, c.Name)
		}
		v, err := s.life.answer(ctx, result, a)
		switch {
		case err == nil:
			return v, nil
		case !gone(err) || a.Large.Object == "":
			return nil, fmt.Errorf("the answer of %s of the actor %s (%s): %w", c.Name, s.name, s.kind, err)
		}
		// Its node has died with the answer.
		if _, err := s.replace(ctx, flow.ActorCall{Deed: c.Deed, Actor: at}, flow.ActorAnswer{End: flow.ActorGone, Why: fmt.Sprintf("the answer of %s is lost: %v", c.Name, err)}); err != nil {
			return nil, err
		}
	}
}

// enter begins something that the task does with actors, under its own context as well as that of the attempt; done ends it.
func enter(c context.Context, op, what string) (l *life, ctx context.Context, done func(), err error) {
	l, is := c.Value(lifeKey{}).(*life)
	if !is {
		return nil, nil, nil, invalid(op, errors.New("the context is not that of a task: only attempts have actors"))
	}
	if err := l.begin(op); err != nil {
		return nil, nil, nil, err
	}
	if l.stage == nil {
		l.calls.Done()
		return nil, nil, nil, invalid(op, errors.New("there are no actors here"))
	}
	answered := l.waitsFor(what)
	ctx, cancel := context.WithCancelCause(c)
	stop := context.AfterFunc(l.inner, func() { cancel(context.Cause(l.inner)) }) // c may not end with the attempt
	return l, ctx, func() {
		stop()
		cancel(nil)
		answered()
		l.calls.Done()
	}, nil
}

// takeName takes the name of an actor.
func (l *life) takeName(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.spawned[name]:
		return fmt.Errorf("the attempt has made an actor with the name %q already", name)
	case len(l.spawned) >= maxActors:
		return fmt.Errorf("the attempt has made %d actors already", maxActors)
	case l.spawned == nil:
		l.spawned = map[string]bool{}
	}
	l.spawned[name] = true
	return nil
}

// freeName gives the name of an actor back that could not be made.
func (l *life) freeName(name string) {
	l.mu.Lock()
	delete(l.spawned, name)
	l.mu.Unlock()
}

// waitsFor notes that a call goes on until answered is called.
func (l *life) waitsFor(what string) (answered func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calling == nil {
		l.calling = map[string]int{}
	}
	l.calling[what]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.calling[what]--; l.calling[what] == 0 {
			delete(l.calling, what)
		}
	}
}

// nextLarge returns the id of an object for an argument or an answer.
func (l *life) nextLarge(what string) phalanx.ObjectID {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.larges++
	return phalanx.ObjectID(fmt.Sprintf("%s.%s%d", l.by, what, l.larges))
}

// argument puts an argument into a call. A large one is an object until drop is called.
func (l *life) argument(ctx context.Context, of codec, v any, c *flow.ActorCall) (drop func(), err error) {
	var b []byte
	err = guarded(func() (err error) { // it calls methods of the application's types
		b, err = of.encode(v)
		return err
	})
	var refs []Ref
	if err == nil {
		err = of.finds.find(v, func(r Ref) error {
			if !l.knows(r) {
				return fmt.Errorf("%w: %q", ErrStrangeRef, r.id)
			}
			refs = append(refs, r)
			return nil
		})
	}
	if err != nil {
		return nil, invalid("call", fmt.Errorf("the argument cannot be sent: %w", err))
	}
	for _, r := range refs {
		if err := l.sees(ctx, r); err != nil {
			return nil, err
		}
	}
	if len(b) <= flow.MaxActorBytes {
		c.Bytes = append([]byte(nil), b...) // a letter may be sent again after the task has gone on
		return func() {}, nil
	}
	id := l.nextLarge("argument")
	l.tries(id)
	info, err := l.store.Put(ctx, id, b, phalanx.Meta{})
	if err != nil {
		l.refused(err)
		return nil, err
	}
	c.Large = flow.Ref{Object: id, Meta: info.Meta, Digest: info.Digest}
	return func() { l.spare(id) }, nil
}

// sees has an object be there that an actor is about to read, of a checkpoint if need be: the actor's node does not know which has it.
func (l *life) sees(ctx context.Context, r Ref) error {
	l.mu.Lock()
	_, here := l.metas[r.id]
	seen := here || r.IsZero() || l.looked[r]
	l.mu.Unlock()
	if seen {
		return nil
	}
	if _, err := l.look(ctx, r); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.looked == nil {
		l.looked = map[Ref]bool{}
	}
	l.looked[r] = true
	return nil
}

// spare has an object deleted that the attempt does not need any more.
func (l *life) spare(id phalanx.ObjectID) {
	if l.a.drops == nil {
		return
	}
	l.mu.Lock()
	delete(l.tried, id)
	l.mu.Unlock()
	l.a.drops(id)
}

// answer returns what a method has returned.
func (l *life) answer(ctx context.Context, of codec, a flow.ActorAnswer) (v any, err error) {
	b := a.Bytes
	if a.Large.Object != "" {
		defer l.stage.read(a)
		view, err := l.store.TryGet(ctx, a.Large.Object)
		if err != nil {
			return nil, err
		}
		defer view.Release()
		if view.Info().Digest != a.Large.Digest {
			return nil, errUnlike(Ref{id: a.Large.Object})
		}
		b = view.Bytes()
	}
	err = guarded(func() (err error) {
		v, err = of.decode(b)
		return err
	})
	if err != nil {
		return nil, invalid("call", err)
	}
	return v, of.finds.find(v, func(r Ref) error {
		if !l.knows(r) {
			return invalid("call", fmt.Errorf("%w: %q", ErrStrangeRef, r.id))
		}
		return nil
	})
}
