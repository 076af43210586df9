package workflow

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// bench runs attempts against a store in memory.
type bench struct {
	*runner
	t    *testing.T
	hook *test.Hook
}

func benchOf(t *testing.T, tasks ...AnyTask) *bench {
	log, hook := test.NewNullLogger()
	return &bench{t: t, hook: hook, runner: &runner{tasks: Tasks(tasks...), store: newMemory(), log: log, grace: attemptGrace}}
}

// of returns an attempt of a step as its workflow records it. Outputs of other steps are outputs.
func (b *bench) of(s AnyStep, outputs ...given) *attempt {
	b.t.Helper()
	g, err := recorded(s.node(), b.tasks)
	if err != nil {
		b.t.Fatal(err)
	}
	last := len(g.Tasks) - 1
	args, err := supplies(g, last, func(task int) (given, error) {
		if g.Calls[g.Tasks[task].Call].Kind == messages.CallKeep {
			b, _, err := messages.UnmarshalBundle(g.Constants[g.Tasks[task].Inputs[0].N])
			return given{bytes: b}, err
		}
		return outputs[task], nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return &attempt{run: "r", path: "7", gen: 2, call: g.Calls[g.Tasks[last].Call], args: args, number: 1, fence: Fence{1, 2, 3}, made: core.Attempt{Epoch: 2, Number: 3}}
}

func is(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("%v is not %v", err, target)
		}
	}
}

func contains(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("%v does not say %q", err, p)
		}
	}
}

func TestAttemptEndsWell(t *testing.T) {
	join := Func3("join", 1, func(c Context, a int, words []string, o Outcome[int]) (string, error) {
		if c.Key() != "r/7" || c.Fence() != (Fence{1, 2, 3}) || c.Attempt() != 4 || string(c.LastBeat()) != "half" {
			t.Errorf("%s, %v, %d, %q", c.Key(), c.Fence(), c.Attempt(), c.LastBeat())
		}
		return strings.Join(words, " ") + " " + o.Err.Error(), nil
	})
	word := Func0("word", 1, func(Context) (string, error) { return "", nil })
	number := Func0("number", 1, func(Context) (int, error) { return 0, nil })
	b := benchOf(t, join)
	s := join.Bind(Value(3), All[string](word.Bind(), Value("and"), word.Bind()), Catch(number.Bind()))
	a := b.of(s, given{bytes: []byte(`"one"`)}, given{bytes: []byte(`"two"`)}, given{failed: "no number"})
	a.number, a.progress = 4, []byte("half")
	e := b.run(t.Context(), a, nil)
	if e.err != nil || string(e.output.Bytes) != `"one and two no number"` || !e.output.Recorded || e.output.Size != 23 || e.output.Digest == [16]byte{} {
		t.Errorf("%+v", e)
	}
}

// The error of a task that nobody catches is no input.
func TestErrorWithoutCatch(t *testing.T) {
	f := Func1("f", 1, func(Context, int) (int, error) { return 0, nil })
	b := benchOf(t, f)
	a := b.of(f.Bind(Value(1)))
	a.args[0] = supply{given: given{failed: "broken"}}
	e := b.run(t.Context(), a, nil)
	is(t, e.err, phalanx.ErrInvalid)
	contains(t, e.err, "takes no Outcome")
	if !e.final {
		t.Error("it is repeated")
	}
}

func TestAttemptsThatFail(t *testing.T) {
	boom := errors.New("boom")
	for what, c := range map[string]struct {
		f     func(Context) (float64, error)
		is    []error
		says  []string
		final bool
	}{
		"an error":     {func(Context) (float64, error) { return 0, boom }, []error{boom}, []string{"task f@1: boom"}, false},
		"permanent":    {func(Context) (float64, error) { return 0, Permanent(boom) }, []error{boom}, nil, true},
		"a panic":      {func(Context) (float64, error) { panic(boom) }, nil, []string{"panicked: boom", "attempt_test.go"}, false},
		"a nil panic":  {func(Context) (float64, error) { panic(nil) }, nil, []string{"panicked"}, false},
		"an exit":      {func(Context) (float64, error) { runtime.Goexit(); return 0, nil }, []error{errGoexit}, nil, false},
		"no JSON":      {func(Context) (float64, error) { var zero float64; return zero / zero, nil }, []error{phalanx.ErrInvalid}, []string{"cannot go on", "NaN"}, true},
		"large panics": {func(Context) (float64, error) { panic(strings.Repeat("x", 1<<20)) }, nil, []string{"panicked"}, false},
	} {
		t.Run(what, func(t *testing.T) {
			f := Func0("f", 1, c.f)
			b := benchOf(t, f)
			e := b.run(t.Context(), b.of(f.Bind()), nil)
			is(t, e.err, c.is...)
			contains(t, e.err, c.says...)
			if e.final != c.final || len(e.err.Error()) > 20<<10 {
				t.Errorf("final is %v, the error has %d bytes", e.final, len(e.err.Error()))
			}
			var p *PanicError
			if strings.Contains(what, "panic") != errors.As(e.err, &p) {
				t.Error("a panic is a PanicError")
			}
		})
	}
}

