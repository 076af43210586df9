package workflow_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/workflow"
)

// Events, sleeps, repeats, workflows that tasks return, and actors are checked by the rules of the core.
func TestCheckOfEventsExpansionsAndActors(t *testing.T) {
	grad := workflow.Func0("grad", 1, func(workflow.Context) ([]float32, error) { return nil, nil })
	actor := workflow.Func0("actor", 1, func(workflow.Context) (workflow.ActorRef, error) { return workflow.ActorRef{}, nil }).With(workflow.NoEffect)
	train := workflow.Func1("train", 1, func(_ workflow.Context, a workflow.ActorRef) (workflow.ActorRef, error) { return a, nil }).With(workflow.NoEffect)
	look := workflow.Func1("look", 1, func(workflow.Context, workflow.ActorRef) (int, error) { return 0, nil }).With(workflow.NoEffect)
	both := workflow.Func2("both", 1, func(workflow.Context, int, int) (int, error) { return 0, nil }).With(workflow.NoEffect)
	wait := workflow.Do1("wait", 1, func(workflow.Context, string) error { return nil })
	more := workflow.Expand0("more", 1, func(workflow.Context) (workflow.Step[int], error) { return workflow.Step[int]{}, nil })
	bare := workflow.Func0("bare", 1, func(workflow.Context) (workflow.ActorRef, error) { return workflow.ActorRef{}, nil })
	undone := bare.Undo(func(workflow.Context) error { return nil })
	a := actor.Bind()
	saved := a.With(workflow.Snapshot)
	for _, c := range []struct {
		step    workflow.AnyStep
		refused string
	}{
		{wait.Bind(workflow.Event[string]("approve", grad.Bind())), ""},
		{workflow.After(grad.Bind(), workflow.Sleep(time.Hour)), ""},
		{workflow.After(grad.Bind(), workflow.Sleep(0)), ""},
		{grad.With(workflow.Retry(0)).Bind(), ""},
		{more.Bind(), ""},
		{workflow.Reduce(phalanx.Sum, 1, grad.Bind(), grad.With(workflow.Limit("gpu", 3)).Bind()), ""},
		{both.Bind(more.Bind(), more.With(workflow.NoCheckpoint).Bind()), ""},
		{look.Bind(workflow.Read(a)), ""},
		{look.Bind(workflow.Read(train.Bind(a))), ""},
		{both.Bind(look.Bind(workflow.Read(saved)), look.Bind(workflow.Read(train.Bind(saved)))), ""},
		{both.Bind(look.Bind(workflow.Read(a)), look.Bind(workflow.Read(train.Bind(a)))), "actors: look reads the version of actor, which train moves away"},
		{both.Bind(look.Bind(train.Bind(a)), look.Bind(train.Bind(a))), "write the same version, that of actor"},
		{train.Bind(a), "actors: the result train holds an actor, whose version is not saved: Snapshot train"},
		{look.Bind(bare.Bind()), "actors: bare has an idempotent effect, and its output holds an actor: a repeat under its key makes another actor: declare bare NoEffect, give it an Undo, or have"},
		{look.Bind(actor.Compensate(func(workflow.Context, workflow.ActorRef) error { return nil }).Bind()), "compensate: actor has a compensation and no effect: there is nothing to make up for: do not declare actor NoEffect"},
		{look.Bind(undone.Bind()), ""},
		{look.Bind(actor.With(workflow.Deterministic).Bind()), "deterministic: actor is declared Deterministic, and its output holds an actor"},
		{grad.Bind().With(workflow.Snapshot), "actors: grad has a snapshot, and its output holds no actor"},
		{workflow.After(grad.Bind(), workflow.Sleep(200*365*24*time.Hour)), "shape: sleep sleeps 1752000h0m0s: sleep for 876000h0m0s at most"},
	} {
		_, err := workflow.Check(c.step)
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%v, want %q", err, c.refused)
		}
	}
}

