package workflow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/internal/poll"
)

var echo = Func1("echo", 1, func(_ Context, s string) (string, error) { return s, nil }).With(NoEffect)

// A run that cannot be started is refused, with the op, the run's id and what to do.
func TestStartRefuses(t *testing.T) {
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(echo)})
	step := echo.Bind(Value("x"))
	draw := Func0("draw", 1, func(Context) (string, error) { return "", nil }).With(NoEffect, NoCheckpoint)
	pay := Func1("pay", 1, func(_ Context, s string) (string, error) { return s, nil })
	for name, c := range map[string]struct {
		id   string
		root Step[string]
		kind error
		text string
	}{
		"no id":               {"", step, phalanx.ErrInvalid, "start: invalid: the id of the run is empty"},
		"a long id":           {strings.Repeat("x", 257), step, phalanx.ErrInvalid, "has 257 bytes, more than 256"},
		"a control character": {"a\nb", step, phalanx.ErrInvalid, `"a\nb" has a control character`},
		"no UTF-8":            {"a\xff", step, phalanx.ErrInvalid, "is not UTF-8"},
		"a zero step":         {"x", Step[string]{}, phalanx.ErrInvalid, "the step is zero"},
		"a cut":               {"x", pay.Bind(draw.Bind()), phalanx.ErrInvalid, `start "x": invalid: `},
	} {
		_, err := Start(within(t), n, c.id, c.root)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Start(within(t), n, "x", pay.Bind(draw.Bind())); !errors.As(err, new(*CheckError)) {
		t.Errorf("a cut is %v, and no CheckError", err)
	}
	if _, err := Start(within(t), n, strings.Repeat("x", 256), step); err != nil {
		t.Error(err)
	}
	if _, err := Attach[string](within(t), n, "nobody's"); !errors.Is(err, phalanx.ErrNotFound) || !strings.Contains(err.Error(), `attach "nobody's"`) {
		t.Errorf("no run: %v", err)
	}
	if _, err := Start(within(t), n, "y", step); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(within(t), n, "y", echo.Bind(Value("z"))); !errors.Is(err, phalanx.ErrMismatch) || !strings.Contains(err.Error(), "other constants") {
		t.Errorf("another constant: %v", err)
	}
	r, err := Attach[int](within(t), n, "y")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Result(within(t)); !errors.Is(err, phalanx.ErrMismatch) {
		t.Errorf("a result of another type: %v", err)
	}
}

// Without a disk in the cluster nothing can be started, and the error says so; nor on a node without the service.
func TestStartWithoutDisk(t *testing.T) {
	b := &bedOf{t: t}
	n := b.join("a", Settings{Tasks: Tasks(echo)})
	b.join("b", Settings{})
	_, err := Start(within(t), n, "x", echo.Bind(Value("x")))
	if !errors.Is(err, phalanx.ErrInvalid) || !strings.Contains(err.Error(), `start "x": invalid: no node of the cluster has a disk`) {
		t.Errorf("without a disk: %v", err)
	}
	bare, err := cluster.Join(within(t), cluster.Config{Name: "bare"})
	if err != nil {
		t.Fatal(err)
	}
	defer leave(t, bare)
	if _, err := Start(within(t), bare, "x", echo.Bind(Value("x"))); !errors.Is(err, phalanx.ErrInvalid) || !strings.Contains(err.Error(), "add workflow.Service()") {
		t.Errorf("without the service: %v", err)
	}
}

// Open says that a folder cannot be used; without it each caller is told.
func TestStartWithABadFolder(t *testing.T) {
	if _, err := (Settings{Dir: "/dev/null/x"}).Open(); err == nil || !strings.HasPrefix(err.Error(), "/dev/null/x") {
		t.Errorf("a folder that cannot be is opened: %v", err)
	}
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: "/dev/null/x", Tasks: Tasks(echo)})
	if _, err := Start(within(t), n, "x", echo.Bind(Value("x"))); !errors.Is(err, phalanx.ErrUnavailable) || !strings.Contains(err.Error(), "/dev/null/x") {
		t.Errorf("a folder that cannot be: %v", err)
	}
}

