package workflow

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// namedSize is the size in bytes of the objects that outputs of these tests name.
const namedSize = 8 * 50_000

// arrays are tasks whose outputs name an array: one makes it, one passes it on without a checkpoint of its own, one reads it.
func arrays(e *effects, on ...Option) (makes F1[int, []Ref], pass F1[[]Ref, []Ref], sum F2[[]Ref, string, float64], _ *Registry) {
	makes = Func1("makes", 1, func(c Context, n int) ([]Ref, error) {
		e.add("makes")
		values := make([]float64, namedSize/8)
		for i := range values {
			values[i] = float64(n)
		}
		r, err := PutArray(c, "values", values)
		return []Ref{r}, err
	}).With(on...)
	pass = Func1("pass", 1, func(_ Context, r []Ref) ([]Ref, error) { return r, nil }).With(Deterministic, NoEffect, NoCheckpoint)
	sum = Func2("sum", 1, func(c Context, r []Ref, _ string) (float64, error) {
		a, err := GetArray[float64](c, r[0])
		if err != nil {
			return 0, err
		}
		total := 0.0
		for _, v := range a.Values() {
			total += v
		}
		return total, nil
	}).With(NoEffect)
	return makes, pass, sum, Tasks(makes, pass, sum)
}

// An object whose Ref is in an output is in its checkpoint: after all nodes have ended the next task reads it as the array that
// it was, and so does one that gets it from a task without a checkpoint, which passes it on.
func TestObjectsThatOutputsNameHaveCheckpoints(t *testing.T) {
	var e effects
	makes, pass, sum, tasks := arrays(&e)
	mark := Func1("mark", 1, func(Context, []Ref) (int, error) { e.add("mark"); return 0, nil }) // it begins after the checkpoint of what it reads
	tasks = merged([]*Registry{tasks, Tasks(mark)})
	b, dirs := three(t, tasks)
	for id, s := range map[string]Step[[]Ref]{"direct": makes.Bind(Value(2)), "passed": pass.Bind(makes.Bind(Value(2)))} {
		if _, err := Start(within(t), b.nodes[0], id, sum.Bind(s, After(Event[string]("go"), mark.Bind(s)))); err != nil {
			t.Fatal(err)
		}
	}
	poll.Until(t, "the checkpoints", func() bool { return e.count("mark") == 2 })
	if n := len(checkpoints(t, dirs, namedSize)); n != 4 {
		t.Errorf("%d copies of two objects", n)
	}
	all := startAgain(t, b, dirs, tasks, func() {})
	for _, id := range []string{"direct", "passed"} {
		if err := Signal(within(t), all[0], id, "go", "key", []byte(`"go"`)); err != nil {
			t.Fatal(err)
		}
		r, err := Attach[float64](within(t), all[0], id)
		if got := result(t, r, err); got != 2*namedSize/8 {
			t.Errorf("%s: %v", id, got)
		}
	}
	if n := e.count("makes"); n != 2 {
		t.Errorf("two runs have called it %d times: its effect is not to be repeated", n)
	}
}

// An object that an output names, and that is gone from all memories and disks, is made again.
func TestAnObjectThatAnOutputNamesIsMadeAgain(t *testing.T) {
	var e effects
	makes, pass, sum, tasks := arrays(&e, NoEffect)
	b, dirs := three(t, tasks)
	if _, err := Start(within(t), b.nodes[0], "r", sum.Bind(pass.Bind(makes.Bind(Value(3))), Event[string]("go"))); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "two copies", func() bool { return len(checkpoints(t, dirs, namedSize)) == 2 })
	all := startAgain(t, b, dirs, tasks, func() {
		files := checkpoints(t, dirs, namedSize)
		spoil(t, files[0])
		if err := os.Remove(files[1]); err != nil {
			t.Fatal(err)
		}
	})
	if err := Signal(within(t), all[0], "r", "go", "key", []byte(`"go"`)); err != nil {
		t.Fatal(err)
	}
	r, err := Attach[float64](within(t), all[0], "r")
	if got := result(t, r, err); got != 3*namedSize/8 || e.count("makes") != 2 {
		t.Errorf("%v; made %d times, want 2", got, e.count("makes"))
	}
}

// An object of a task without a checkpoint is made again if its node ends, also if its output goes on through another task.
func TestTheNodeWithAnObjectThatAnOutputNamesDies(t *testing.T) {
	var e effects
	makes, pass, sum, tasks := arrays(&e, NoEffect, NoCheckpoint, Deterministic)
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(pass, sum)})
	maker := b.join("b", Settings{Tasks: Tasks(makes)})
	seen := Func1("seen", 1, func(Context, []Ref) (string, error) { e.add("seen"); return "go", nil }).With(NoEffect)
	b.join("c", Settings{Tasks: Tasks(seen)})
	passed := pass.Bind(makes.Bind(Value(4)))
	r, err := Start(within(t), n, "r", sum.Bind(passed, After(Event[string]("go"), seen.Bind(passed))))
	poll.Until(t, "the object to be passed on", func() bool { return e.count("seen") == 1 })
	b.join("d", Settings{Tasks: tasks})
	die(maker)
	if err := Signal(within(t), n, "r", "go", "key", []byte(`"go"`)); err != nil {
		t.Fatal(err)
	}
	if got := result(t, r, err); got != 4*namedSize/8 || e.count("makes") != 2 {
		t.Errorf("%v; made %d times, want 2", got, e.count("makes"))
	}
}

// The objects that a result names are there again once somebody reads the result, and go as the run is forgotten. What a caller has
// passed to the run stays.
func TestObjectsThatAResultNames(t *testing.T) {
	var e effects
	makes, _, _, tasks := arrays(&e)
	both := Func2("both", 1, func(_ Context, made []Ref, given Ref) ([]Ref, error) { return append(made, given), nil })
	tasks = merged([]*Registry{tasks, Tasks(both)})
	b, dirs := three(t, tasks)
	info, err := b.nodes[0].Put(within(t), "given", make([]byte, namedSize))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Start(within(t), b.nodes[0], "r", both.Bind(makes.Bind(Value(5)), Value(RefOf(info))))
	refs := result(t, r, err)
	all := startAgain(t, b, dirs, tasks, func() {})
	n := all[0]
	r, err = Attach[[]Ref](within(t), n, "r")
	if got := result(t, r, err); !slices.Equal(got, refs) || len(refs) != 2 {
		t.Fatalf("%v, and then %v", refs, got)
	}
	a, err := cluster.GetArray[float64](within(t), n, refs[0].ID())
	if err != nil || a.Values()[0] != 5 {
		t.Fatal(err)
	}
	a.Release()
	there := func(id phalanx.ObjectID) bool {
		v, err := n.TryGet(within(t), id)
		if err == nil {
			v.Release()
		}
		return !errors.Is(err, phalanx.ErrDeleted)
	}
	if err := Forget(within(t), n, "r"); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the run's object to be deleted", func() bool { return !there(refs[0].ID()) })
	poll.Until(t, "the checkpoints to be deleted", func() bool { return len(checkpoints(t, dirs, namedSize)) == 0 })
	if !there("given") {
		t.Error("the object that a caller has passed is deleted with the run")
	}
}
