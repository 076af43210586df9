package workflow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// bedOf is a cluster in this process.
type bedOf struct {
	t     testing.TB
	nodes []*cluster.Node
	ports map[string]int // by name: of nodes that others know from before; 0: any
	ops   map[phalanx.Op]cluster.CombineFunc
}

// join adds a node, which leaves when the test ends.
func (b *bedOf) join(name string, s Settings) *cluster.Node {
	b.t.Helper()
	var seeds []string
	for _, o := range b.nodes {
		select {
		case <-o.Done():
		default:
			seeds = []string{o.ControlAddr()}
		}
	}
	n, err := b.start(name, seeds, s)
	if err != nil {
		b.t.Fatal(err)
	}
	b.nodes = append(b.nodes, n)
	b.t.Cleanup(func() { leave(b.t, n) })
	return n
}

// start starts a node. Each is on a machine of its own, as far as the ledger knows.
func (b *bedOf) start(name string, seeds []string, s Settings) (*cluster.Node, error) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	if testing.Verbose() {
		log.SetOutput(b.t.Output())
		if s.Log == nil {
			s.Log = log
		}
	}
	s.host = name
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return cluster.Join(ctx, cluster.Config{Name: name, ControlPort: b.ports[name], Seeds: seeds, Logger: log, Memory: 256 << 20, Ops: b.ops, Services: []cluster.Service{s.Service()}})
}

func leave(t testing.TB, n *cluster.Node) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	select {
	case <-n.Done():
	default:
		if err := n.Leave(ctx); err != nil && !errors.Is(err, phalanx.ErrClosed) {
			t.Error(err)
		}
	}
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// effects counts what tasks have done.
type effects struct {
	mu  sync.Mutex
	all []string
}

func (e *effects) add(what string) {
	e.mu.Lock()
	e.all = append(e.all, what)
	e.mu.Unlock()
}

func (e *effects) count(what string) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, have := range e.all {
		if have == what {
			n++
		}
	}
	return n
}

func (e *effects) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.all, " ")
}

func result[R any](t testing.TB, r Run[R], err error) R {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	v, err := r.Result(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A chain of tasks, and a fan, on one node.
func TestRunOnOneNode(t *testing.T) {
	one := Func0("one", 1, func(Context) (int, error) { return 1, nil }).With(NoEffect)
	add := Func2("add", 1, func(_ Context, a, b int) (int, error) { return a + b, nil }).With(Deterministic, NoEffect)
	sum := Func1("sum", 1, func(_ Context, all []int) (string, error) { return fmt.Sprint(all), nil }).With(NoEffect)
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(one, add, sum)})
	chain := one.Bind()
	for range 9 {
		chain = add.Bind(chain, Value(2))
	}
	r, err := Start(within(t), n, "chain", chain)
	if got := result(t, r, err); got != 19 {
		t.Errorf("the chain is %d, want 19", got)
	}
	var fan []Arg[int]
	for i := range 20 {
		fan = append(fan, add.Bind(one.Bind(), Value(i)))
	}
	f, err := Start(within(t), n, "fan", sum.Bind(All(fan...)))
	if got := result(t, f, err); got != "[1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20]" {
		t.Errorf("the fan is %s", got)
	}
	again, err := Attach[int](within(t), n, "chain")
	if got := result(t, again, err); got != 19 || again.UID() != r.UID() {
		t.Errorf("the attached run is %s and gives %d", again.UID(), got)
	}
	if same, err := Start(within(t), n, "chain", chain); err != nil || same.UID() != r.UID() {
		t.Errorf("the same start gives run %s, want %s: %v", same.UID(), r.UID(), err)
	}
	_, err = Start(within(t), n, "chain", one.Bind())
	if !errors.Is(err, phalanx.ErrMismatch) || !strings.Contains(err.Error(), `start "chain"`) {
		t.Errorf("another workflow under the id: %v", err)
	}
	poll.Until(t, "the run's end in the status", func() bool {
		s, err := StatusOf(within(t), n, "chain")
		return err == nil && s.State == Finished
	})
}

// gate holds tasks up until it is opened.
type gate struct {
	reached chan string
	open    chan struct{}
}

func newGate() *gate { return &gate{make(chan string, 100), make(chan struct{})} }

func (g *gate) pass(c Context, who string) error {
	g.reached <- who
	select {
	case <-g.open:
		return nil
	case <-c.Done():
		return c.Err()
	}
}

func (g *gate) await(t testing.TB) string {
	t.Helper()
	select {
	case who := <-g.reached:
		return who
	case <-time.After(20 * time.Second):
		t.Fatal("no task has come to the gate")
		return ""
	}
}

