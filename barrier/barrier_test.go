package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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
		if p, err := open(t, nodes[3], name, cfg).Enter(within(t), barrier.Entry{Host: "last"}); err != nil || p.Late {
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

// waiting returns the nodes on which somebody waits at a barrier, sorted.
func waiting(all []barrier.Status, name string) (ids []phalanx.NodeID) {
	for _, s := range all {
		for _, e := range s.Entries {
			if s.Name == name && e.State == "waiting" {
				ids = append(ids, e.Nodes...)
			}
		}
	}
	slices.Sort(ids)
	return ids
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
			_, err := b.Enter(ctx, barrier.Entry{Host: "alpha"})
			is(t, err, phalanx.ErrDeadline)
			var absent *barrier.AbsentError
			return errors.As(err, &absent) && strings.Contains(err.Error(), c.want)
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*ms, cancel)
	_, err := open(t, nodes[0], "canceled", barrier.Config{Max: 2}).Enter(ctx, barrier.Entry{})
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
		p, err := open(t, nodes[2], name, cfg).Enter(within(t), barrier.Entry{Host: "late"})
		if mode == barrier.CatchUp {
			is(t, err, barrier.ErrCatchUp)
			is(t, err, phalanx.ErrAborted)
		} else if err != nil || !p.Late {
			t.Errorf("%+v, %v", p, err)
		}
		if p, err := open(t, nodes[1], name, cfg).Enter(within(t), barrier.Entry{Host: "a"}); err != nil || p.Late {
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
	_, err = b.Enter(within(t), barrier.Entry{Label: strings.Repeat("x", 257)})
	if !errors.As(err, &field) || field.Field != "Label" {
		t.Error(err)
	}
	_, err = b.Hosts(within(t))
	is(t, err, phalanx.ErrNotFound)
	if all, err := barrier.List(within(t), nodes[0]); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	first := open(t, nodes[0], "two", barrier.Config{Max: 2})
	first.EnterFunc(within(t), barrier.Entry{Host: "a"}, func(barrier.Passage, error) {})
	eventually(t, "a has entered", func() bool { s, err := barrier.List(within(t), nodes[1]); return err == nil && entered(s, "two") == 1 })
	_, err = open(t, nodes[1], "two", barrier.Config{Max: 3}).Enter(within(t), barrier.Entry{Host: "b"})
	is(t, err, phalanx.ErrMismatch)
	var mismatch *barrier.MismatchError
	if !errors.As(err, &mismatch) || mismatch.Field != "Max" || errors.Is(err, phalanx.ErrInvalid) {
		t.Error(err)
	}
	_, err = open(t, nodes[1], "expected", barrier.Config{Max: 1, Expect: []string{"alpha"}}).Enter(within(t), barrier.Entry{Host: "beta"})
	if !errors.As(err, &field) || field.Field != "Host" {
		t.Error(err)
	}
	_, err = b.Watch(within(t), barrier.Callbacks{Enter: func(barrier.Question) bool { return true }})
	if !errors.As(err, &field) || field.Field != "Callback" {
		t.Error(err)
	}
	if _, err := first.Enter(within(t), barrier.Entry{Host: "b"}); err != nil {
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
				if p, err := open(t, n, "loop", cfg, barrier.WithGeneration(g)).Enter(within(t), barrier.Entry{}); err != nil || p.Late {
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
	if _, err := open(t, nodes[1], "panic", cfg).Enter(within(t), barrier.Entry{Host: "d"}); err != nil {
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

// A node that dies after it has entered, and is started again, counts once.
func TestANodeThatStartsAgainCountsOnce(t *testing.T) {
	nodes := start(t, 3)
	cfg := barrier.Config{Max: 4}
	last := func() *cluster.Node {
		c := config("last", nodes[0].ControlAddr())
		n, err := cluster.Join(within(t), c)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	first := last()
	out := make(chan outcome, 4)
	enter := func(n *cluster.Node) {
		open(t, n, "restarted", cfg).EnterFunc(within(t), barrier.Entry{}, func(p barrier.Passage, err error) { out <- outcome{string(n.ID()), p, err} })
	}
	is := func(k int) {
		t.Helper()
		eventually(t, fmt.Sprint(k, " have entered"), func() bool {
			s, err := barrier.List(within(t), nodes[1])
			return err == nil && entered(s, "restarted") == k
		})
	}
	enter(nodes[0])
	enter(first)
	is(2)
	first.Close()
	if o := <-out; o.err == nil {
		t.Fatalf("%+v", o)
	}
	again := last()
	t.Cleanup(func() { _ = again.Leave(context.Background()) })
	enter(again)
	enter(nodes[1])
	eventually(t, "the three live nodes have entered", func() bool {
		s, err := barrier.List(within(t), nodes[1])
		return len(out) > 0 || err == nil && slices.Equal(waiting(s, "restarted"), []phalanx.NodeID{again.ID(), nodes[0].ID(), nodes[1].ID()})
	})
	select {
	case o := <-out:
		t.Fatalf("three nodes pass a barrier of four: %+v", o)
	default:
	}
	enter(nodes[2])
	for range 4 {
		if o := <-out; o.err != nil || o.Late {
			t.Errorf("%+v", o)
		}
	}
}

// A caller whose context ends has not entered: a strict barrier of three goes on waiting, and can be
// entered with another Config once nobody waits.
func TestWhoGivesUpHasNotEntered(t *testing.T) {
	nodes := start(t, 3)
	cfg := barrier.Config{Max: 3}
	ended, end := context.WithCancel(context.Background())
	end()
	_, err := open(t, nodes[0], "withdrawn", cfg).Enter(ended, barrier.Entry{})
	is(t, err, phalanx.ErrCanceled)
	out := enter(t, within(t), nodes[1:], "withdrawn", cfg, "a", "b")
	eventually(t, "two have entered", func() bool {
		s, err := barrier.List(within(t), nodes[0])
		return err == nil && entered(s, "withdrawn") == 2
	})
	ctx, cancel := context.WithTimeout(context.Background(), 300*ms)
	defer cancel()
	for _, o := range []outcome{<-enter(t, ctx, nodes[1:], "alone", cfg, "a")} {
		is(t, o.err, phalanx.ErrDeadline)
		if strings.Contains(o.err.Error(), "may still count") {
			t.Error(o.err)
		}
	}
	select {
	case o := <-out:
		t.Fatalf("%+v", o)
	default:
	}
	two := barrier.Config{Max: 2}
	for _, o := range []<-chan outcome{enter(t, within(t), nodes, "alone", two, "b", "c"), enter(t, within(t), nodes, "withdrawn", cfg, "c")} {
		if o := <-o; o.err != nil || o.Late {
			t.Errorf("%+v", o)
		}
	}
}
