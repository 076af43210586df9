package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
)

// All go on when the last one comes, and not before.
func TestStrict(t *testing.T) {
	nodes := start(t, 4)
	cfg := barrier.Config{Max: 40}
	for round := range 3 {
		name := fmt.Sprint("strict/", round)
		early := enter(t, within(t), nodes, name, cfg, names(39)...)
		eventually(t, "39 have entered", func() bool { s, err := barrier.List(within(t), nodes[1]); return err == nil && entered(s, name) == 39 })
		select {
		case o := <-early:
			t.Fatalf("%s goes on alone: %+v, %v", o.host, o.Passage, o.err)
		default:
		}
		if p, err := open(t, nodes[3], name, cfg).Enter(within(t), "", "last"); err != nil || p.Late {
			t.Fatalf("%+v, %v", p, err)
		}
		for range 39 {
			if o := <-early; o.err != nil || o.Late {
				t.Fatalf("%+v", o)
			}
		}
		hosts, err := open(t, nodes[2], name, cfg).Hosts(within(t))
		if err != nil || len(hosts) != 40 {
			t.Errorf("%d passed, %v", len(hosts), err)
		}
	}
}

func entered(all []barrier.Status, name string) int {
	for _, s := range all {
		if s.Name == name {
			return s.Entered
		}
	}
	return -1
}