func TestWhatIsNotRegistered(t *testing.T) {
	f1, f2 := Do0("f", 1, func(Context) error { return nil }), Do0("f", 2, func(Context) error { return nil })
	e := benchOf(t, f1).run(t.Context(), benchOf(t, f2).of(f2.Bind()), nil)
	is(t, e.err, phalanx.ErrNotFound, ErrNotRegistered)
	contains(t, e.err, "run f@2", "f@1 is: add it to Tasks, or resume")
	if e.final {
		t.Error("another node may have it")
	}
	a := benchOf(t, f1).of(f1.Bind())
	a.args = []supply{{}}
	e = benchOf(t, f1).run(t.Context(), a, nil)
	is(t, e.err, phalanx.ErrInvalid)
	contains(t, e.err, "1 arguments, and its function has 0")
	for kind, want := range map[core.Kind]string{core.TakeBack: "no Undo", core.MakeUp: "no compensation"} {
		a := benchOf(t, f1).of(f1.Bind())
		a.kind = kind
		e = benchOf(t, f1).run(t.Context(), a, nil)
		is(t, e.err, phalanx.ErrInvalid)
		contains(t, e.err, want)
	}
	for _, tasks := range []func(){func() { Tasks(f1, f1.With(NoEffect)) }, func() { Tasks(Named0[int]("f", 1)) }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a registry took what it must not")
				}
			}()
			tasks()
		}()
	}
}

// An undo has the inputs of its task, a compensation the output as well; both have the key of the effect.
func TestUndoAndCompensation(t *testing.T) {
	var said []string
	note := func(c Context, what string) { said = append(said, what+" "+c.Key()+" "+c.Fence().String()) }
	f := Func1("f", 1, func(c Context, in string) (int, error) { note(c, "do "+in); return 5, nil }).
		Undo(func(c Context, in string) error { note(c, "undo "+in); return nil }).
		Compensate(func(c Context, in string, out int) error {
			if out != 5 {
				t.Errorf("the output is %d", out)
			}
			note(c, "make up for "+in)
			return nil
		})
	b := benchOf(t, f)
	for _, kind := range []core.Kind{core.Do, core.TakeBack, core.MakeUp, core.Remake} {
		a := b.of(f.Bind(Value("x")))
		a.kind, a.output = kind, &given{bytes: []byte("5")}
		if e := b.run(t.Context(), a, nil); e.err != nil || (kind == core.TakeBack || kind == core.MakeUp) != (e.output.Size == 0) {
			t.Errorf("%d: %+v", kind, e)
		}
	}
	want := []string{"do x r/7/2 1.2.3", "undo x r/7/2 1.2.3", "make up for x r/7/2 1.2.3", "do x r/7/2 1.2.3"}
	if !reflect.DeepEqual(said, want) {
		t.Errorf("%q", said)
	}
}

