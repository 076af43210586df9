package workflow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// counter is the state of an actor that counts.
type counter struct {
	n    int64
	many []byte
}

var (
	counters = Actor("counter", 1, func(_ ActorContext, first int64) (*counter, error) {
		if first < 0 {
			return nil, errors.New("it is negative")
		}
		return &counter{n: first}, nil
	}).Snapshots(
		func(c *counter) ([]byte, error) { return binary.BigEndian.AppendUint64(nil, uint64(c.n)), nil },
		func(_ ActorContext, b []byte) (*counter, error) {
			return &counter{n: int64(binary.BigEndian.Uint64(b))}, nil
		})
	addTo   = Method(counters, "add", (*counter).add)
	readOf  = Method(counters, "read", (*counter).read).ReadOnly()
	echoOf  = Method(counters, "echo", func(_ *counter, _ ActorContext, b []byte) ([]byte, error) { return b, nil }).ReadOnly()
	wait    = Method(counters, "wait", func(_ *counter, c ActorContext, _ int) (int, error) { <-c.Done(); return 0, c.Err() }).ReadOnly()
	crashOf = Method(counters, "crash", func(*counter, ActorContext, int) (int, error) { panic("crash") })
	weighs  = Method(counters, "weigh", func(_ *counter, c ActorContext, r Ref) (int, error) {
		v, err := c.Get(r)
		if err != nil {
			return 0, err
		}
		return len(v.Bytes()), nil
	}).ReadOnly()
)

func (c *counter) add(_ ActorContext, n int64) (int64, error) {
	if n == 0 {
		return 0, errors.New("nothing is added")
	}
	c.n += n
	return c.n, nil
}

func (c *counter) read(ActorContext, int) (int64, error) { return c.n, nil }

// A task makes actors, others write and read them.
var (
	spawnTask = Func1("spawn", 1, func(c Context, n int) ([]ActorRef, error) {
		var all []ActorRef
		for i := range n {
			a, err := counters.Spawn(c, fmt.Sprint("counter ", i), int64(i))
			if err != nil {
				return nil, err
			}
			all = append(all, a)
		}
		return all, nil
	}).With(NoEffect)
	addTask = Func2("add", 1, func(c Context, all []ActorRef, n int64) ([]ActorRef, error) {
		for _, a := range all {
			if _, err := addTo.Call(c, a, n); err != nil {
				return nil, err
			}
		}
		return all, nil
	}).With(NoEffect)
	readTask = Func1("read", 1, func(c Context, all []ActorRef) (sum []int64, err error) {
		for _, a := range all {
			n, err := readOf.Call(c, a, 0)
			if err != nil {
				return nil, err
			}
			sum = append(sum, n)
		}
		return sum, nil
	}).With(NoEffect)
)

var actorTasks = []AnyTask{spawnTask, addTask, readTask}

// chain makes three actors, and adds to them as often as there are numbers. Those with true are followed by a snapshot.
func chainOf(numbers []int64, snapshots ...bool) Step[[]int64] {
	all := spawnTask.Bind(Value(3))
	for i, n := range numbers {
		all = addTask.Bind(all, Value(n))
		if i < len(snapshots) && snapshots[i] {
			all = all.With(Snapshot)
		}
	}
	return readTask.Bind(Read(all))
}

// Actors keep their state from task to task, on the nodes over which they are spread; a thousand calls of them need no output to be stored.
func TestActorsKeepTheirState(t *testing.T) {
	b := &bedOf{t: t}
	for _, name := range []string{"a", "b", "c"} {
		b.join(name, Settings{Dir: t.TempDir(), Tasks: Tasks(actorTasks...), Actors: Actors(counters)})
	}
	b.allSee()
	r, err := Start(within(t), b.nodes[0], "x", chainOf([]int64{10, 100, 1000}, false, true))
	if got := result(t, r, err); !slices.Equal(got, []int64{1110, 1111, 1112}) {
		t.Errorf("%v", got)
	}
}

