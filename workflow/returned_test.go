package workflow

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// A task returns a workflow of many tasks with large constants: it is recorded in pieces, and a node that starts again over
// its folder goes on with it. A workflow that is too large fails the run, with a typed error where the task runs.
func TestALargeWorkflowIsReturned(t *testing.T) {
	const parts, size = 30, 60_000
	var e effects
	g := newGate()
	length := Func1("length", 1, func(_ Context, s string) (int, error) { e.add("length"); return len(s), nil }) // an effect: what it waits for is durable
	sum := Func2("sum", 1, func(c Context, all []int, _ int) (n int, _ error) {
		for _, k := range all {
			n += k
		}
		return n, nil
	}).With(NoEffect)
	hold := Func1("hold", 1, func(c Context, n []int) (int, error) { return 0, g.pass(c, "hold") })
	more := Expand1("more", 1, func(_ Context, n int) (Step[int], error) {
		var all []Arg[int]
		for i := range n {
			all = append(all, length.Bind(Value(fmt.Sprintf("%0*d", size, i))))
		}
		return sum.Bind(All(all...), hold.Bind(All(all...))), nil
	})
	tasks := Tasks(length, sum, hold, more)
	s := Settings{Dir: t.TempDir(), Tasks: tasks}
	b := &bedOf{t: t}
	n := b.join("a", s)
	if _, err := Start(within(t), n, "large", more.Bind(Value(parts))); err != nil {
		t.Fatal(err)
	}
	g.await(t)
	leave(t, n)
	close(g.open)
	b = &bedOf{t: t}
	n = b.join("a", s)
	r, err := Attach[int](within(t), n, "large")
	if got := result(t, r, err); got != parts*size {
		t.Errorf("the result is %d", got)
	}
	if got := e.count("length"); got != parts {
		t.Errorf("%d tasks took effect", got)
	}
	inner := 0
	for h, err := range History(within(t), n, "large") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(h.Task, "more/length") && h.What == "ended" {
			inner++
		}
	}
	if inner != parts {
		t.Errorf("the history has the ends of %d tasks", inner)
	}

	r, err = Start(within(t), n, "too large", more.With(Retry(0)).Bind(Value(2*parts)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Result(within(t)); !errors.Is(err, phalanx.ErrFailed) || !strings.Contains(err.Error(), "more than 2097152") {
		t.Error(err)
	}
	bench := benchOf(t, more)
	ended := bench.run(t.Context(), bench.of(more.Bind(Value(2*parts))), nil)
	is(t, ended.err, ErrTooLarge, phalanx.ErrInvalid)
	if !ended.final {
		t.Error("it is repeated")
	}
}
