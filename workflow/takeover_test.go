package workflow

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
)

// three returns a cluster whose ledger is on three disks; the first node leads it.
func three(t testing.TB, tasks *Registry) (b *bedOf, dirs []string) {
	t.Helper()
	b = &bedOf{t: t}
	var events <-chan actors.Event
	for i := range 3 {
		dirs = append(dirs, t.TempDir())
		n := b.join(fmt.Sprint("n", i), Settings{Dir: dirs[i], Tasks: tasks})
		if i == 0 {
			events = n.Events(t.Context())
		}
	}
	for {
		select {
		case e := <-events:
			if r, is := e.(actors.ReplicaReplaced); is && len(r.Now) == 3 {
				return b, dirs
			}
		case <-time.After(time.Minute):
			t.Fatal("the ledger is not on three disks")
		}
	}
}

// When the controller's node dies the next controller goes on with all runs: what is recorded is not done again, and attempts on other
// nodes are adopted.
func TestControllersNodeDies(t *testing.T) {
	var e effects
	g := newGate()
	one := Func1("one", 1, func(c Context, k int) (int, error) { e.add(fmt.Sprint("one ", k)); return k, nil })
	two := Func1("two", 1, func(c Context, k int) (int, error) {
		e.add(fmt.Sprint("two ", k))
		return k, g.pass(c, fmt.Sprint(k))
	})
	large := Func1("large", 1, func(_ Context, k int) (string, error) {
		return strings.Repeat(fmt.Sprint(k%10), 100_000), nil
	}).With(NoEffect)
	b, _ := three(t, Tasks(one, large)) // the gates are on a node that lives on
	client := b.join("client", Settings{Tasks: Tasks(two)})
	const k = 4
	var runs []Run[string]
	for i := range k {
		r, err := Start(within(t), client, fmt.Sprint("run/", i), large.Bind(two.Bind(one.Bind(Value(i)))))
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	for range k {
		g.await(t)
	}
	die(b.nodes[0])
	close(g.open)
	for i, r := range runs {
		if got := result(t, r, nil); got != strings.Repeat(fmt.Sprint(i), 100_000) {
			t.Errorf("run %d gives %d bytes", i, len(got))
		}
		for _, what := range []string{"one", "two"} {
			if n := e.count(fmt.Sprint(what, " ", i)); n != 1 {
				t.Errorf("%s of run %d has begun %d times", what, i, n)
			}
		}
	}
	if r, err := Start(within(t), client, "after", large.Bind(two.Bind(one.Bind(Value(9))))); err != nil || len(result(t, r, nil)) != 100_000 {
		t.Error(err)
	}
}

// All nodes are killed and start again over their folders, in another order: results are there, and what was under way goes on.
func TestAllNodesStartAgain(t *testing.T) {
	var e effects
	g := newGate()
	one := Func1("one", 1, func(_ Context, s string) (string, error) { e.add("one"); return s + "!", nil })
	two := Func1("two", 1, func(c Context, s string) (string, error) { return s + "?", g.pass(c, "two") }) // it begins when the end of one is durable
	big := Func0("big", 1, func(Context) (string, error) { return strings.Repeat("b", 200_000), nil }).With(NoEffect)
	tasks := Tasks(one, two, big)
	b, dirs := three(t, tasks)
	r, err := Start(within(t), b.nodes[1], "big", big.Bind())
	result(t, r, err)
	if _, err := Start(within(t), b.nodes[2], "x", one.Bind(two.Bind(one.Bind(Value("a"))))); err != nil {
		t.Fatal(err)
	}
	g.await(t)
	all := startAgain(t, b, dirs, tasks, func() { close(g.open) })
	x, err := Attach[string](within(t), all[0], "x")
	if got := result(t, x, err); got != "a!?!" || e.count("one") != 2 {
		t.Errorf("the result is %q after %s", got, &e)
	}
	r, err = Attach[string](within(t), all[1], "big")
	if got := result(t, r, err); got != strings.Repeat("b", 200_000) {
		t.Errorf("the result has %d bytes", len(got))
	}
}

// startAgain kills all nodes of a cluster and starts them again over their folders, in another order.
func startAgain(t *testing.T, b *bedOf, dirs []string, tasks *Registry, meanwhile func()) []*cluster.Node {
	t.Helper()
	again := &bedOf{t: t, ports: map[string]int{}}
	for i, n := range b.nodes {
		_, port, _ := strings.Cut(n.ControlAddr(), ":")
		again.ports[fmt.Sprint("n", i)], _ = strconv.Atoi(port)
		die(n)
	}
	meanwhile()
	type joined struct {
		n   *cluster.Node
		err error
	}
	nodes := make(chan joined, 3)
	for _, i := range []int{2, 1, 0} { // together: one alone waits for another one
		go func() {
			n, err := again.start(fmt.Sprint("n", i), nil, Settings{Dir: dirs[i], Tasks: tasks})
			nodes <- joined{n, err}
		}()
	}
	var all []*cluster.Node
	var failed error
	for range 3 {
		j := <-nodes
		failed = errors.Join(failed, j.err)
		if j.n != nil {
			all = append(all, j.n)
			t.Cleanup(func() { leave(t, j.n) })
		}
	}
	if failed != nil {
		t.Fatal(failed)
	}
	if slices.ContainsFunc(all, func(n *cluster.Node) bool { return n.View().Cluster != all[0].View().Cluster }) {
		t.Fatal("there are two clusters")
	}
	return all
}

// A panic of the controller's actor ends its tenure, and the next controller goes on; one of the service's actor leaves attempts
// and calls as they are.
func TestPanics(t *testing.T) {
	var e effects
	g := newGate()
	one := Func0("one", 1, func(c Context) (int, error) { e.add("one"); return 1, g.pass(c, "one") })
	two := Func1("two", 1, func(_ Context, n int) (int, error) { e.add("two"); return n + 1, nil })
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(one, two)})
	events := n.Events(t.Context())
	r, err := Start(within(t), n, "x", two.Bind(one.Bind()))
	if err != nil {
		t.Fatal(err)
	}
	g.await(t)
	service, _ := n.Service(Name)
	controller := actor.NewPID(service.Address, fmt.Sprintf("%s-%d", Name, r.uid.Epoch))
	n.System().Root.Send(controller, actors.Crash{})
	stopped(t, events, controller.Id)
	keeper := ""
	happens(t, events, func(e actors.Event) bool {
		if r, is := e.(actors.ActorRestarted); is {
			keeper = r.Actor
		}
		f, is := e.(actors.ControllerFailed)
		return is && f.Epoch == r.uid.Epoch && f.Pause == 500*time.Millisecond
	})
	happens(t, events, func(e actors.Event) bool {
		if r, is := e.(actors.ActorRestarted); is {
			keeper = r.Actor
		}
		o, is := e.(actors.ControllerTookOver)
		return is && o.Epoch > r.uid.Epoch && o.Runs == 1
	})
	if keeper != "" {
		t.Errorf("%s was restarted for a panic of the controller", keeper)
	}
	n.System().Root.Send(service, actors.Crash{})
	close(g.open)
	if got := result(t, r, nil); got != 2 || e.String() != "one two" {
		t.Errorf("the result is %d after %s", got, &e)
	}
	again, err := Start(within(t), n, "y", two.Bind(one.Bind()))
	if result(t, again, err); again.uid.Epoch <= r.uid.Epoch {
		t.Errorf("the run of the next controller has the epoch %d after %d", again.uid.Epoch, r.uid.Epoch)
	}
}

// stopped waits until an actor was stopped by a panic.
func stopped(t *testing.T, events <-chan actors.Event, id string) {
	t.Helper()
	happens(t, events, func(e actors.Event) bool {
		s, is := e.(actors.ActorStopped)
		return is && strings.Contains(s.Actor, id)
	})
}

// happens waits for an event.
func happens(t *testing.T, events <-chan actors.Event, want func(actors.Event) bool) {
	t.Helper()
	for {
		select {
		case e := <-events:
			if want(e) {
				return
			}
		case <-time.After(20 * time.Second):
			t.Fatal("what was to happen has not, within 20 s")
		}
	}
}