// Who gives up is told who is absent: by name if they are known, else by the member
// on which nobody has entered.
func TestTheAbsentAreNamed(t *testing.T) {
	nodes := start(t, 3)
	for _, c := range []struct {
		cfg  barrier.Config
		want string
	}{
		{barrier.Config{Max: 3, Expect: []string{"alpha", "beta", "gamma"}}, "1 of 3 have entered; absent: beta, gamma"},
		{barrier.Config{Max: 3}, "1 of 3 have entered; absent: anybody on " + string(nodes[1].ID()) + ", anybody on " + string(nodes[2].ID())},
	} {
		b := open(t, nodes[0], fmt.Sprint("absent/", len(c.cfg.Expect)), c.cfg)
		eventually(t, c.want, func() bool { // on a busy machine there may be no answer within the deadline
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_, err := b.Enter(ctx, "", "alpha")
			is(t, err, phalanx.ErrDeadline)
			var absent *barrier.AbsentError
			return errors.As(err, &absent) && strings.Contains(err.Error(), c.want)
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*ms, cancel)
	_, err := open(t, nodes[0], "canceled", barrier.Config{Max: 2}).Enter(ctx, "", "")
	is(t, err, phalanx.ErrCanceled)
}

// A timeout fires with those who are there; a late one goes on, or is told to catch
// up; who was there gets the same answer again.
func TestTimeoutAndLate(t *testing.T) {
	nodes := start(t, 3)
	for mode, name := range map[barrier.LateMode]string{barrier.PassThrough: "through", barrier.CatchUp: "behind"} {
		cfg := barrier.Config{Max: 5, Timeout: time.Second, Late: mode}
		out := enter(t, within(t), nodes, name, cfg, "a", "b")
		for range 2 {
			if o := <-out; o.err != nil || o.Late {
				t.Errorf("%+v", o)
			}
		}
		p, err := open(t, nodes[2], name, cfg).Enter(within(t), "", "late")
		if mode == barrier.CatchUp {
			is(t, err, barrier.ErrCatchUp)
			is(t, err, phalanx.ErrAborted)
		} else if err != nil || !p.Late {
			t.Errorf("%+v, %v", p, err)
		}
		if p, err := open(t, nodes[1], name, cfg).Enter(within(t), "", "a"); err != nil || p.Late {
			t.Errorf("again: %+v, %v", p, err)
		}
	}
}

func TestPercentAndMinWait(t *testing.T) {
	nodes := start(t, 2)
	cfg := barrier.Config{Max: 10, Percent: 50, MinWait: 100 * ms}
	began := time.Now()
	out := enter(t, within(t), nodes, "percent", cfg, names(5)...)
	for range 5 {
		if o := <-out; o.err != nil {
			t.Fatal(o.err)
		}
	}
	if took := time.Since(began); took < 100*ms {
		t.Errorf("fired after %v", took)
	}
}

// However many want it, no more than its count hold a semaphore; who gives up leaves
// no trace; and whose time is over holds it no more.
func TestSemaphore(t *testing.T) {
	nodes := start(t, 3)
	cfg := barrier.Config{Semaphore: barrier.Semaphore{Count: 3, Timeout: 10 * time.Second}}
	var inside, most, passed atomic.Int32
	var all sync.WaitGroup
	for i, h := range names(15) {
		all.Go(func() {
			b := open(t, nodes[i%3], "slots", cfg)
			for range 4 {
				if _, err := b.Enter(within(t), "", h); err != nil {
					t.Error(err)
					return
				}
				n := inside.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				time.Sleep(ms)
				inside.Add(-1)
				passed.Add(1)
				if err := b.Release(within(t), "", h); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if most.Load() > 3 || passed.Load() != 60 {
		t.Errorf("%d inside at once, %d passed", most.Load(), passed.Load())
	}
	b := open(t, nodes[0], "slots", cfg)
	if _, err := b.Enter(within(t), "", "twice"); err != nil {
		t.Error(err)
	}
	_, err := b.Enter(within(t), "", "twice")
	is(t, err, barrier.ErrHeld)
	if _, err := open(t, nodes[1], "slots", cfg).Enter(within(t), "", "twice"); err != nil { // takes its place
		t.Error(err)
	}
	eventually(t, "the first one has lost it", func() bool { return errors.Is(b.Release(within(t), "", "twice"), barrier.ErrNotHeld) })
	is(t, b.Release(within(t), "", "w000"), barrier.ErrNotHeld)

	one := barrier.Config{Semaphore: barrier.Semaphore{Count: 1, Timeout: 3 * time.Second}}
	b = open(t, nodes[1], "one", one)
	if _, err := b.Enter(within(t), "", "holder"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*ms)
	_, err = b.Enter(ctx, "", "impatient")
	cancel()
	is(t, err, phalanx.ErrDeadline)
	if !strings.Contains(err.Error(), "held by holder") {
		t.Error(err)
	}
	if _, err := b.Enter(within(t), "", "next"); err != nil { // the holder's time is over, the impatient one has left the queue
		t.Fatal(err)
	}
	is(t, b.Release(within(t), "", "holder"), barrier.ErrNotHeld)
	if err := b.Release(within(t), "", "next"); err != nil {
		t.Error(err)
	}
}

// A node that leaves while it holds a semaphore frees it.
func TestAHolderThatLeaves(t *testing.T) {
	nodes := start(t, 4)
	cfg := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	n, err := cluster.Join(within(t), config("guest", nodes[0].ControlAddr()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, n, "held", cfg).Enter(within(t), "", "guest"); err != nil {
		t.Fatal(err)
	}
	next := enter(t, within(t), nodes, "held", cfg, "next")
	if err := n.Leave(within(t)); err != nil {
		t.Fatal(err)
	}
	if o := <-next; o.err != nil {
		t.Error(o.err)
	}
}

func TestThrottle(t *testing.T) {
	nodes := start(t, 2)
	cfg := barrier.Config{Max: 6, Throttle: barrier.Throttle{Count: 2, Period: 100 * ms}}
	began := time.Now()
	out := enter(t, within(t), nodes, "throttle", cfg, names(6)...)
	for range 6 {
		if o := <-out; o.err != nil {
			t.Fatal(o.err)
		}
	}
	if took := time.Since(began); took < 200*ms {
		t.Errorf("all have come after %v", took)
	}
}

// The callbacks of one node decide about entries at others.
func TestCallbacks(t *testing.T) {
	nodes := start(t, 3)
	cfg := barrier.Config{Max: 2, Ask: true, AskGap: 10 * time.Second, Timeout: time.Minute}
	var asked, fired atomic.Int32
	told := make(chan barrier.Notice, 10)
	stop, err := open(t, nodes[2], "asks", cfg).Watch(within(t), barrier.Callbacks{
		Enter: func(q barrier.Question) bool {
			if n := asked.Add(1); n == 2 && !q.Would {
				t.Errorf("%+v", q)
			}
			return q.Host == "third" // which Max would not have waited for
		},
		Told: func(n barrier.Notice) {
			fired.Add(1)
			told <- n
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	out := enter(t, within(t), nodes, "asks", cfg, "first", "second")
	eventually(t, "both are asked about", func() bool { return asked.Load() == 2 })
	select {
	case o := <-out:
		t.Fatalf("vetoed, and %+v", o)
	case <-time.After(20 * ms):
	}
	if _, err := open(t, nodes[0], "asks", cfg).Enter(within(t), "", "third"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if o := <-out; o.err != nil {
			t.Error(o.err)
		}
	}
	if n := <-told; n.What != barrier.Fired || n.N != 3 {
		t.Errorf("%+v", n)
	}
}

// A callback that panics, and one whose node has gone, have no say.
func TestACallbackThatPanics(t *testing.T) {
	nodes := start(t, 2)
	cfg := barrier.Config{Max: 2, Ask: true, AskGap: 100 * ms}
	stop, err := open(t, nodes[1], "panics", cfg).Watch(within(t), barrier.Callbacks{Enter: func(barrier.Question) bool { panic("the application's") }})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	out := enter(t, within(t), nodes, "panics", cfg, "a", "b")
	for range 2 {
		if o := <-out; o.err != nil {
			t.Error(o.err)
		}
	}
}

// asker is an application actor.
type asker struct {
	told chan any
	pid  *actor.PID
}

func (a *asker) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *barrier.Asked:
		c.Respond(&barrier.Verdict{Name: m.Name, Generation: m.Generation, Ask: m.Ask, Fire: m.Host == "b"})
	case *barrier.Entered, *barrier.Released, *barrier.Passed, *barrier.Watching, *barrier.Told:
		a.told <- m
	case *barrier.Enter, *barrier.Release, *barrier.Hosts, *barrier.Watch:
		c.Request(a.pid, m)
	}
}

// Actors enter, release, ask and are asked by messages.
func TestMessages(t *testing.T) {
	nodes := start(t, 2)
	pid, ok := nodes[1].Service(barrier.Name)
	if !ok {
		t.Fatal("no service")
	}
	a := &asker{told: make(chan any, 10), pid: pid}
	self, err := nodes[1].Spawn(actor.PropsFromProducer(func() actor.Actor { return a }), "asker")
	if err != nil {
		t.Fatal(err)
	}
	do := func(m any) any { nodes[1].System().Root.Send(self, m); return <-a.told }
	cfg := barrier.Config{Max: 5, Ask: true, AskGap: time.Minute}
	if r := do(&barrier.Watch{Name: "messages", Config: cfg}).(*barrier.Watching); r.Err != nil {
		t.Fatal(r.Err)
	}
	nodes[1].System().Root.Send(self, &barrier.Enter{Name: "messages", Config: cfg, Host: "a"})
	out := enter(t, within(t), nodes, "messages", cfg, "b")
	if o := <-out; o.err != nil {
		t.Error(o.err)
	}
	for range 2 {
		switch m := (<-a.told).(type) {
		case *barrier.Entered:
			if m.Err != nil || m.Late {
				t.Errorf("%+v", m)
			}
		case *barrier.Told:
			if m.What != barrier.Fired || m.N != 2 || m.Name != "messages" {
				t.Errorf("%+v", m)
			}
		default:
			t.Errorf("%T%+v", m, m)
		}
	}
	if p := do(&barrier.Hosts{Name: "messages"}).(*barrier.Passed); p.Err != nil || len(p.Hosts) != 2 {
		t.Errorf("%+v", p)
	}
	if p := do(&barrier.Hosts{Name: "never"}).(*barrier.Passed); !errors.Is(p.Err, phalanx.ErrNotFound) {
		t.Errorf("%+v", p)
	}
	slot := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	if e := do(&barrier.Enter{Name: "slot", Config: slot, Label: "task"}).(*barrier.Entered); e.Err != nil {
		t.Error(e.Err)
	}
	if e := do(&barrier.Enter{Name: "slot", Config: slot, Host: "other", Deadline: 50 * ms}).(*barrier.Entered); !errors.Is(e.Err, phalanx.ErrDeadline) {
		t.Error(e.Err)
	}
	if r := do(&barrier.Release{Name: "slot", Config: slot, Label: "task"}).(*barrier.Released); r.Err != nil {
		t.Error(r.Err)
	}
	if e := do(&barrier.Enter{Name: "", Config: slot}).(*barrier.Entered); !errors.Is(e.Err, phalanx.ErrInvalid) {
		t.Error(e.Err)
	}
	if e := do(&barrier.Enter{Name: "x", Config: barrier.Config{Max: 1, Percent: 101}}).(*barrier.Entered); !errors.Is(e.Err, phalanx.ErrInvalid) {
		t.Error(e.Err)
	}
}

// What cannot be is refused by the name of the field, and nothing is made.
func TestBadInput(t *testing.T) {
	nodes := start(t, 2)
	var field *barrier.FieldError
	for want, cfg := range map[string]barrier.Config{"Percent": {Max: 1, Percent: 101}, "Max": {}, "Throttle": {Max: 1, Throttle: barrier.Throttle{Percent: 1, Count: 1, Period: 1}}} {
		_, err := barrier.Open(nodes[0], "bad", cfg)
		is(t, err, phalanx.ErrInvalid)
		if !errors.As(err, &field) || field.Field != want {
			t.Errorf("%s: %v", want, err)
		}
	}
	_, err := barrier.Open(nodes[0], "", barrier.Config{Max: 1})
	is(t, err, phalanx.ErrInvalid)
	b := open(t, nodes[0], "bad", barrier.Config{Max: 1})
	_, err = b.Enter(within(t), strings.Repeat("x", 257), "")
	if !errors.As(err, &field) || field.Field != "Label" {
		t.Error(err)
	}
	_, err = b.Hosts(within(t))
	is(t, err, phalanx.ErrNotFound)
	if all, err := barrier.List(within(t), nodes[0]); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	first := open(t, nodes[0], "two", barrier.Config{Max: 2})
	first.EnterFunc(within(t), "", "a", func(barrier.Passage, error) {})
	eventually(t, "a has entered", func() bool { s, err := barrier.List(within(t), nodes[1]); return err == nil && entered(s, "two") == 1 })
	_, err = open(t, nodes[1], "two", barrier.Config{Max: 3}).Enter(within(t), "", "b")
	is(t, err, phalanx.ErrMismatch)
	var mismatch *barrier.MismatchError
	if !errors.As(err, &mismatch) || mismatch.Field != "Max" || errors.Is(err, phalanx.ErrInvalid) {
		t.Error(err)
	}
	_, err = open(t, nodes[1], "expected", barrier.Config{Max: 1, Expect: []string{"alpha"}}).Enter(within(t), "", "beta")
	if !errors.As(err, &field) || field.Field != "Host" {
		t.Error(err)
	}
	_, err = b.Watch(within(t), barrier.Callbacks{Enter: func(barrier.Question) bool { return true }})
	if !errors.As(err, &field) || field.Field != "Ask" {
		t.Error(err)
	}
	if _, err := first.Enter(within(t), "", "b"); err != nil {
		t.Error(err)
	}
	plain, err := cluster.Join(within(t), cluster.Config{Name: "plain"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = plain.Leave(context.Background()) }()
	_, err = barrier.Open(plain, "none", barrier.Config{Max: 1})
	is(t, err, phalanx.ErrInvalid)
}

// Generations are barriers of their own, and old ones are forgotten.
func TestGenerations(t *testing.T) {
	nodes := start(t, 3)
	cfg := barrier.Config{Max: 3}
	for g := range uint64(20) {
		var all sync.WaitGroup
		for _, n := range nodes {
			all.Go(func() {
				if p, err := open(t, n, "loop", cfg, barrier.WithGeneration(g)).Enter(within(t), "", ""); err != nil || p.Late {
					t.Errorf("%+v, %v", p, err)
				}
			})
		}
		all.Wait()
	}
	if all, err := barrier.List(within(t), nodes[0]); err != nil || len(all) > 3 {
		t.Errorf("%d are left, %v", len(all), err)
	}
}

// The actor of a manager panics while a barrier is open: it is restarted, and knows
// what the other managers know; nobody waits in vain.
func TestAManagerThatPanics(t *testing.T) {
	nodes := start(t, 3)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	events := nodes[0].Events(ctx)
	cfg := barrier.Config{Max: 4}
	out := enter(t, within(t), nodes, "panic", cfg, "a", "b", "c")
	var managers []phalanx.NodeID
	eventually(t, "three have entered", func() bool {
		s, err := barrier.List(within(t), nodes[0])
		if err != nil || entered(s, "panic") != 3 {
			return false
		}
		managers = s[0].Managers
		return true
	})
	for _, id := range managers { // each once, the primary among them
		for _, n := range nodes {
			if n.ID() == id {
				pid, _ := n.Service(barrier.Name)
				n.System().Root.Send(pid, actors.Crash{})
				eventually(t, "it is there again", func() bool {
					s, err := barrier.List(within(t), nodes[0])
					return err == nil && entered(s, "panic") == 3
				})
			}
		}
	}
	if _, err := open(t, nodes[1], "panic", cfg).Enter(within(t), "", "d"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if o := <-out; o.err != nil {
			t.Error(o.err)
		}
	}
	for e := range events {
		if _, ok := e.(actors.ActorRestarted); ok {
			break
		}
	}
}

// The actors of holders and managers panic while a semaphore is held: it is held by
// the same ones after that, and what is released comes to the next.
func TestASemaphoreWhoseActorsPanic(t *testing.T) {
	nodes := start(t, 3)
	cfg := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	b := open(t, nodes[0], "panics", cfg)
	if _, err := b.Enter(within(t), "", "holder"); err != nil {
		t.Fatal(err)
	}
	next := enter(t, within(t), nodes[1:], "panics", cfg, "next")
	for _, n := range nodes {
		pid, _ := n.Service(barrier.Name)
		n.System().Root.Send(pid, actors.Crash{})
	}
	select {
	case o := <-next:
		t.Fatalf("two hold it: %+v", o)
	case <-time.After(300 * ms):
	}
	if err := b.Release(within(t), "", "holder"); err != nil {
		t.Error(err)
	}
	if o := <-next; o.err != nil {
		t.Error(o.err)
	}
}
