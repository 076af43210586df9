package workflow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx/messages"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// A workflow runs from its recorded form alone, its tasks on other nodes in turn: the form has all that a run needs.
func TestWorkflowFromItsRecordedForm(t *testing.T) {
	all := nodes(t, 2)
	read := Func1("read", 1, func(c Context, name string) (Ref, error) { return c.Put("rows", []byte(strings.Repeat(name, 100_000))) }).With(Deterministic)
	count := Func2("count", 1, func(c Context, rows Ref, of string) (int, error) {
		b, err := GetBytes(c, rows)
		return strings.Count(string(b), of), err
	}).With(Deterministic, NoEffect)
	pad := Func1("pad", 1, func(_ Context, n int) ([]int64, error) { return make([]int64, n), nil })
	fail := Func0("fail", 1, func(Context) (int, error) { return 0, Permanent(fmt.Errorf("never")) })
	sum := Func3("sum", 1, func(_ Context, counts []int, pads [][]int64, o Outcome[int]) (string, error) {
		return fmt.Sprint(counts, len(pads[0]), len(pads[1]), o.Err), nil
	})
	rows := read.Bind(Value("abcb"))
	a, b := count.Bind(rows, Value("a")), count.Bind(rows, Value("b"))
	s := After(sum.Bind(All[int](a, Value(7), b), All[[]int64](pad.Bind(a), pad.Bind(Value(1))), Catch(fail.Bind())), rows)

	bench := benchOf(t, read, count, pad, fail, sum)
	g, err := recorded(s.node(), bench.tasks)
	if err != nil {
		t.Fatal(err)
	}
	form, err := messages.MarshalGraph(g)
	if err != nil {
		t.Fatal(err)
	}
	if g, err = messages.UnmarshalGraph(form); err != nil {
		t.Fatal(err)
	}
	graph, err := lower(g)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := core.Check(graph); err != nil {
		t.Fatal(err)
	}
	outputs := make([]given, len(g.Tasks))
	for v := range g.Tasks {
		args, err := supplies(g, v, func(task int) (given, error) { return outputs[task], nil })
		if err != nil {
			t.Fatal(err)
		}
		at := bench.on(all[v%2])
		e := at.run(t.Context(), &attempt{run: "u", path: fmt.Sprint(v), call: g.Calls[g.Tasks[v].Call], args: args, made: core.Attempt{Epoch: 1, Number: uint64(v + 1)}}, nil)
		if e.err != nil && !graph.Tasks[v].Caught {
			t.Fatalf("%s: %v", graph.Tasks[v].Name, e.err)
		}
		outputs[v] = given{bytes: e.output.Bytes, object: e.object}
		if e.output.Refs > 0 {
			outputs[v].bundle, outputs[v].from = true, &core.Located{Task: v, Output: e.output}
		}
		if e.err != nil {
			outputs[v] = given{failed: e.err.Error()}
		}
	}
	if got, want := string(outputs[len(outputs)-1].bytes), `"[100000 7 200000] 100000 1 task fail@1: never"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
