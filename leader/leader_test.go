package leader_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/leader"
)

// On a machine that is busy for longer than a lease a leader may lose its leadership at any
// time. The tests hold for that too.

// there waits until a candidate has come to its election.
func there(t testing.TB, n *cluster.Node, name string) {
	t.Helper()
	eventually(t, name+" is there", func() bool {
		all, err := barrier.List(within(t), n)
		for _, s := range all {
			for _, e := range s.Entries {
				if e.Host == name && (e.State == "waiting" || e.State == "holding") {
					return true
				}
			}
		}
		if err != nil {
			t.Log(err) // it is asked again
		}
		return false
	})
}

// stubborn has a candidate campaign again whenever it has lost its leadership, until the test
// ends. Its first leadership comes on the channel.
func stubborn(t testing.TB, e *leader.Election, name string) <-chan barrier.Fence {
	ctx, stop := context.WithCancel(within(t))
	first, ended := make(chan barrier.Fence, 1), make(chan struct{})
	t.Cleanup(func() { stop(); <-ended })
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			err := e.Lead(ctx, name, func(ctx context.Context, fence barrier.Fence) error {
				select {
				case first <- fence:
				default:
				}
				<-ctx.Done()
				return nil
			})
			if err != nil && ctx.Err() == nil && !errors.Is(err, barrier.ErrNotHeld) {
				t.Error(err)
				return
			}
		}
	}()
	return first
}

// One of two candidates leads. The other one does when it resigns, and all see it.
func TestResign(t *testing.T) {
	nodes := start(t, 3)
	first := elected(t, open(t, nodes[0], "e"), "first")
	seen := make(chan leader.Leader, 100)
	watch, stop := context.WithCancel(within(t))
	observed := make(chan error, 1)
	go func() {
		observed <- open(t, nodes[2], "e").Observe(watch, func(l leader.Leader) bool { seen <- l; return true })
	}()
	next := stubborn(t, open(t, nodes[1], "e"), "")
	there(t, nodes[0], "n1")
	select {
	case <-next:
		if first.Leads() {
			t.Fatal("two lead")
		}
	default:
	}
	if err := first.Resign(within(t)); err != nil {
		t.Fatal(err)
	}
	if first.Leads() || first.Context().Err() == nil {
		t.Error("it leads though it has resigned")
	}
	if err := first.Resign(within(t)); err != nil { // again
		t.Error(err)
	}
	if fence := <-next; fence.Compare(first.Fence()) <= 0 {
		t.Errorf("%v after %v", fence, first.Fence())
	}
	for l := range seen {
		if l.Name == "n1" {
			break
		}
		if l.Name != "first" && l.Name != "" {
			t.Errorf("%+v leads", l)
		}
	}
	stop()
	is(t, <-observed, phalanx.ErrCanceled)
}

// Nobody leads an election in which nobody is, or any more.
func TestNobodyLeads(t *testing.T) {
	e := open(t, start(t, 1)[0], "e")
	for range 2 {
		if l, err := e.Leader(within(t)); err != nil || l != (leader.Leader{}) {
			t.Errorf("%+v leads, %v", l, err)
		}
		if err := elected(t, e, "x").Resign(within(t)); err != nil {
			t.Error(err)
		}
	}
}

// The node of the leader is killed: the next one leads, with a greater Fence.
func TestALeaderIsKilled(t *testing.T) {
	nodes := start(t, 3)
	dies := join(t, "dies", nodes[0].ControlAddr())
	first := elected(t, open(t, dies, "e"), "first")
	next := stubborn(t, open(t, nodes[1], "e"), "second")
	there(t, nodes[0], "second")
	dies.Close()
	if fence := <-next; fence.Compare(first.Fence()) <= 0 || first.Leads() {
		t.Errorf("%v after %v; the first leads: %v", fence, first.Fence(), first.Leads())
	}
	is(t, context.Cause(first.Context()), barrier.ErrNotHeld)
}