// Tasks run on the nodes that have them, whichever node starts the run: outputs go between nodes, large ones as objects, and
// many as rows.
func TestRunOnSeveralNodes(t *testing.T) {
	const large, many = 300_000, 40
	b := &bedOf{t: t}
	make1 := Func1("make", 1, func(_ Context, n int) ([]byte, error) { return []byte(strings.Repeat("x", n)), nil }).With(NoEffect)
	size := Func1("size", 1, func(_ Context, all [][]byte) (int, error) {
		n := 0
		for _, b := range all {
			n += len(b)
		}
		return n, nil
	}).With(NoEffect, Deterministic)
	b.join("a", Settings{Dir: t.TempDir()})
	b.join("b", Settings{Tasks: Tasks(make1)})
	b.join("c", Settings{Tasks: Tasks(size)})
	for _, n := range b.nodes {
		poll.Until(t, "a view of all", func() bool { return len(n.View().Members) == 3 })
	}
	for i, n := range b.nodes {
		var parts []Arg[[]byte]
		want := 0
		for k := range many {
			s := make1.Bind(Value(30_000 + k))
			if k%2 == 0 {
				s = s.With(NoCheckpoint)
			}
			parts = append(parts, s)
			want += 30_000 + k
		}
		parts = append(parts, make1.Bind(Value(large)), make1.Bind(Value(0)), make1.Bind(Value(1)).With(NoCheckpoint))
		want += large + 1
		r, err := Start(within(t), n, fmt.Sprint("run/", i), size.Bind(All(parts...)))
		if got := result(t, r, err); got != want {
			t.Errorf("from node %s: %d bytes, want %d", n.ID(), got, want)
		}
	}
	// A large result is read on every node.
	r, err := Start(within(t), b.nodes[2], "large", make1.Bind(Value(large)))
	if got := result(t, r, err); len(got) != large {
		t.Errorf("the result has %d bytes", len(got))
	}
	for _, n := range b.nodes {
		r, err := Attach[[]byte](within(t), n, "large")
		if got := result(t, r, err); len(got) != large {
			t.Errorf("on node %s the result has %d bytes", n.ID(), len(got))
		}
	}
	all, err := List(within(t), b.nodes[1], "run/", "", 0)
	if err != nil || len(all) != 3 || all[2].ID != "run/2" || all[2].State != Finished {
		t.Errorf("the list is %v: %v", all, err)
	}
}

// A task that fails for good has the run go back: what has a compensation is compensated, and what has an undo is undone.
func TestFailedRunGoesBack(t *testing.T) {
	var e effects
	lock := Func1("lock", 1, func(_ Context, what string) (string, error) { e.add("lock " + what); return what, nil }).
		Undo(func(_ Context, what string) error { e.add("unlock " + what); return nil })
	pay := Func1("pay", 1, func(_ Context, what string) (string, error) { e.add("pay " + what); return what, nil }).
		Compensate(func(_ Context, _ string, what string) error { e.add("refund " + what); return nil })
	fly := Func2("fly", 1, func(_ Context, hotel, paid string) (string, error) {
		e.add("fly")
		return "", Permanent(errors.New("the flight is full"))
	}).With(NoEffect)
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(lock, pay, fly)})
	hotel := lock.Bind(Value("hotel"))
	r, err := Start(within(t), n, "trip", fly.Bind(hotel, pay.Bind(lock.Bind(Value("flight")))))
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Result(within(t))
	var failed *RunError
	if !errors.As(err, &failed) || !errors.Is(err, phalanx.ErrFailed) || !strings.Contains(failed.Why, "the flight is full") || !strings.Contains(failed.Why, "fly") {
		t.Errorf("the run has failed with %v", err)
	}
	for _, what := range []string{"lock hotel", "lock flight", "pay flight", "fly", "unlock hotel", "unlock flight", "refund flight"} {
		if e.count(what) != 1 {
			t.Errorf("%q has happened %d times, of %s", what, e.count(what), &e)
		}
	}
}

// A canceled run goes back, and says why.
func TestCancel(t *testing.T) {
	var e effects
	g := newGate()
	lock := Func0("lock", 1, func(Context) (int, error) { e.add("lock"); return 1, nil }).Undo(func(Context) error { e.add("unlock"); return nil })
	slow := Func1("slow", 1, func(c Context, _ int) (int, error) { return 1, g.pass(c, "slow") }).With(NoEffect)
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(lock, slow)})
	r, err := Start(within(t), n, "x", slow.Bind(lock.Bind()))
	if err != nil {
		t.Fatal(err)
	}
	g.await(t)
	if err := Cancel(within(t), n, "x", "nobody wants it"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Result(within(t)); !errors.Is(err, phalanx.ErrFailed) || !strings.Contains(err.Error(), "nobody wants it") {
		t.Errorf("the result of a canceled run: %v", err)
	}
	if e.String() != "lock unlock" {
		t.Errorf("what happened is %s", &e)
	}
	if err := Cancel(within(t), n, "x", "again"); !errors.Is(err, phalanx.ErrClosed) {
		t.Errorf("a run that has ended is canceled: %v", err)
	}
	if err := Forget(within(t), n, "x"); err != nil {
		t.Error(err)
	}
	if _, err := r.Result(within(t)); !errors.Is(err, phalanx.ErrDeleted) && !errors.Is(err, phalanx.ErrNotFound) {
		t.Errorf("the result of a run that was forgotten: %v", err)
	}
}