// A run whose task nobody has waits, and its status says so. It goes on when a node comes that has it.
func TestUnregisteredTaskWaits(t *testing.T) {
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir()})
	r, err := Start(within(t), n, "x", echo.Bind(Value("later")))
	if err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "a status that names the task", func() bool {
		s, err := StatusOf(within(t), n, "x")
		return err == nil && s.State == Open && len(s.Lacks) == 1 && s.Lacks[0].String() == "echo@1" && s.UID == r.UID()
	})
	short, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := r.Result(short); !errors.Is(err, phalanx.ErrDeadline) || !strings.Contains(err.Error(), "the run has not ended") {
		t.Errorf("the result of a run that waits: %v", err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := r.Result(ended); !errors.Is(err, phalanx.ErrCanceled) {
		t.Errorf("a canceled call: %v", err)
	}
	b.join("b", Settings{Tasks: Tasks(echo)})
	if got := result(t, r, nil); got != "later" {
		t.Errorf("the result is %q", got)
	}
}

// An application's actor has the same calls as messages.
func TestMessages(t *testing.T) {
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(echo)})
	service, _ := n.Service(Name)
	ask := func(m any) any {
		t.Helper()
		got, err := n.System().Root.RequestFuture(service, m, 20*time.Second).Result()
		if err != nil {
			t.Fatalf("%T: %v", m, err)
		}
		return got
	}
	started := ask(&StartRun{ID: "x", Root: echo.Bind(Value("x"))}).(*RunStarted)
	if started.Err != nil || started.ID != "x" || started.UID == "" {
		t.Errorf("%+v", started)
	}
	if ended := ask(&AwaitRun{ID: "x"}).(*RunEnded); ended.Err != nil {
		t.Error(ended.Err)
	}
	poll.Until(t, "the run's end in the status", func() bool {
		s := ask(&GetStatus{ID: "x"}).(*RunStatus)
		return s.Err == nil && s.State == Finished && s.UID == started.UID
	})
	for _, m := range []any{&CancelRun{ID: "x", Cause: "c"}, &ResumeRun{ID: "x"}, &SignalRun{ID: "x", Name: "n"}} {
		if c := ask(m).(*RunChanged); !errors.Is(c.Err, phalanx.ErrClosed) || c.ID != "x" {
			t.Errorf("%T of a run that has ended: %+v", m, c)
		}
	}
	if c := ask(&ForgetRun{ID: "x"}).(*RunChanged); c.Err != nil {
		t.Error(c.Err)
	}
	if s := ask(&StartRun{ID: "", Root: echo.Bind(Value("x"))}).(*RunStarted); !errors.Is(s.Err, phalanx.ErrInvalid) {
		t.Errorf("%+v", s)
	}
	if e, is := ask(StartRun{}).(*phalanx.Error); !is || !errors.Is(e, phalanx.ErrInvalid) {
		t.Error("a message that is no pointer is taken")
	}
	n.System().Root.Send(service, &actor.PoisonPill{}) // of a stranger: the next calls fail, and hang on nothing
	poll.Until(t, "an error of a node without its service", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := Start(ctx, n, "y", echo.Bind(Value("x")))
		return err != nil
	})
}

// On a disk that is nearly full no run begins, with an error that says what to do; what has begun goes on.
func TestStartOnAFullDisk(t *testing.T) {
	var free atomic.Uint64
	free.Store(1e12)
	g := newGate()
	work := Func0("work", 1, func(c Context) (int, error) { return 7, g.pass(c, "work") }).With(NoEffect)
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(work, echo), space: func() (durable.Space, error) { return durable.Space{Free: free.Load(), Total: 1e12}, nil }})
	r, err := Start(within(t), n, "x", work.Bind())
	if err != nil {
		t.Fatal(err)
	}
	free.Store(1e9)
	var full error
	id, tries := "", 0
	poll.Until(t, "a Start is refused", func() bool {
		tries++
		id = fmt.Sprint("y", tries)
		_, full = Start(within(t), n, id, echo.Bind(Value("y")))
		return full != nil
	})
	var e *phalanx.Error
	if !errors.Is(full, phalanx.ErrNoSpace) || !errors.As(full, &e) || e.Op != "start" || e.Object != phalanx.ObjectID(id) || !strings.Contains(full.Error(), "free some of it") {
		t.Errorf("a Start on a full disk: %v", full)
	}
	close(g.open)
	if got := result(t, r, nil); got != 7 {
		t.Errorf("the result is %d", got)
	}
}