// A task without annotations is logged once: it promises to be idempotent. One that says so is not.
func TestTasksWithoutAnnotationsAreLoggedOnce(t *testing.T) {
	nothing := func(Context) error { return nil }
	bare, said, pure := Do0("bare", 1, nothing), Do0("said", 1, nothing).With(Idempotent), Do0("pure", 1, nothing).With(NoEffect)
	b := benchOf(t, bare, said, pure)
	for range 3 {
		for _, f := range []F0[None]{bare, said, pure} {
			if e := b.run(t.Context(), b.of(f.Bind()), nil); e.err != nil {
				t.Fatal(e.err)
			}
		}
	}
	all := b.hook.AllEntries()
	if len(all) != 1 || all[0].Data["task"] != "bare@1" || !strings.Contains(all[0].Message, "no annotations") {
		t.Errorf("%v", all)
	}
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := Do0("f", 1, func(c Context) error {
			if d, ok := c.Deadline(); !ok || time.Until(d) != time.Minute {
				t.Errorf("the deadline is %v, %v", d, ok)
			}
			<-c.Done()
			return nil
		}).With(Timeout(time.Minute))
		b := benchOf(t, f)
		began := time.Now()
		e := b.run(t.Context(), b.of(f.Bind()), nil)
		is(t, e.err, phalanx.ErrDeadline)
		contains(t, e.err, "its Timeout of 1m0s")
		if e.final || time.Since(began) != time.Minute {
			t.Errorf("after %v, final %v", time.Since(began), e.final)
		}
	})
}

// An attempt that beats goes on; silence ends it. What it gave last is for the next attempt.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := Do0("f", 1, func(c Context) error {
			for i := range 5 {
				time.Sleep(50 * time.Second)
				progress := []byte{byte(i)}
				if i == 3 {
					progress = nil
				}
				if err := c.Beat(progress); err != nil {
					return err
				}
				clear(progress)
			}
			if err := c.Beat(make([]byte, maxProgress+1)); !errors.Is(err, phalanx.ErrInvalid) {
				t.Error(err)
			}
			<-c.Done()
			if err := c.Beat(nil); !errors.Is(err, ErrSilent) {
				t.Errorf("a beat after the end of the context: %v", err)
			}
			return nil
		}).With(Heartbeat(time.Minute))
		b := benchOf(t, f)
		began := time.Now()
		var beats []byte
		e := b.run(t.Context(), b.of(f.Bind()), func(p []byte) { beats = append(beats, p...) })
		is(t, e.err, ErrSilent, phalanx.ErrDeadline)
		if d := time.Since(began); d != 310*time.Second || !reflect.DeepEqual(beats, []byte{0, 1, 2, 4}) {
			t.Errorf("after %v, beats %v", d, beats)
		}
	})
}

// An undo need not beat.
func TestUndoDoesNotBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := Do0("f", 1, func(c Context) error { return nil }).Undo(func(c Context) error {
			time.Sleep(time.Hour)
			return c.Err()
		}).With(Heartbeat(time.Minute))
		b := benchOf(t, f)
		a := b.of(f.Bind())
		a.kind = core.TakeBack
		if e := b.run(t.Context(), a, nil); e.err != nil {
			t.Error(e.err)
		}
	})
}

// A task that ignores the end of its context is reported, and the attempt goes on until it returns: its effect could come
// any time.
func TestTaskThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		f := Do0("f", 1, func(c Context) error { <-release; return nil }).With(NoEffect)
		b := benchOf(t, f)
		reported := make(chan error, 8)
		b.tells = func(_ *attempt, cause error) { reported <- cause }
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan ended, 1)
		go func() { done <- b.run(ctx, b.of(f.Bind()), nil) }()
		synctest.Wait() // it has begun
		cancel(errors.New("the run is cancelled"))
		time.Sleep(attemptGrace - 1)
		synctest.Wait()
		if len(reported) != 0 {
			t.Error("it was reported too early")
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		last := b.hook.LastEntry()
		if len(reported) != 1 || last == nil || last.Level != logrus.WarnLevel || !strings.Contains(last.Message, "return when Done is closed") {
			t.Errorf("%d reports, %v", len(reported), last)
		}
		select {
		case e := <-done:
			t.Fatalf("the attempt has ended while its function goes on: %+v", e)
		default:
		}
		close(release)
		e := <-done
		is(t, e.err, phalanx.ErrCanceled, context.Canceled)
		contains(t, e.err, "the run is cancelled")
	})
}