// A node that starts again over its folder goes on with its runs: what is recorded is not done again.
func TestRestartOverAFolder(t *testing.T) {
	var e effects
	g := newGate()
	first := Func0("first", 1, func(c Context) (string, error) { e.add("first " + c.Key()); return strings.Repeat("y", 1000), nil })
	second := Func1("second", 1, func(c Context, in string) (int, error) { return len(in), g.pass(c, "second") }) // it begins when the end of first is durable
	third := Func1("third", 1, func(_ Context, n int) (int, error) { e.add("third"); return n, nil })
	s := Settings{Dir: t.TempDir(), Tasks: Tasks(first, second, third)}
	b := &bedOf{t: t}
	n := b.join("a", s)
	if _, err := Start(within(t), n, "x", third.Bind(second.Bind(first.Bind()))); err != nil {
		t.Fatal(err)
	}
	g.await(t)
	leave(t, n)
	close(g.open)
	b = &bedOf{t: t}
	n = b.join("a", s)
	r, err := Attach[int](within(t), n, "x")
	if got := result(t, r, err); got != 1000 {
		t.Errorf("the result is %d", got)
	}
	if len(e.all) != 2 {
		t.Errorf("what happened is %s", &e)
	}
	// The result is there after another restart.
	leave(t, n)
	b = &bedOf{t: t}
	n = b.join("a", s)
	r, err = Attach[int](within(t), n, "x")
	if got := result(t, r, err); got != 1000 {
		t.Errorf("the result is %d", got)
	}
}

// die ends a node as a crash does.
func die(n *cluster.Node) { n.Close() }

// When a node dies its attempts are repeated elsewhere, under the same key; outputs that only it had are made again.
func TestExecutorDies(t *testing.T) {
	var e effects
	g := newGate()
	tasks := func(node string) *Registry {
		draw := Func0("draw", 1, func(c Context) (int, error) { return 1, nil }).With(NoEffect)
		big := Func1("big", 1, func(c Context, n int) ([]byte, error) {
			e.add("big")
			return []byte(strings.Repeat("z", 200_000)), nil
		}).With(NoEffect, Deterministic, NoCheckpoint)
		work := Func1("work", 1, func(c Context, b []byte) (string, error) {
			e.add("begun " + c.Key())
			if node == "b" {
				if err := g.pass(c, node); err != nil {
					return "", err
				}
			}
			e.add("done")
			return fmt.Sprint(node, len(b)), nil
		})
		return Tasks(draw, big, work)
	}
	b := &bedOf{t: t}
	a := b.join("a", Settings{Dir: t.TempDir()})
	victim := b.join("b", Settings{Tasks: tasks("b")})
	set := tasks("c")
	r, err := Start(within(t), a, "x", Named1[[]byte, string]("work", 1).Bind(Named1[int, []byte]("big", 1).Bind(Named0[int]("draw", 1).Bind())), WithTasks(set))
	if err != nil {
		t.Fatal(err)
	}
	g.await(t)
	b.join("c", Settings{Tasks: set})
	die(victim)
	if got := result(t, r, nil); got != "c200000" {
		t.Errorf("the result is %q", got)
	}
	if key := "begun " + r.UID() + "/2"; e.count(key) != 2 || e.count("done") != 1 || e.count("big") != 2 {
		t.Errorf("what happened is %s; want two of %q", &e, key)
	}
}

// A client's node whose controller dies finds the next one; here the same folder, opened again.
func TestControllersNodeStartsAgain(t *testing.T) {
	var e effects
	g := newGate()
	s := Settings{Dir: t.TempDir()}
	b := &bedOf{t: t}
	work := Func0("work", 1, func(c Context) (string, error) { e.add("work"); return "well", g.pass(c, "work") })
	a := b.join("a", s)
	b.join("other", Settings{})
	n := b.join("b", Settings{Tasks: Tasks(work)})
	r, err := Start(within(t), n, "x", work.Bind())
	if err != nil {
		t.Fatal(err)
	}
	g.await(t)
	die(a)
	close(g.open) // the attempt ends while there is no controller
	b.join("a", s)
	if got := result(t, r, nil); got != "well" || e.count("work") != 1 {
		t.Errorf("the result is %q after %s", got, &e)
	}
}
