package workflow

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// runAlone runs a workflow on a node with tasks and a kind of actors, and returns its result.
func runAlone[R any](t *testing.T, kind AnyActorKind, step Step[R], tasks ...AnyTask) (R, error) {
	t.Helper()
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(tasks...), Actors: Actors(kind)})
	r, err := Start(within(t), n, "x", step)
	if err != nil {
		t.Fatal(err)
	}
	return r.Result(within(t))
}

// A method that ends its goroutine ends the actor, and no more.
func TestAMethodCallsGoexit(t *testing.T) {
	s := newCells()
	exit := Method(s.kind, "exit", func(*cell, ActorContext, int64) (int64, error) { runtime.Goexit(); return 0, nil })
	use := Func1("use", 1, func(c Context, a []ActorRef) (int, error) { _, err := exit.Call(c, a[0], 1); return 1, err }).With(NoEffect)
	_, err := runAlone(t, s.kind, use.Bind(s.spawn.Bind(Value(1))), s.spawn, use)
	if is(t, err, phalanx.ErrFailed); !strings.Contains(err.Error(), "runtime.Goexit") {
		t.Error(err)
	}
	s.none(t, "")
}

// A call under a context that does not end with the attempt ends with the attempt.
func TestACallWithoutCancel(t *testing.T) {
	s := newCells()
	begun := make(chan struct{}, 10)
	waits := Method(s.kind, "waits", func(_ *cell, c ActorContext, _ int64) (int64, error) {
		begun <- struct{}{}
		<-c.Done()
		return 0, c.Err()
	})
	use := Func1("use", 1, func(c Context, a []ActorRef) (int, error) {
		_, err := waits.Call(context.WithoutCancel(c), a[0], 1)
		return 1, err
	}).With(NoEffect)
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(s.spawn, use), Actors: Actors(s.kind)})
	r, err := Start(within(t), n, "x", use.Bind(s.spawn.Bind(Value(1))))
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	if err := Cancel(within(t), n, "x", "no more"); err != nil {
		t.Fatal(err)
	}
	_, err = r.Result(within(t))
	is(t, err, phalanx.ErrFailed)
	s.none(t, "")
}

// A node keeps nothing of an actor that has panicked.
func TestActorsThatHavePanickedAreFreed(t *testing.T) {
	var freed atomic.Int32
	const many = 50
	k := Actor("heavy", 1, func(ActorContext, int) (*counter, error) {
		c := &counter{many: make([]byte, 1<<20)}
		runtime.SetFinalizer(c, func(*counter) { freed.Add(1) })
		return c, nil
	})
	hit := Method(k, "hit", func(*counter, ActorContext, int) (int, error) { panic("hit") })
	hits := Func0("hits", 1, func(c Context) (int, error) {
		for i := range many {
			a, err := k.Spawn(c, fmt.Sprint(i), 1)
			if err != nil {
				return 0, err
			}
			if _, err = hit.Call(c, a, 1); !errors.Is(err, phalanx.ErrLost) {
				return 0, fmt.Errorf("it has panicked, and the error is %w", err)
			}
		}
		return many, nil
	}).With(NoEffect)
	if got, err := runAlone(t, k, hits.Bind(), hits); got != many || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	poll.Until(t, "freed states", func() bool {
		runtime.GC()
		return freed.Load() >= many-2
	})
}

// Errors that no other attempt mends end the task at once.
func TestActorsThatCannotBe(t *testing.T) {
	var attempts atomic.Int32
	plain := Actor("plain", 1, func(ActorContext, int) (*counter, error) { return &counter{}, nil })
	saved := Func0("saved", 1, func(c Context) (ActorRef, error) { attempts.Add(1); return plain.Spawn(c, "a", 1) }).With(NoEffect)
	_, err := runAlone(t, plain, saved.Bind().With(Snapshot), saved)
	if is(t, err, phalanx.ErrFailed); !strings.Contains(err.Error(), "have no snapshots") || attempts.Load() != 1 {
		t.Errorf("%v, after %d attempts", err, attempts.Load())
	}
	bomb := Actor("bomb", 1, func(ActorContext, int) (*counter, error) { panic("boom") })
	none := Actor("none", 1, func(ActorContext, int) (fmt.Stringer, error) { return nil, nil })
	trial := NewTrial(TrialConfig{Actors: Actors(bomb, none)})
	for _, at := range []struct {
		wants string
		spawn func(Context) error
	}{
		{"boom", func(c Context) error { _, err := bomb.Spawn(c, "a", 1); return err }},
		{"its state is nil", func(c Context) error { _, err := none.Spawn(c, "a", 1); return err }},
	} {
		_, err := trial.Do(t.Context(), Func0("try", 1, func(c Context) (int, error) { return 0, at.spawn(c) }).With(NoEffect).Bind(), Try{})
		if is(t, err, phalanx.ErrFailed); !strings.Contains(fmt.Sprint(err), at.wants) {
			t.Error(err)
		}
	}
}

// bad is a state that panics as it is closed.
type bad struct{}

func (bad) Close() error { panic("close") }

// Actors of a Trial may wait for each other; a Spawn that fails leaves the name, and a state that panics as it is closed harms nobody.
func TestActorsOfATrial(t *testing.T) {
	met := make(chan int)
	k := Actor("meets", 1, func(_ ActorContext, n int) (bad, error) {
		if n < 0 {
			return bad{}, errors.New("negative")
		}
		return bad{}, nil
	})
	meet := Method(k, "meet", func(_ bad, c ActorContext, n int) (int, error) {
		select {
		case met <- n:
		case <-met:
		case <-c.Done():
			return 0, c.Err()
		}
		return n, nil
	})
	meets := Func0("meets", 1, func(c Context) (int, error) {
		if _, err := k.Spawn(c, "x", -1); err == nil {
			return 0, errors.New("it was made")
		}
		x, err := k.Spawn(c, "x", 1)
		y, err2 := k.Spawn(c, "y", 1)
		if err = errors.Join(err, err2); err != nil {
			return 0, err
		}
		var wait sync.WaitGroup
		wait.Go(func() { _, err = meet.Call(c, x, 1) })
		wait.Go(func() { _, err2 = meet.Call(c, y, 1) })
		wait.Wait()
		return 0, errors.Join(err, err2)
	}).With(NoEffect)
	if _, err := NewTrial(TrialConfig{Actors: Actors(k)}).Do(within(t), meets.Bind(), Try{}); err != nil {
		t.Error(err)
	}
}

// An actor that is still being made as the task returns fails it.
func TestASpawnThatIsNotAwaited(t *testing.T) {
	begun := make(chan struct{})
	k := Actor("slow", 1, func(c ActorContext, _ int) (*counter, error) {
		close(begun)
		<-c.Done()
		return nil, c.Err()
	})
	leaves := Func0("leaves", 1, func(c Context) (int, error) {
		go func() { _, _ = k.Spawn(c, "x", 1) }()
		<-begun
		return 0, nil
	}).With(NoEffect)
	_, err := NewTrial(TrialConfig{Actors: Actors(k)}).Do(t.Context(), leaves.Bind(), Try{})
	is(t, err, ErrOutstanding)
}