// Programs that are wrong in themselves.
func TestProgramsThatAreWrong(t *testing.T) {
	take := workflow.Do1("take", 1, func(workflow.Context, []byte) error { return nil })
	num := workflow.Do1("num", 1, func(workflow.Context, float64) error { return nil })
	text := workflow.Do1("text", 1, func(workflow.Context, string) error { return nil })
	grad := workflow.Func0("grad", 1, func(workflow.Context) ([]float32, error) { return nil, nil })
	look := workflow.Do1("look", 1, func(workflow.Context, workflow.ActorRef) error { return nil })
	both := workflow.Do2("both", 1, func(workflow.Context, []float32, workflow.Outcome[[]float32]) error { return nil })
	reduced := workflow.Reduce(phalanx.Sum, 0, grad.Bind())
	g := grad.Bind()
	for want, s := range map[string]workflow.AnyStep{
		"a constant has 65537 bytes":       take.Bind(workflow.Value(make([]byte, 64<<10+1))),
		"NaN":                              num.Bind(workflow.Value(math.NaN())),
		"not UTF-8":                        text.Bind(workflow.Value("\xff")),
		"an actor is no constant":          look.Bind(workflow.Value(workflow.ActorRef{})),
		"a step is zero":                   workflow.Step[int]{},
		"read or follow is zero":           take.Bind(workflow.Step[[]byte]{}),
		"is caught by one task":            both.Bind(g, workflow.Catch(g)),
		"sleep 1s has annotations":         workflow.Sleep(time.Second).With(workflow.NoEffect),
		"order in which its inputs arrive": reduced.With(workflow.Deterministic),
		"other than those of checkpoints":  reduced.With(workflow.Heartbeat(time.Second)),
	} {
		if _, err := workflow.Check(s); !errors.Is(err, phalanx.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := workflow.Check(take.Bind(workflow.Value(make([]byte, 64<<10)))); err != nil {
		t.Error(err)
	}
	for what, wrong := range map[string]func(){
		"an event without a name": func() { workflow.Event[int]("") },
		"a negative sleep":        func() { workflow.Sleep(-1) },
		"a reduce of bits":        func() { workflow.Reduce(phalanx.Xor, 0, grad.Bind()) },
		"a reduce of too many":    func() { workflow.Reduce(phalanx.Sum, 2, grad.Bind()) },
		"a timeout of nothing":    func() { workflow.Timeout(0) },
		"a silence of nothing":    func() { workflow.Heartbeat(0) },
		"a limit of none":         func() { workflow.Limit("x", 0) },
		"fewer than no retries":   func() { workflow.Retry(-1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error(what)
				}
			}()
			wrong()
		}()
	}
}

// A task that is only named has the annotations of the registered one.
func TestNamedTasks(t *testing.T) {
	draw := workflow.Func0("draw", 2, func(workflow.Context) (int, error) { return 4, nil }).With(workflow.NoEffect, workflow.NoCheckpoint)
	commit := workflow.Do1("commit", 1, func(workflow.Context, int) error { return nil })
	s := commit.Bind(workflow.Named0[int]("draw", 2).Bind())
	if _, err := workflow.Check(s); err != nil { // by itself it is a task without annotations
		t.Error(err)
	}
	if _, err := workflow.Check(s, workflow.Tasks(commit), workflow.Tasks(draw)); err == nil || !strings.HasPrefix(err.Error(), "cut: ") {
		t.Error(err)
	}
	s = commit.Bind(workflow.Named0[int]("draw", 2).Bind().With(workflow.SyncCheckpoint))
	if _, err := workflow.Check(s, workflow.Tasks(draw)); err != nil {
		t.Error(err)
	}
}

// One step that is bound twice is one task; equal steps are two.
func TestSharedSteps(t *testing.T) {
	one := workflow.Func0("one", 1, func(workflow.Context) (int, error) { return 1, nil })
	add := workflow.Func2("add", 1, func(_ workflow.Context, a, b int) (int, error) { return a + b, nil })
	s := one.Bind()
	for want, step := range map[int]workflow.AnyStep{2: add.Bind(s, s), 3: add.Bind(one.Bind(), one.Bind())} {
		if d, err := workflow.Describe(step); err != nil || len(d.Tasks) != want {
			t.Errorf("%+v, %v; want %d tasks", d, err, want)
		}
	}
}

// The description of a workflow with everything in it, as DOT and as JSON.
func TestDescription(t *testing.T) {
	note := workflow.Do2("note", 1, func(workflow.Context, Order, workflow.Outcome[string]) error { return nil }).
		Compensate(func(workflow.Context, Order, workflow.Outcome[string], workflow.None) error { return nil }).
		With(workflow.Timeout(time.Minute), workflow.Heartbeat(time.Second), workflow.Limit(`a"b`, 2), workflow.Retry(5))
	more := workflow.Expand0("more", 1, func(workflow.Context) (workflow.Step[string], error) { return workflow.Step[string]{}, nil })
	s := note.Bind(trip(), workflow.Catch(workflow.After(more.Bind(), workflow.Event[int]("go"))))
	for name, step := range map[string]workflow.AnyStep{"trip": trip(), "all": s, "pipeline": pipeline(1)} {
		d, err := workflow.Describe(step)
		if err != nil {
			t.Fatal(err)
		}
		form, err := json.MarshalIndent(d, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "testdata/"+name+".dot", d.DOT())
		golden(t, "testdata/"+name+".json", string(form)+"\n")
	}
}

// golden compares a text with a file. UPDATE=1 writes the file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is now\n%s", file, got)
	}
}
