package workflow

import (
	"errors"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// A task returns a workflow, here of itself, and the run goes on with that.
func TestAWorkflowThatReturnsWorkflows(t *testing.T) {
	seen := &effects{}
	add := Func2("add", 1, func(_ Context, a, b int) (int, error) { return a + b, nil }).With(Deterministic, NoEffect)
	leaf := Func1("leaf", 1, func(c Context, n int) (int, error) {
		seen.add(c.Key())
		return n, nil
	})
	fib := Expand1("fib", 1, func(_ Context, n int) (Step[int], error) {
		if n < 2 {
			return leaf.Bind(Value(n)), nil
		}
		self := Named1[int, int]("fib", 1)
		return add.Bind(self.Bind(Value(n-1)), self.Bind(Value(n-2))), nil
	})
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(add, leaf, fib)})
	r, err := Start(within(t), n, "fib", fib.Bind(Value(7)))
	if got := result(t, r, err); got != 13 {
		t.Errorf("the 7th number of Fibonacci is %d, want 13", got)
	}
	if keys := seen.all; len(keys) != 21 {
		t.Errorf("there were %d effects, want 21: %v", len(keys), keys)
	}
}

// A run waits for a signal and sleeps. It leaves the controller's memory meanwhile.
func TestARunThatWaits(t *testing.T) {
	first := Func0("first", 1, func(Context) (int, error) { return 1, nil }).With(NoEffect)
	use := Func1("use", 1, func(_ Context, s string) (string, error) { return "it is " + s, nil }).With(NoEffect)
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(first, use)})
	slept := After(use.Bind(Event[string]("answer", first.Bind())), Sleep(time.Millisecond))
	r, err := Start(within(t), n, "waits", slept)
	if err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the run waits", func() bool {
		s, err := StatusOf(within(t), n, "waits")
		return err == nil && s.State == Waiting
	})
	answer := []byte(`"yes"`)
	for range 2 {
		if err := Signal(within(t), n, "waits", "answer", "1", answer); err != nil {
			t.Error(err)
		}
	}
	if got := result(t, r, err); got != "it is yes" {
		t.Error(got)
	}
	if err := Signal(within(t), n, "waits", "answer", "2", answer); !errors.Is(err, phalanx.ErrClosed) {
		t.Errorf("a signal after the run: %v", err)
	}
}