// An attempt that is cancelled before its function is called has no effect.
func TestCancelledBeforeItBegins(t *testing.T) {
	f := Do0("f", 1, func(c Context) error { t.Error("it has begun"); return nil })
	b := benchOf(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	is(t, b.run(ctx, b.of(f.Bind()), nil).err, phalanx.ErrCanceled)
}

// Nothing can be done with a Context after its attempt: the goroutines of a task that go on are told so.
func TestContextAfterItsAttempt(t *testing.T) {
	var kept Context
	f := Func1("f", 1, func(c Context, r Ref) (Ref, error) {
		kept = c
		return r, c.Beat([]byte{})
	}).With(NoEffect)
	b := benchOf(t, f)
	store := &countingStore{objects: b.store} // it does not look at contexts
	b.store = store
	info, err := b.store.Put(t.Context(), "in", []byte("abc"), phalanx.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	if e := b.run(t.Context(), b.of(f.Bind(Value(RefOf(info)))), nil); e.err != nil {
		t.Fatal(e.err)
	}
	before := store.calls
	_, put := kept.Put("x", nil)
	_, get := kept.Get(RefOf(info))
	for _, err := range []error{put, get, kept.Beat(nil)} {
		is(t, err, ErrEnded, phalanx.ErrClosed)
	}
	is(t, context.Cause(kept), ErrEnded)
	if store.calls != before {
		t.Errorf("the store was called %d times after the end", store.calls-before)
	}
	select {
	case <-kept.Done():
	default:
		t.Error("Done is open")
	}
}

// The views of inputs are released before the task begins, those of the task when it has returned.
func TestViewsAreReleased(t *testing.T) {
	var store *countingStore
	bytes := Func0("bytes", 1, func(Context) ([]byte, error) { return nil, nil })
	f := Func2("f", 1, func(c Context, in []byte, r Ref) (int, error) {
		if store.held != 0 {
			t.Errorf("%d views of inputs are held", store.held)
		}
		a, err1 := c.Get(r)
		_, err2 := c.Get(r)
		a.Release()
		if store.held != 1 {
			t.Errorf("%d views are held", store.held)
		}
		return 0, errors.Join(err1, err2)
	})
	b := benchOf(t, f)
	store = &countingStore{objects: b.store}
	b.store = store
	info, err := store.Put(t.Context(), "in", []byte("abc"), phalanx.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	if e := b.run(t.Context(), b.of(f.Bind(bytes.Bind(), Value(RefOf(info))), given{object: RefOf(info)}), nil); e.err != nil || store.held != 0 {
		t.Errorf("%v, %d views are held", e.err, store.held)
	}
}

// A put that goes on as the task returns is ended before the attempt is.
func TestPutThatGoesOn(t *testing.T) {
	stuck := &stuckStore{objects: newMemory(), began: make(chan struct{})}
	f := Do0("f", 1, func(c Context) error {
		go func() { _, _ = c.Put("x", nil) }()
		<-stuck.began
		return nil
	})
	b := benchOf(t, f)
	b.store = stuck
	if e := b.run(t.Context(), b.of(f.Bind()), nil); e.err != nil || !stuck.ended {
		t.Errorf("%v, the put has ended: %v", e.err, stuck.ended)
	}
}

func TestExpansionIsRecorded(t *testing.T) {
	leaf := Func1("leaf", 3, func(_ Context, n int) (int, error) { return n, nil }).With(Deterministic)
	f := Expand1("f", 1, func(_ Context, n int) (Step[int], error) {
		if n == 0 {
			return Step[int]{}, nil
		}
		return Named1[int, int]("leaf", 3).With(NoCheckpoint).Bind(Named1[int, int]("f", 1).Bind(Value(n))), nil
	})
	b := benchOf(t, leaf, f)
	e := b.run(t.Context(), b.of(f.Bind(Value(4))), nil)
	if e.err != nil || !e.expands {
		t.Fatalf("%+v", e)
	}
	g, err := messages.UnmarshalGraph(e.output.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	want := []messages.GraphCall{{Name: "f", Version: 1, Expands: true, Effect: core.None}, {Name: "leaf", Version: 3, Deterministic: true, Checkpoint: core.Off}}
	if !reflect.DeepEqual(g.Calls, want) || string(g.Constants[0]) != "4" {
		t.Errorf("%+v", g)
	}
	e = b.run(t.Context(), b.of(f.Bind(Value(0))), nil)
	is(t, e.err, phalanx.ErrInvalid)
	contains(t, e.err, "a step is zero")
}