// A leader whose node leaves gives the leadership up first, and Lead says so.
func TestTheNodeOfALeaderLeaves(t *testing.T) {
	nodes := start(t, 3)
	guest := join(t, "guest", nodes[0].ControlAddr())
	leads, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- open(t, guest, "e").Lead(within(t), "guest", func(ctx context.Context, _ barrier.Fence) error {
			close(leads)
			<-ctx.Done()
			is(t, context.Cause(ctx), barrier.ErrNotHeld)
			return nil
		})
	}()
	<-leads
	next := stubborn(t, open(t, nodes[1], "e"), "next")
	if err := guest.Leave(within(t)); err != nil {
		t.Fatal(err)
	}
	is(t, <-ended, barrier.ErrNotHeld)
	<-next
}

// A candidate whose context ends is not elected any more, and learns why.
func TestARevokedContext(t *testing.T) {
	nodes := start(t, 3)
	revoked := &phalanx.Error{Op: "group revoke", Kind: phalanx.ErrRevoked, Err: errors.New("plan B")}
	e := open(t, nodes[1], "e")
	for again := true; again; {
		first := elected(t, open(t, nodes[0], "e"), "first")
		ctx, revoke := context.WithCancelCause(within(t))
		ended := make(chan error, 1)
		go func() {
			l, err := e.Campaign(ctx, "revoked")
			if err == nil {
				err = l.Resign(within(t))
			}
			ended <- err
		}()
		there(t, nodes[0], "revoked")
		revoke(revoked)
		err := <-ended
		if again = err == nil; again && first.Leads() {
			t.Fatal("two have led")
		} else if !again {
			is(t, err, phalanx.ErrRevoked)
		}
		_, err = e.Campaign(ctx, "revoked") // later
		is(t, err, phalanx.ErrRevoked)
		if err := first.Resign(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := e.Campaign(canceled, "canceled")
	is(t, err, phalanx.ErrCanceled)
	elected(t, open(t, nodes[0], "e"), "next")
}

// Lead ends with its context, and returns what the function does; it resigns before.
func TestLead(t *testing.T) {
	nodes := start(t, 2)
	own := errors.New("own")
	ctx, cancel := context.WithCancel(within(t))
	is(t, open(t, nodes[0], "e").Lead(ctx, "leads", func(ctx context.Context, _ barrier.Fence) error {
		cancel()
		<-ctx.Done()
		return own
	}), own)
	is(t, open(t, nodes[0], "e").Lead(ctx, "leads", func(context.Context, barrier.Fence) error {
		t.Error("it is elected without a context")
		return nil
	}), phalanx.ErrCanceled)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("its panic is swallowed")
			}
		}()
		_ = open(t, nodes[0], "e").Lead(within(t), "panics", func(context.Context, barrier.Fence) error { panic(own) })
	}()
	elected(t, open(t, nodes[1], "e"), "next")
}

// A hundred candidates at three nodes lead one after the other, with rising Fences, and no two
// at once.
func TestAHundredCandidates(t *testing.T) {
	nodes := start(t, 3)
	var mu sync.Mutex
	var last barrier.Fence
	var leading context.Context
	led := 0
	ctx := within(t)
	var all sync.WaitGroup
	for i := range 100 {
		e := open(t, nodes[i%3], "e")
		all.Go(func() {
			err := e.Lead(ctx, fmt.Sprint("candidate ", i), func(ctx context.Context, fence barrier.Fence) error {
				mu.Lock()
				defer mu.Unlock()
				if ctx.Err() == nil && leading != nil && leading.Err() == nil {
					t.Error("two lead")
				}
				if ctx.Err() == nil && fence.Compare(last) <= 0 {
					t.Errorf("%v after %v", fence, last)
				}
				last, leading = fence, ctx
				led++
				return nil
			})
			if err != nil && !errors.Is(err, barrier.ErrNotHeld) && !errors.Is(err, phalanx.ErrDeadline) { // on a busy machine
				t.Error(err)
			}
		})
	}
	all.Wait()
	if led != 100 {
		t.Errorf("%d have led", led)
	}
}

func TestOpenAnElection(t *testing.T) {
	n := start(t, 1)[0]
	_, err := leader.Open(n, "")
	is(t, err, phalanx.ErrInvalid)
	cfg := config("bare")
	cfg.Services = nil
	bare, err := cluster.Join(within(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bare.Close)
	_, err = leader.Open(bare, "e")
	is(t, err, phalanx.ErrInvalid)
}
