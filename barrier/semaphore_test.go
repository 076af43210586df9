package barrier_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
)

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
				if _, err := b.Enter(within(t), barrier.Entry{Host: h}); err != nil {
					t.Error(err)
					return
				}
				n := inside.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				if held, err := b.Holders(within(t)); err != nil || len(held) > 3 || !slices.Contains(held, barrier.Entry{Host: h}) {
					t.Errorf("%s holds it, and its holders are %v, %v", h, held, err)
				}
				inside.Add(-1)
				passed.Add(1)
				if err := b.Release(within(t), barrier.Entry{Host: h}); err != nil {
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
	if _, err := b.Enter(within(t), barrier.Entry{Host: "twice"}); err != nil {
		t.Error(err)
	}
	_, err := b.Enter(within(t), barrier.Entry{Host: "twice"})
	is(t, err, barrier.ErrHeld)
	if _, err := open(t, nodes[1], "slots", cfg).Enter(within(t), barrier.Entry{Host: "twice"}); err != nil { // takes its place
		t.Error(err)
	}
	eventually(t, "the first one has lost it", func() bool { return errors.Is(b.Release(within(t), barrier.Entry{Host: "twice"}), barrier.ErrNotHeld) })
	is(t, b.Release(within(t), barrier.Entry{Host: "w000"}), barrier.ErrNotHeld)

	one := barrier.Config{Semaphore: barrier.Semaphore{Count: 1, Timeout: 3 * time.Second}}
	b = open(t, nodes[1], "one", one)
	if _, err := b.Enter(within(t), barrier.Entry{Host: "holder"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*ms)
	_, err = b.Enter(ctx, barrier.Entry{Host: "impatient"})
	cancel()
	is(t, err, phalanx.ErrDeadline)
	if !strings.Contains(err.Error(), "held by holder") {
		t.Error(err)
	}
	if _, err := b.Enter(within(t), barrier.Entry{Host: "next"}); err != nil { // the holder's time is over, the impatient one has left the queue
		t.Fatal(err)
	}
	is(t, b.Release(within(t), barrier.Entry{Host: "holder"}), barrier.ErrNotHeld)
	if err := b.Release(within(t), barrier.Entry{Host: "next"}); err != nil {
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
	if _, err := open(t, n, "held", cfg).Enter(within(t), barrier.Entry{Host: "guest"}); err != nil {
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

// The actors of holders and managers panic while a semaphore is held: it is held by
// the same ones after that, and what is released comes to the next.
func TestASemaphoreWhoseActorsPanic(t *testing.T) {
	nodes := start(t, 3)
	cfg := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	b := open(t, nodes[0], "panics", cfg)
	if _, err := b.Enter(within(t), barrier.Entry{Host: "holder"}); err != nil {
		t.Fatal(err)
	}
	next := enter(t, within(t), nodes[1:], "panics", cfg, "next")
	for _, n := range nodes {
		events := n.Events(within(t))
		pid, _ := n.Service(barrier.Name)
		n.System().Root.Send(pid, actors.Crash{})
		for e := range events {
			if r, ok := e.(actors.ActorRestarted); ok && r.Actor == pid.Id {
				break
			}
		}
	}
	eventually(t, "the managers know who holds it and who waits", func() bool {
		s, err := barrier.List(within(t), nodes[0])
		return len(next) > 0 || err == nil && len(s) == 1 && s[0].Holding == 1 && slices.Equal(waiting(s, "panics"), []phalanx.NodeID{nodes[1].ID()})
	})
	select {
	case o := <-next:
		t.Fatalf("two hold it: %+v", o)
	default:
	}
	if err := b.Release(within(t), barrier.Entry{Host: "holder"}); err != nil {
		t.Error(err)
	}
	if o := <-next; o.err != nil {
		t.Error(o.err)
	}
}
