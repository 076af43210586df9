package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/barrier/message"
	"github.com/phalanx-go/phalanx/cluster"
)

func join(t testing.TB, n *cluster.Node, name string, opts ...barrier.Option) *barrier.Barrier {
	t.Helper()
	b, err := barrier.Join(n, name, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// joining has hosts join and enter at all nodes in turn.
func joining(t testing.TB, ctx context.Context, nodes []*cluster.Node, name string, hosts ...string) <-chan outcome {
	t.Helper()
	out := make(chan outcome, len(hosts))
	for i, h := range hosts {
		join(t, nodes[i%len(nodes)], name).EnterFunc(ctx, barrier.Entry{Host: h}, func(p barrier.Passage, err error) { out <- outcome{h, p, err} })
	}
	return out
}

func passed(t testing.TB, out <-chan outcome, n int) {
	t.Helper()
	for range n {
		if o := <-out; o.err != nil || o.Late {
			t.Errorf("%s: %+v, %v", o.host, o.Passage, o.err)
		}
	}
}

// field checks that a call failed since a field cannot be so.
func field(t testing.TB, err error, name string) {
	t.Helper()
	var f *barrier.FieldError
	if is(t, err, phalanx.ErrInvalid); !errors.As(err, &f) || f.Field != name {
		t.Errorf("%v is not about %s", err, name)
	}
}

// briefly is for calls that wait in vain.
func briefly(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 50*ms)
	t.Cleanup(cancel)
	return ctx
}

// Those who join wait for one who opens, and for the others, wherever they are.
func TestJoinBeforeOpen(t *testing.T) {
	nodes := start(t, 3)
	_, err := join(t, nodes[1], "before").Config(briefly(t))
	is(t, err, barrier.ErrNotOpened)
	out := joining(t, within(t), nodes, "before", names(5)...)
	cfg := barrier.Config{Max: 6, Expect: append(names(5), "opener"), Late: barrier.CatchUp}
	if p, err := open(t, nodes[2], "before", cfg).Enter(within(t), barrier.Entry{Host: "opener"}); err != nil || p.Late {
		t.Fatalf("%+v, %v", p, err)
	}
	passed(t, out, 5)
	late := join(t, nodes[0], "before")
	_, err = late.Enter(within(t), barrier.Entry{Host: "w000"})
	if err != nil { // it has passed
		t.Error(err)
	}
	if got, err := late.Config(within(t)); err != nil || !same(got, cfg) {
		t.Errorf("%+v, %v", got, err)
	}
	if hosts, err := join(t, nodes[1], "before").Hosts(within(t)); err != nil || len(hosts) != 6 {
		t.Errorf("%v, %v", hosts, err)
	}
}

func same(a, b barrier.Config) bool { _, same := a.Equal(b); return same }

// Those who join what others have opened wait for those who are absent, and their errors name
// them.
func TestJoinAfterOpen(t *testing.T) {
	nodes := start(t, 3)
	cfg := barrier.Config{Max: 3, Expect: []string{"a", "b", "c"}}
	opened := enter(t, within(t), nodes, "after", cfg, "a")
	got, err := join(t, nodes[1], "after").Config(within(t))
	if err != nil || !same(got, cfg) {
		t.Fatalf("%+v, %v", got, err)
	}
	soon, cancel := context.WithCancel(within(t))
	given := joining(t, soon, nodes[1:], "after", "b")
	eventually(t, "two have entered", func() bool {
		all, err := barrier.List(within(t), nodes[0])
		return err == nil && entered(all, "after") == 2
	})
	cancel()
	o := <-given
	is(t, o.err, phalanx.ErrCanceled)
	if errors.Is(o.err, barrier.ErrNotOpened) {
		t.Error(o.err)
	}
	passed(t, joining(t, within(t), nodes, "after", "b", "c"), 2)
	passed(t, opened, 1)
}

// One who joins what has fired is late, by the rules of the barrier.
func TestJoinAfterItHasFired(t *testing.T) {
	nodes := start(t, 3)
	for _, late := range []barrier.LateMode{barrier.PassThrough, barrier.CatchUp} {
		name := fmt.Sprint("fired/", late)
		passed(t, enter(t, within(t), nodes, name, barrier.Config{Max: 1, Late: late}, "a"), 1)
		p, err := join(t, nodes[1], name).Enter(within(t), barrier.Entry{Host: "b"})
		if !p.Late {
			t.Errorf("%+v", p)
		}
		if late == barrier.CatchUp {
			is(t, err, barrier.ErrCatchUp)
		} else if err != nil {
			t.Error(err)
		}
	}
}

// A context ends before anybody has given a Config: nobody has entered.
func TestJoinInVain(t *testing.T) {
	nodes := start(t, 2)
	b := join(t, nodes[0], "vain")
	_, err := b.Enter(briefly(t), barrier.Entry{Host: "a"})
	is(t, err, barrier.ErrNotOpened)
	is(t, err, phalanx.ErrDeadline)
	_, err = b.Acquire(briefly(t), barrier.Entry{Host: "a"})
	is(t, err, barrier.ErrNotOpened)
	_, err = b.Watch(briefly(t), barrier.Callbacks{})
	is(t, err, barrier.ErrNotOpened)
	ctx, cancel := context.WithCancel(context.Background())
	out := joining(t, ctx, nodes, "vain", "a")
	cancel()
	o := <-out
	is(t, o.err, phalanx.ErrCanceled)
	is(t, b.Release(within(t), barrier.Entry{Host: "a"}), barrier.ErrNotHeld)
	_, err = b.Hosts(within(t))
	is(t, err, phalanx.ErrNotFound)
	if all, err := b.Holders(within(t)); err != nil || len(all) > 0 {
		t.Errorf("%v, %v", all, err)
	}
	if all, err := barrier.List(within(t), nodes[0]); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := barrier.Join(nodes[0], ""); !errors.Is(err, phalanx.ErrInvalid) {
		t.Error(err)
	}
}

// What the Config forbids is refused once it is known.
func TestJoinAgainstTheConfig(t *testing.T) {
	nodes := start(t, 2)
	first := enter(t, within(t), nodes, "known", barrier.Config{Max: 2, Expect: []string{"a", "b"}}, "a")
	_, err := join(t, nodes[1], "known").Enter(within(t), barrier.Entry{Host: "c"})
	field(t, err, "Host")
	_, err = join(t, nodes[1], "known").Acquire(within(t), barrier.Entry{Host: "b"})
	field(t, err, "Semaphore")
	_, err = join(t, nodes[1], "known").Watch(within(t), barrier.Callbacks{Enter: func(barrier.Question) bool { return true }})
	field(t, err, "Callback")
	_, err = join(t, nodes[1], "known").Watch(within(t), barrier.Callbacks{Release: func(barrier.Entry, int) int { return 1 }})
	field(t, err, "Semaphore.Callback")
	b := join(t, nodes[1], "known")
	if _, err := b.Enter(within(t), barrier.Entry{Host: "b"}); err != nil {
		t.Fatal(err)
	}
	field(t, b.Release(within(t), barrier.Entry{Host: "b"}), "Semaphore")
	passed(t, first, 1)
}

// A semaphore is joined like one that was opened: its holders are counted, wherever they are.
func TestJoinASemaphore(t *testing.T) {
	nodes := start(t, 3)
	holder, err := open(t, nodes[0], "slot", one).Acquire(within(t), barrier.Entry{Host: "a"})
	if err != nil {
		t.Fatal(err)
	}
	b := join(t, nodes[1], "slot")
	_, err = b.Enter(briefly(t), barrier.Entry{Host: "b"})
	is(t, err, phalanx.ErrDeadline)
	if all, err := join(t, nodes[2], "slot").Holders(within(t)); err != nil || len(all) != 1 || all[0].Host != "a" {
		t.Errorf("%v, %v", all, err)
	}
	if err := holder.Release(within(t)); err != nil {
		t.Fatal(err)
	}
	for i, n := range nodes { // nobody holds it in between
		h, err := join(t, n, "slot").Acquire(within(t), barrier.Entry{Host: fmt.Sprint("h", i)})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Release(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Enter(within(t), barrier.Entry{Host: "b"}); err != nil {
		t.Fatal(err)
	}
	if err := join(t, nodes[1], "slot").Release(within(t), barrier.Entry{Host: "b"}); err != nil { // at the node that it entered at
		t.Fatal(err)
	}
	is(t, b.Release(within(t), barrier.Entry{Host: "b"}), barrier.ErrNotHeld)
}

// Callbacks are where somebody joins to watch, and one who watches gives the Config to those
// who join.
func TestJoinWithCallbacks(t *testing.T) {
	nodes := start(t, 3)
	cfg := barrier.Config{Max: 5, Callback: true, CallbackTimeout: time.Minute}
	asked := make(chan string, 10)
	callbacks := func(name string) barrier.Callbacks {
		return barrier.Callbacks{Enter: func(q barrier.Question) bool { asked <- name; return q.Entry.Host == "b" }}
	}
	stop, err := open(t, nodes[0], "watched", cfg).Watch(within(t), callbacks("opener"))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	out := joining(t, within(t), nodes, "watched", "a")
	if by := <-asked; by != "opener" {
		t.Error(by)
	}
	other, err := join(t, nodes[1], "watched").Watch(within(t), callbacks("joiner"))
	if err != nil {
		t.Fatal(err)
	}
	defer other()
	passed(t, joining(t, within(t), nodes[2:], "watched", "b"), 1)
	passed(t, out, 1)
	if by := <-asked; by != "joiner" {
		t.Error(by)
	}
}

// A barrier ends, and others open another one by its name: those who have joined go by the new
// Config.
func TestJoinWhatIsOpenedAnew(t *testing.T) {
	nodes := start(t, 3)
	ctx, cancel := context.WithCancel(within(t))
	old := enter(t, ctx, nodes, "anew", barrier.Config{Max: 2}, "a")
	b := join(t, nodes[1], "anew")
	if cfg, err := b.Config(within(t)); err != nil || cfg.Max != 2 {
		t.Fatalf("%+v, %v", cfg, err)
	}
	cancel()
	if o := <-old; !errors.Is(o.err, phalanx.ErrCanceled) {
		t.Fatal(o.err)
	}
	out := enter(t, within(t), nodes, "anew", barrier.Config{Max: 3}, "a", "b")
	eventually(t, "two have entered", func() bool {
		all, err := barrier.List(within(t), nodes[0])
		return err == nil && entered(all, "anew") == 2
	})
	if _, err := b.Enter(within(t), barrier.Entry{Host: "c"}); err != nil {
		t.Fatal(err)
	}
	passed(t, out, 2)
	if cfg, err := b.Config(within(t)); err != nil || cfg.Max != 3 {
		t.Errorf("%+v, %v", cfg, err)
	}
}

// A thousand join one barrier on one node.
func TestAThousandJoin(t *testing.T) {
	nodes := start(t, 3)
	out := joining(t, within(t), nodes[1:2], "thousand", names(1000)...)
	if _, err := open(t, nodes[0], "thousand", barrier.Config{Max: 1001}).Enter(within(t), barrier.Entry{Host: "opener"}); err != nil {
		t.Fatal(err)
	}
	passed(t, out, 1000)
}

// Actors join by messages without a Config.
func TestMessagesThatJoin(t *testing.T) {
	nodes := start(t, 2)
	pid, _ := nodes[1].Service(barrier.Name)
	a := &asker{told: make(chan any, 10), pid: pid}
	self, err := nodes[1].Spawn(actor.PropsFromProducer(func() actor.Actor { return a }), "asker")
	if err != nil {
		t.Fatal(err)
	}
	send := func(m any) { nodes[1].System().Root.Send(self, m) }
	do := func(m any) any { send(m); return <-a.told }
	vain := do(&message.Enter{Name: "messages", Entry: barrier.Entry{Host: "a"}, Deadline: 50 * ms}).(*message.Entered)
	is(t, vain.Err, barrier.ErrNotOpened)
	is(t, vain.Err, phalanx.ErrDeadline)

	send(&message.Watch{Name: "messages"})
	send(&message.Enter{Name: "messages", Entry: barrier.Entry{Host: "b"}})
	cfg := barrier.Config{Max: 5, Callback: true, CallbackTimeout: time.Minute}
	if p, err := open(t, nodes[0], "messages", cfg).Enter(within(t), barrier.Entry{Host: "b"}); err != nil || p.Late {
		t.Fatalf("%+v, %v", p, err)
	}
	seen := map[string]bool{}
	for range 3 {
		m := <-a.told
		seen[fmt.Sprintf("%T", m)] = true
		switch m := m.(type) {
		case *message.Watching:
			if m.Err != nil {
				t.Error(m.Err)
			}
		case *message.Entered:
			if m.Err != nil || m.Late {
				t.Errorf("%+v", m)
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("%v", seen)
	}

	h, err := open(t, nodes[0], "slot", one).Acquire(within(t), barrier.Entry{Host: "opener"})
	if err != nil {
		t.Fatal(err)
	}
	send(&message.Enter{Name: "slot", Entry: barrier.Entry{Host: "a"}})
	if err := h.Release(within(t)); err != nil {
		t.Fatal(err)
	}
	if e := (<-a.told).(*message.Entered); e.Err != nil {
		t.Error(e.Err)
	}
	if all, err := join(t, nodes[0], "slot").Holders(within(t)); err != nil || !slices.Equal(all, []barrier.Entry{{Host: "a"}}) {
		t.Errorf("%v, %v", all, err)
	}
	if r := do(&message.Release{Name: "slot", Entry: barrier.Entry{Host: "a"}}).(*message.Released); r.Err != nil {
		t.Error(r.Err)
	}
	is(t, do(&message.Release{Name: "slot", Entry: barrier.Entry{Host: "a"}}).(*message.Released).Err, barrier.ErrNotHeld)
	is(t, do(&message.Enter{Name: "x", Config: barrier.Config{Late: barrier.CatchUp}}).(*message.Entered).Err, phalanx.ErrInvalid)
}

// The actor of the node panics while one waits for a Config there: it is asked for again.
func TestJoinWhereTheActorPanics(t *testing.T) {
	nodes := start(t, 3)
	a := &asker{told: make(chan any, 10)}
	for i, n := range nodes {
		self, err := n.Spawn(actor.PropsFromProducer(func() actor.Actor { return a }), "asker")
		if err != nil {
			t.Fatal(err)
		}
		pid, _ := n.Service(barrier.Name)
		root := n.System().Root // what it sends arrives in this order
		root.RequestWithCustomSender(pid, &message.Enter{Name: "panic", Entry: barrier.Entry{Host: fmt.Sprint("h", i)}, Deadline: 20 * time.Second}, self)
		root.Send(pid, actors.Crash{})
	}
	passed(t, enter(t, within(t), nodes, "panic", barrier.Config{Max: 4}, "opener"), 1)
	for range nodes {
		if e := (<-a.told).(*message.Entered); e.Err != nil || e.Late {
			t.Errorf("%+v", e)
		}
	}
}

// The primary is killed (SIGKILL) while others wait for a Config: the next one tells them.
func TestAKilledManagerOfThoseWhoJoin(t *testing.T) {
	all := launch(t, 5)
	n := observer(t, all)
	name := managedByAProcess(t, n, all, "joined")
	cfg := barrier.Config{Max: 9}
	primary := primaryOf(t, n, all, name, cfg)
	others := slices.DeleteFunc(slices.Clone(all), func(p *process) bool { return p == primary })
	for i, p := range others {
		p.Tell(t, order{Name: name, Join: true, Hosts: []string{fmt.Sprint("a", i), fmt.Sprint("b", i)}})
	}
	eventually(t, "all have asked it", func() bool {
		letters, err := barrier.Letters(within(t), n, primary.ID)
		return err == nil && letters >= uint64(len(others))
	})
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, n, name, cfg).Enter(within(t), barrier.Entry{Host: "opener"}); err != nil {
		t.Fatal(err)
	}
	for _, p := range others {
		if r := p.Await(t); r.Err != "" || r.Late > 0 || len(r.Passed) != 2 {
			t.Errorf("%s: %+v", p.ID, r)
		}
	}
}
