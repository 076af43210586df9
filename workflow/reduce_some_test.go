package workflow

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// late returns a task that makes an array of n times v, and one that does so once it has a signal.
func late() (made, after F3[int, int64, string, []int64]) {
	f := func(_ Context, n int, v int64, _ string) ([]int64, error) { return filled(n, v), nil }
	return Func3("made", 1, f).With(NoEffect), Func3("late", 1, f).With(NoEffect)
}

// A reduce of two of three arrays does not wait for the third, which comes once somebody has seen what was made of the first two.
// The run ends with the third. That holds for small arrays, and for large ones that the store combines where they are.
func TestAReduceDoesNotWaitForTheSlowest(t *testing.T) {
	made, after := late()
	shown := make(chan int64, 10)
	show := Func1("show", 1, func(_ Context, a []int64) (int64, error) {
		shown <- a[0]
		return a[0], nil
	}).With(NoEffect)
	b := &bedOf{t: t}
	for _, name := range []string{"a", "b", "c"} {
		b.join(name, Settings{Dir: t.TempDir(), Tasks: Tasks(made, after, show)})
	}
	b.allSee()
	n := b.nodes[1]
	for _, size := range []int{3, 20_000} {
		for name, o := range map[string]Option{"saved": SyncCheckpoint, "not saved": NoCheckpoint} {
			id := fmt.Sprint(name, " ", size)
			quick := func(v int64) Arg[[]int64] { return made.Bind(Value(size), Value(v), Value("")).With(o) }
			slow := after.Bind(Value(size), Value(int64(100)), Event[string]("go")).With(o)
			r, err := Start(within(t), n, id, show.Bind(Reduce(phalanx.Sum, 2, quick(1), Arg[[]int64](slow), quick(2)).With(o)))
			if err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-shown:
				if got != 3 {
					t.Errorf("%s: the reduce has made %d", id, got)
				}
			case <-within(t).Done():
				t.Fatalf("%s: the reduce waits for the input that is late", id)
			}
			if st, err := StatusOf(within(t), n, id); err != nil || st.State == Finished {
				t.Errorf("%s: the run is %v before its last task, %v", id, st.State, err)
			}
			if err := Signal(within(t), n, id, "go", "key", []byte(`"go"`)); err != nil {
				t.Fatal(err)
			}
			if got := result(t, r, nil); got != 3 {
				t.Errorf("%s: the result is %d", id, got)
			}
			select {
			case got := <-shown:
				t.Errorf("%s: what reads the reduce has run again, with %d", id, got)
			default:
			}
		}
	}
}

// Constants count, an output that is given twice counts once, and a list waits for all of its elements.
func TestInputsOfAReduceOfSome(t *testing.T) {
	made, after := late()
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(made, after)})
	one := func(v int64) Arg[[]int64] { return made.Bind(Value(2), Value(v), Value("")) }
	slow := after.Bind(Value(2), Value(int64(100)), Event[string]("go"))
	x := one(5)
	for name, s := range map[string]Step[[]int64]{
		"constant": Reduce(phalanx.Max, 2, x, Value([]int64{7, 7}), slow),
		"twice":    Reduce(phalanx.Max, 2, x, x, one(7), slow),
	} {
		r, err := Start(within(t), n, name, s)
		if err != nil {
			t.Fatal(err)
		}
		poll.Until(t, "the reduce has ended", func() bool { return stateOf(t, n, name, "reduce") == "saved" })
		if err := Signal(within(t), n, name, "go", "key", []byte(`"go"`)); err != nil {
			t.Fatal(err)
		}
		if got := result(t, r, nil); !slices.Equal(got, []int64{7, 7}) && (name == "constant" || !slices.Equal(got, []int64{5, 5})) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A description says how many inputs a reduce needs, and that of a run how many it has.
func TestDescribeAReduceOfSome(t *testing.T) {
	made, after := late()
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(made, after)})
	quick := made.Bind(Value(2), Value(int64(1)), Value(""))
	first, second := after.Bind(Value(2), Value(int64(2)), Event[string]("first")), after.Bind(Value(2), Value(int64(3)), Event[string]("second"))
	s := Reduce(phalanx.Sum, 2, Arg[[]int64](quick), first, second)
	d, err := Describe(s)
	if err != nil || d.Refused != "" {
		t.Fatal(d, err)
	}
	last := d.Tasks[len(d.Tasks)-1]
	if last.Needs != 2 || !slices.Contains(last.Options, "needs 2 of 3 inputs") || !strings.Contains(d.DOT(), "needs 2 of 3 inputs") {
		t.Errorf("%+v", last)
	}
	r, err := Start(within(t), n, "x", s)
	if err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "one input is there", func() bool {
		d, err := Graph(within(t), n, "x")
		if err != nil {
			t.Fatal(err)
		}
		last := d.Tasks[len(d.Tasks)-1]
		return last.State == "to come" && last.Why == "it has 1 of the 2 inputs that it needs"
	})
	for _, name := range []string{"first", "second"} {
		if err := Signal(within(t), n, "x", name, "key", []byte(`"go"`)); err != nil {
			t.Fatal(err)
		}
		poll.Until(t, "the reduce has ended", func() bool { return stateOf(t, n, "x", "reduce") == "saved" })
	}
	if got := result(t, r, nil); !slices.Equal(got, []int64{3, 3}) {
		t.Error(got)
	}
	if d, err = Graph(within(t), n, "x"); err != nil || d.Tasks[len(d.Tasks)-1].Why != "" {
		t.Errorf("%+v, %v", d, err)
	}
}

// stateOf returns how a task of a run stands.
func stateOf(t *testing.T, n *cluster.Node, id, task string) string {
	t.Helper()
	d, err := Graph(within(t), n, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range d.Tasks {
		if at.Name == task {
			return at.State
		}
	}
	return ""
}

// The checks know that the output of a reduce of some shows which inputs came first.
func TestCheckOfAReduceOfSome(t *testing.T) {
	made, _ := late()
	one := func(v int64) Arg[[]int64] { return made.Bind(Value(2), Value(v), Value("")) }
	_, err := Check(Reduce(phalanx.Sum, 1, one(1), one(2)).With(Deterministic))
	contains(t, err, "a reduce of floats, of some inputs")
}
