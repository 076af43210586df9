package workflow

import (
	"context"
	"fmt"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/poll"
	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// A checkpoint has the objects that a caller passes to a run by Ref, and those that a task puts for the workflow that it returns: the run goes on
// after all nodes have ended.
func TestRefsInConstantsHaveCheckpoints(t *testing.T) {
	var e effects
	length := Func2("length", 1, func(c Context, r []Ref, _ string) (int, error) {
		b, err := GetBytes(c, r[0])
		return len(b), err
	}).With(NoEffect)
	mark := Func1("mark", 1, func(Context, []Ref) (int, error) { e.add("mark"); return 0, nil }) // it begins after the checkpoint of what it reads
	waits := func(r []Ref) Step[int] {
		return length.Bind(Value(r), After(Event[string]("go"), mark.Bind(Value(r))))
	}
	returns := Expand0("returns", 1, func(c Context) (Step[int], error) {
		r, err := c.Put("x", make([]byte, namedSize))
		return waits([]Ref{r}), err
	}).With(NoEffect)
	last := Func1("last", 1, func(_ Context, n int) (int, error) { return n, nil }).With(NoEffect)
	tasks := Tasks(length, mark, returns, last)
	b, dirs := three(t, tasks)
	info, err := b.nodes[0].Put(within(t), "given", make([]byte, namedSize))
	if err != nil {
		t.Fatal(err)
	}
	for id, s := range map[string]Step[int]{"passed": waits([]Ref{RefOf(info)}), "returned": last.Bind(returns.Bind())} {
		if _, err := Start(within(t), b.nodes[0], id, s); err != nil {
			t.Fatal(err)
		}
	}
	poll.Until(t, "the checkpoints", func() bool { return e.count("mark") == 2 })
	all := startAgain(t, b, dirs, tasks, func() {})
	for _, id := range []string{"passed", "returned"} {
		sent := Signal(within(t), all[0], id, "go", "key", []byte(`"go"`))
		r, err := Attach[int](within(t), all[0], id)
		if sent != nil {
			_, why := r.Result(within(t))
			t.Fatalf("%s: %v: %v", id, sent, why)
		}
		if got := result(t, r, err); got != namedSize {
			t.Errorf("%s: %d", id, got)
		}
	}
}

// A constant with Refs goes through one task, however often it stands in the workflow.
func TestAConstantWithRefsIsKeptOnce(t *testing.T) {
	use := Func2("use", 1, func(_ Context, a, b Ref) (int, error) { return 0, nil })
	r, s := Ref{id: "r", size: 1}, Ref{id: "s", size: 2}
	d, err := Describe(use.Bind(Value(r), Value(s)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, task := range d.Tasks {
		names = append(names, fmt.Sprint(task.Name, task.Reads))
	}
	if got := fmt.Sprint(names); got != "[keep[] keep#2[] use[0 1]]" {
		t.Error(got)
	}
	if d, err = Describe(use.Bind(Value(r), Value(r))); err != nil || len(d.Tasks) != 2 {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err = Describe(use.Bind(Borrowed(r), Borrowed(r))); err != nil || len(d.Tasks) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err = Describe(use.Bind(Value(Ref{}), Value(Ref{}))); err != nil || len(d.Tasks) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
}

// Tasks wait for the checkpoint of what a deterministic task passes on in the workflow that it returns: it counts as deterministic, and
// nobody makes its objects again.
func TestKeepsWaitForTheirCheckpoints(t *testing.T) {
	use := Func1("use", 1, func(_ Context, r Ref) (int, error) { return 0, nil }).With(Deterministic)
	for _, c := range []struct {
		parent promise
		want   core.Checkpoint
	}{{promise{}, core.Async}, {promise{deterministic: true}, core.Sync}, {promise{deterministic: true, checkpoint: core.Off}, core.Off}} {
		p := programOf(nil)
		p.parent = c.parent
		if err := p.record(use.Bind(Value(Ref{id: "r", size: 1})).node(), core.MaxTasks); err != nil {
			t.Fatal(err)
		}
		if got := p.graph.Calls[0]; got.Kind != messages.CallKeep || got.Checkpoint != c.want {
			t.Errorf("of %+v: %+v", c.parent, got)
		}
	}
}

// An object that a constant names is put again of a checkpoint, whichever output of the run has it.
func TestAKeptObjectIsPutAgain(t *testing.T) {
	b := benchOf(t)
	data := []byte("data")
	r := flow.Ref{Object: "x", Meta: phalanx.Meta{Size: 4}, Digest: dataplane.DigestBytes(data)}
	form, err := messages.MarshalBundle([]byte("constant"), []flow.Ref{r})
	if err != nil {
		t.Fatal(err)
	}
	a := &attempt{run: "r", path: "7", call: messages.KeepCall(false, false), args: []supply{{given: given{bytes: form}}}, made: core.Attempt{Epoch: 2, Number: 3}}
	if e := b.keep(t.Context(), a); e.err == nil || e.final {
		t.Errorf("nobody can put it: %+v", e)
	}
	a.again = func(ctx context.Context, w flow.Wish) (bool, error) {
		if w.Object != "x" || w.Place != flow.PlaceOfRef(flow.RunOf(w.Place), r) || w.Disks != nil {
			t.Errorf("%+v", w)
		}
		_, err := b.store.Put(ctx, w.Object, data, phalanx.Meta{})
		return false, err
	}
	if e := b.keep(t.Context(), a); e.err != nil || e.output.Refs != 1 {
		t.Errorf("%+v", e)
	}
}
