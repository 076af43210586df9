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
}

// join adds a node, which leaves when the test ends.
func (b *bedOf) join(name string, s Settings) *cluster.Node {
	b.t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	if testing.Verbose() {
		log.SetOutput(b.t.Output())
		s.Log = log
	}
	cfg := cluster.Config{Name: name, Logger: log, Memory: 256 << 20, Services: []cluster.Service{s.Service()}}
	if len(b.nodes) > 0 {
		cfg.Seeds = []string{b.nodes[0].ControlAddr()}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n, err := cluster.Join(ctx, cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.nodes = append(b.nodes, n)
	b.t.Cleanup(func() { leave(b.t, n) })
	return n
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
