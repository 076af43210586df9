package workflow

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// chain returns a workflow of so many tasks, each with constants of its own.
func chain(n int) Step[int] {
	add := Func2("add", 1, func(_ Context, a, b int) (int, error) { return a + b, nil }).With(NoEffect)
	s := add.Bind(Value(0), Value(1))
	for i := range n - 1 {
		s = add.Bind(s, Value(i%1000))
	}
	return s
}

// A program that is run again records the same bytes; a difference is named.
func TestRecordedFormIsTheSame(t *testing.T) {
	form := func(s AnyStep) (*messages.Graph, []byte) {
		g, err := recorded(s.node(), nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := messages.MarshalGraph(g)
		if err != nil {
			t.Fatal(err)
		}
		return g, b
	}
	_, a := form(chain(2000))
	_, b := form(chain(2000))
	if !bytes.Equal(a, b) {
		t.Error("two forms of one program")
	}
	base := func() Step[int] { return chain(3) }
	other := Do0("other", 1, func(Context) error { return nil })
	x, y := other.Bind(), other.With(NoEffect).Bind()
	left, l := form(After(base(), x, y, x))
	_, r := form(After(base(), x, y))
	if !bytes.Equal(l, r) {
		t.Error("a repeat in After shows")
	}
	right, _ := form(After(base(), x))
	if d := messages.FirstDifference(left, right); d != "task 3 is other@1, and add@1" {
		t.Error(d)
	}
	bytes := []byte("abc")
	constant, _ := form(Do1("take", 1, func(Context, []byte) error { return nil }).Bind(Value(bytes)))
	clear(bytes)
	if string(constant.Constants[0]) != "abc" {
		t.Errorf("a program changes what is recorded: %q", constant.Constants)
	}
	c := left.Calls[left.Tasks[0].Call]
	if c.Name != "add" || c.Effect != core.None || c.Checkpoint != core.Async {
		t.Errorf("%+v", c)
	}
}

// All annotations are recorded: each changes the call.
func TestAnnotationsAreRecorded(t *testing.T) {
	f := Func0("f", 1, func(Context) (int, error) { return 0, nil })
	record := func(s Step[int]) messages.GraphCall {
		g, err := recorded(s.node(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return g.Calls[0]
	}
	plain := record(f.Bind())
	seen := map[messages.GraphCall]bool{plain: true}
	for _, o := range []Option{Deterministic, NoEffect, NoCheckpoint, SyncCheckpoint, Snapshot, Timeout(1), Heartbeat(2), Limit("l", 3), Limit("l", 4), Retry(0), Retry(1)} {
		c := record(f.With(o).Bind())
		if seen[c] || record(f.Bind().With(o)) != c {
			t.Errorf("%+v is as another one, or depends on where the option stands", c)
		}
		seen[c] = true
	}
	if c := record(f.Undo(func(Context) error { return nil }).Bind()); c.Effect != core.Undo {
		t.Errorf("%+v", c)
	}
	if c := record(f.Compensate(func(Context, int) error { return nil }).Bind()); !c.Compensates {
		t.Errorf("%+v", c)
	}
	if record(f.With(Idempotent).Bind()) != plain {
		t.Error("to say what holds anyway is another graph")
	}
}

func TestInputsAreRecorded(t *testing.T) {
	one := Func0("one", 1, func(Context) (int, error) { return 0, nil })
	f := Func3("f", 1, func(_ Context, _ int, _ [][]int, _ Outcome[int]) (int, error) { return 0, nil })
	a, b := one.Bind(), one.Bind()
	s := f.Bind(Value(9), All(All[int](a, Value(9)), Value([]int{}), All[int]()), Catch(b))
	g, err := recorded(s.node(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []messages.GraphInput{{Kind: messages.InputConstant, N: 0}, {Kind: messages.InputList, N: 3}, {Kind: messages.InputList, N: 2}, {Kind: messages.InputTask, N: 0},
		{Kind: messages.InputConstant, N: 0}, {Kind: messages.InputConstant, N: 1}, {Kind: messages.InputList, N: 0}, {Kind: messages.InputCaught, N: 1}}
	if !reflect.DeepEqual(g.Tasks[2].Inputs, want) || len(g.Constants) != 2 {
		t.Errorf("%+v, %q", g.Tasks[2].Inputs, g.Constants)
	}
	graph, err := lower(g)
	if err != nil || !reflect.DeepEqual(graph.Tasks[2].Reads, []int{0, 1}) || graph.Tasks[0].Caught || !graph.Tasks[1].Caught {
		t.Errorf("%+v, %v", graph, err)
	}
}

// A workflow of more tasks than are allowed is refused while it is recorded.
func TestTooManyTasks(t *testing.T) {
	p := programOf(nil)
	if err := p.record(chain(100).node(), 100); err != nil || len(p.graph.Tasks) != 100 {
		t.Error(err)
	}
	err := programOf(nil).record(chain(101).node(), 100)
	var refused *CheckError
	if !errors.As(err, &refused) || refused.Rule != core.Shape || !errors.Is(err, phalanx.ErrInvalid) {
		t.Error(err)
	}
}