// A task gets an error that says so for each thing that it must not do with actors, and one with what an actor says.
func TestActorErrors(t *testing.T) {
	var kept ActorRef
	var keptContext Context
	other := Actor("other", 1, func(ActorContext, int) (*counter, error) { return &counter{}, nil })
	addToOther := Method(other, "add", (*counter).add)
	type do = func(c Context, read, write ActorRef) error
	add := func(c Context, a ActorRef, n int64) error { _, err := addTo.Call(c, a, n); return err }
	spawn := func(c Context, name string, n int64) error { _, err := counters.Spawn(c, name, n); return err }
	for what, at := range map[string]struct {
		do    do
		kind  error
		wants string
	}{
		"a write through a read reference": {func(c Context, read, _ ActorRef) error { return add(c, read, 1) }, ErrReadOnly, "add of a"},
		"an error of a method":             {func(c Context, _, write ActorRef) error { return add(c, write, 0) }, phalanx.ErrFailed, "add of the actor b (counter@1): nothing is added"},
		"an error of what makes it":        {func(c Context, _, _ ActorRef) error { return spawn(c, "x", -1) }, phalanx.ErrFailed, "the actor x (counter@1) cannot be made: it is negative"},
		"a kind that no node has":          {func(c Context, _, _ ActorRef) error { _, err := other.Spawn(c, "x", 1); return err }, phalanx.ErrNotFound, "no actors of the kind other@1"},
		"a panic":                          {func(c Context, _, write ActorRef) error { _, err := crashOf.Call(c, write, 0); return err }, phalanx.ErrLost, "it has panicked"},
		"a call after a panic": {func(c Context, _, write ActorRef) error {
			_, _ = crashOf.Call(c, write, 0)
			return add(c, write, 1)
		}, phalanx.ErrLost, "the actor b (counter@1)"},
		"two actors of one name":   {func(c Context, _, _ ActorRef) error { return errors.Join(spawn(c, "x", 1), spawn(c, "x", 1)) }, phalanx.ErrInvalid, `with the name "x" already`},
		"no name":                  {func(c Context, _, _ ActorRef) error { return spawn(c, "", 1) }, phalanx.ErrInvalid, "0 bytes"},
		"no actor":                 {func(c Context, _, _ ActorRef) error { return add(c, ActorRef{}, 1) }, ErrStrangeActor, ""},
		"an actor of another task": {func(c Context, _, _ ActorRef) error { return add(c, kept, 1) }, ErrStrangeActor, `"a"`},
		"the context of another":   {func(_ Context, _, write ActorRef) error { return add(keptContext, write, 1) }, ErrEnded, ""},
		"a context of no task":     {func(_ Context, _, write ActorRef) error { _, err := addTo.Call(t.Context(), write, 1); return err }, phalanx.ErrInvalid, "not that of a task"},
		"a method of another kind": {func(c Context, _, write ActorRef) error { _, err := addToOther.Call(c, write, 1); return err }, phalanx.ErrInvalid, "is a method of other@1, and the actor b is of counter@1"},
		"a Ref of nobody":          {func(c Context, _, write ActorRef) error { _, err := weighs.Call(c, write, Ref{id: "x"}); return err }, ErrStrangeRef, ""},
		"it does not wait": {func(c Context, _, write ActorRef) error {
			go func() { _, _ = wait.Call(c, write, 1) }()
			l := c.Value(lifeKey{}).(*life)
			poll.Until(t, "the call goes on", func() bool { l.mu.Lock(); defer l.mu.Unlock(); return len(l.calling) > 0 })
			return nil
		}, ErrOutstanding, "wait of b"},
	} {
		b := newActorTrial(t)
		refs := make2(t, b, func(c Context) ([]ActorRef, error) {
			x, err := counters.Spawn(c, "a", 1)
			y, err2 := counters.Spawn(c, "b", 1)
			kept, keptContext = x, c
			return []ActorRef{x, y}, errors.Join(err, err2)
		})
		use := Func2("use", 1, func(c Context, read, write ActorRef) (int, error) { return 0, at.do(c, read, write) }).With(NoEffect)
		a, tasks, err := b.attempt(use.Bind(Value(refs[0]), Value(refs[1])), Try{})
		if err != nil {
			t.Fatal(err)
		}
		a.args[0].given.reads = true
		_, err = b.record(t.Context(), a, tasks)
		if !errors.Is(err, at.kind) || !strings.Contains(fmt.Sprint(err), at.wants) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func newActorTrial(t *testing.T) *Trial {
	return NewTrial(TrialConfig{Actors: Actors(counters)})
}

// make2 returns the actors that a task makes.
func make2(t *testing.T, b *Trial, f func(Context) ([]ActorRef, error)) []ActorRef {
	t.Helper()
	rec, err := b.Do(t.Context(), Func0("make", 1, f).With(NoEffect).Bind(), Try{})
	if err != nil {
		t.Fatal(err)
	}
	refs, err := Output[[]ActorRef](rec)
	if err != nil {
		t.Fatal(err)
	}
	return refs
}

// An output holds actors that the task writes, not those that it reads or that are of another task.
func TestActorsInOutputs(t *testing.T) {
	b := newActorTrial(t)
	one := func(c Context) ([]ActorRef, error) {
		a, err := counters.Spawn(c, "a", 1)
		return []ActorRef{a, a}, err
	}
	refs := make2(t, b, one)
	if refs[0].Name() != "a" || refs[0].Version() != 1 || refs[0].form() != refs[1].form() {
		t.Errorf("%+v, %+v", refs[0].form(), refs[1].form())
	}
	var strange ActorRef
	pass := Func1("pass", 1, func(c Context, a ActorRef) (ActorRef, error) { strange = a; return a, nil }).With(NoEffect)
	rec, err := b.Do(t.Context(), pass.Bind(Value(refs[0])), Try{})
	next, err2 := Output[ActorRef](rec)
	if err != nil || err2 != nil || next.Version() != 2 || next.form().ID != refs[0].form().ID {
		t.Errorf("%+v, %v, %v", next.form(), err, err2)
	}
	_, err = b.Do(t.Context(), pass.Bind(Value(refs[0])), Try{Number: 2, Fence: Fence{Term: 1}}) // another attempt, of the version that was moved away
	is(t, err, phalanx.ErrLost)
	a, tasks, err := b.attempt(pass.Bind(Value(next)), Try{Number: 3})
	if err != nil {
		t.Fatal(err)
	}
	a.args[0].given.reads = true
	_, err = b.record(t.Context(), a, tasks)
	is(t, err, ErrReadOnly)
	_, err = b.Do(t.Context(), Func0("strange", 1, func(Context) (ActorRef, error) { return strange, nil }).With(NoEffect).Bind(), Try{})
	is(t, err, ErrStrangeActor)
	if n := b.stage.host.Runs(); len(n) > 0 { // the Trial's run is none
		t.Error(n)
	}
}

// Arguments and results that are large go as objects, which are gone when they are read.
func TestLargeArgumentsOfActors(t *testing.T) {
	b := &bedOf{t: t}
	for _, name := range []string{"a", "b"} {
		b.join(name, Settings{Dir: t.TempDir(), Tasks: Tasks(echoTask, spawnTask), Actors: Actors(counters)})
	}
	b.allSee()
	r, err := Start(within(t), b.nodes[0], "x", echoTask.Bind(spawnTask.Bind(Value(2)), Value(300_000)))
	if got := result(t, r, err); got != 2*300_000 {
		t.Error(got)
	}
	if err := Forget(within(t), b.nodes[0], "x"); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "no object of the run is left", func() bool {
		all, err := b.nodes[0].List(within(t), "wf/")
		return err == nil && len(all) == 0
	})
}

var echoTask = Func2("echo", 1, func(c Context, all []ActorRef, n int) (sum int, err error) {
	for i, a := range all {
		echoed, err := echoOf.Call(c, a, bytes.Repeat([]byte{byte(i)}, n))
		if err != nil {
			return 0, err
		}
		sum += len(echoed)
	}
	return sum, nil
}).With(NoEffect)

// Actors are spread over the nodes that have their kind, also if others have not, and new ones go to a node that has none.
func TestActorsAreSpread(t *testing.T) {
	s, gate := newCells(), newGate()
	where := Method(s.kind, "where", func(c *cell, _ ActorContext, _ int) (string, error) { return c.on, nil })
	fill := Func1("fill", 1, func(c Context, all []ActorRef) (on []string, err error) {
		if err := gate.pass(c, "fill"); err != nil {
			return nil, err
		}
		for i := range 2 {
			a, err := s.kind.Spawn(c, fmt.Sprint("new ", i), 0)
			if err != nil {
				return nil, err
			}
			all = append(all, a)
		}
		for _, a := range all {
			n, err := where.Call(c, a, 0)
			if err != nil {
				return nil, err
			}
			on = append(on, n)
		}
		return on, nil
	}).With(NoEffect)
	tasks := Tasks(s.spawn, fill)
	b := &bedOf{t: t}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		set := Settings{Dir: t.TempDir(), Tasks: tasks}
		if name < "c" {
			set.Actors = Actors(s.kind)
		}
		b.join(name, set)
	}
	b.allSee()
	r, err := Start(within(t), b.nodes[0], "x", fill.Bind(s.spawn.Bind(Value(8))))
	if err != nil {
		t.Fatal(err)
	}
	gate.await(t)
	b.join("f", Settings{Actors: Actors(s.kind)})
	b.allSee()
	close(gate.open)
	on := result(t, r, nil)
	slices.Sort(on)
	if want := strings.Fields("a a a a b b b b f f"); !slices.Equal(on, want) {
		t.Errorf("%v, want %v", on, want)
	}
}
