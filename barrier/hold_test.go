package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
)

var one = barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}

// acquire returns the Hold of a semaphore. On a busy machine the node's lease can end first.
func acquire(t testing.TB, n *cluster.Node, name, host string) *barrier.Hold {
	t.Helper()
	ctx := within(t)
	for {
		h, err := open(t, n, name, one).Acquire(ctx, barrier.Entry{Host: host})
		if err == nil {
			return h
		}
		if !errors.Is(err, phalanx.ErrAborted) || ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// lost waits until a Hold has ended, and returns why.
func lost(t testing.TB, h *barrier.Hold) error {
	t.Helper()
	select {
	case <-h.Context().Done():
	case <-within(t).Done():
		t.Fatal("it is held still")
	}
	if h.Held() {
		t.Error("it is held though its context has ended")
	}
	return context.Cause(h.Context())
}

// A Hold goes from one to the next with a greater Fence each time, and says so to all.
func TestHold(t *testing.T) {
	nodes := start(t, 3)
	b := open(t, nodes[2], "s", one)
	if all, err := b.Holders(within(t)); err != nil || len(all) != 0 {
		t.Errorf("nobody has entered: %v, %v", all, err)
	}
	var last barrier.Fence
	for i := range 9 {
		h := acquire(t, nodes[i%3], "s", "h")
		if h.Fence().Compare(last) <= 0 || h.Fence().String() <= last.String() || !h.Held() {
			t.Errorf("%v after %v; held: %v", h.Fence(), last, h.Held())
		}
		last = h.Fence()
		if all, err := b.Holders(within(t)); err != nil || len(all) != 1 || all[0] != (barrier.Entry{Host: "h"}) {
			t.Errorf("%v, %v", all, err)
		}
		if err := h.Release(within(t)); err != nil {
			t.Error(err)
		}
		if !errors.Is(lost(t, h), context.Canceled) {
			t.Error(context.Cause(h.Context()))
		}
		is(t, h.Release(within(t)), barrier.ErrNotHeld)
	}
	if all, err := b.Holders(within(t)); err != nil || len(all) != 0 {
		t.Errorf("all have released it: %v, %v", all, err)
	}
	_, err := open(t, nodes[0], "b", barrier.Config{Max: 2}).Acquire(within(t), barrier.Entry{Host: "h"})
	is(t, err, phalanx.ErrInvalid)
}

// A Release whose context has ended releases the semaphore nevertheless.
func TestReleaseWithoutTime(t *testing.T) {
	nodes := start(t, 3)
	h := acquire(t, nodes[0], "s", "h")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	is(t, h.Release(ctx), phalanx.ErrCanceled)
	acquire(t, nodes[1], "s", "next")
}

// The actor's panic takes no Hold away; a node that leaves gives its Holds up before it goes,
// and takes no new ones.
func TestHoldOfANodeThatLeaves(t *testing.T) {
	nodes := start(t, 3)
	guest, err := cluster.Join(within(t), config("guest", nodes[0].ControlAddr()))
	if err != nil {
		t.Fatal(err)
	}
	h := heldOverAPanic(t, guest)
	b, ctx := open(t, nodes[1], "s", one), within(t)
	next, failed := make(chan *barrier.Hold, 1), make(chan error, 1)
	go func() {
		n, err := b.Acquire(ctx, barrier.Entry{Host: "next"})
		for errors.Is(err, phalanx.ErrAborted) && ctx.Err() == nil {
			n, err = b.Acquire(ctx, barrier.Entry{Host: "next"})
		}
		next <- n
		failed <- err
	}()
	if err := guest.Leave(within(t)); err != nil {
		t.Fatal(err)
	}
	err = lost(t, h)
	is(t, err, barrier.ErrNotHeld)
	is(t, err, phalanx.ErrAborted)
	n := <-next
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	if n.Fence().Compare(h.Fence()) <= 0 {
		t.Errorf("%v after %v", n.Fence(), h.Fence())
	}
}

// heldOverAPanic returns a Hold during which the actor has panicked. On a busy machine a Hold
// can end with the lease of its node.
func heldOverAPanic(t *testing.T, n *cluster.Node) *barrier.Hold {
	t.Helper()
	pid, _ := n.Service(barrier.Name)
	for i := range 30 {
		h := acquire(t, n, "s", fmt.Sprint("guest", i)) // the actor may not have released the last one yet
		n.System().Root.Send(pid, actors.Crash{})
		all, err := open(t, n, "s", one).Holders(within(t))
		if err != nil {
			t.Fatal(err)
		}
		if len(all) == 1 && h.Held() {
			return h
		}
		t.Logf("guest%d: holders %v, and the Hold ended with %v", i, all, context.Cause(h.Context()))
		_ = h.Release(within(t)) // it may have ended
	}
	t.Fatal("it is never held over a panic")
	return nil
}

// A node that dies loses its Holds, and those of a node that is removed and joins again
// belong to others; the first one knows.
func TestHoldOfANodeThatIsClosed(t *testing.T) {
	nodes := start(t, 3)
	guest, err := cluster.Join(within(t), config("guest", nodes[0].ControlAddr()))
	if err != nil {
		t.Fatal(err)
	}
	h := acquire(t, guest, "s", "guest")
	guest.Close()
	is(t, lost(t, h), phalanx.ErrClosed)
	if n := acquire(t, nodes[1], "s", "next"); n.Fence().Compare(h.Fence()) <= 0 {
		t.Errorf("%v after %v", n.Fence(), h.Fence())
	}
}

// The majority of the voters dies: a Hold on another node ends with its lease, though
// nothing can be decided.
func TestHoldWithoutAMajority(t *testing.T) {
	var nodes []*cluster.Node
	for _, name := range []string{"v0", "v1", "v2"} {
		cfg := config(name)
		if len(nodes) > 0 {
			cfg.Seeds = []string{nodes[0].ControlAddr()}
		}
		n, err := cluster.Join(within(t), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Close)
		nodes = append(nodes, n)
	}
	eventually(t, "three voters", func() bool { return len(nodes[0].Status().Voters) == 3 })
	h := acquire(t, nodes[0], "s", "h")
	nodes[1].Close()
	nodes[2].Close()
	err := lost(t, h)
	is(t, err, phalanx.ErrAborted)
	is(t, err, barrier.ErrNotHeld)
}
