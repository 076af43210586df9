package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
)

// A node that the others remove while it leaves joins again with what it has, and can
// leave later.
func TestRemovedWhileItLeaves(t *testing.T) {
	nodes := start(t, 3, silent)
	steady(t, nodes)
	ctx := within(t)
	leaver := nodes[2]
	put(t, leaver, "x", random(100_000, 1))
	was := leaver.ID()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { // keeps it from leaving
		_, err := leaver.PutReader(ctx, "slow", r, 1<<20)
		ended <- err
	}()
	if _, err := w.Write(make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	left := leaving(t, leaver)
	eventually(t, "it is marked", func() bool { m, _ := nodes[0].View().Member(was); return m.Leaving })
	nodes[0].Oust(was)
	if err := <-left; !errors.Is(err, phalanx.ErrFenced) {
		t.Fatalf("it left with %v", err)
	}
	eventually(t, "it has joined again", func() bool { return leaver.ID() != was && nodes[0].View().Has(leaver.ID()) })
	_ = w.Close()
	if err := <-ended; err == nil {
		t.Error("half a Put has succeeded")
	}
	has(t, nodes[0], "x", random(100_000, 1))
	put(t, leaver, "y", random(100_000, 2)) // it is a member as any other
	if err := leaver.Leave(ctx); err != nil {
		t.Fatal(err)
	}
	readable(t, nodes[1], []phalanx.ObjectID{"x", "y"})
}

// Two nodes leave at once while both are put to.
func TestPutsOnTwoNodesThatLeave(t *testing.T) {
	nodes := start(t, 5, silent)
	steady(t, nodes)
	var mu sync.Mutex
	var ok []phalanx.ObjectID
	var writers sync.WaitGroup
	ready := make(chan struct{})
	for w, n := range nodes[3:] {
		writers.Go(func() {
			for i := 0; ; i++ {
				id := phalanx.ObjectID(fmt.Sprintf("x/%d/%d", w, i))
				if _, err := n.Put(within(t), id, random(66_000, uint64(i)), cluster.WithCopies(1+i%2)); err != nil {
					return
				}
				mu.Lock()
				if ok = append(ok, id); len(ok) == 40 {
					close(ready)
				}
				mu.Unlock()
			}
		})
	}
	<-ready
	one, two := leaving(t, nodes[3]), leaving(t, nodes[4])
	if err := errors.Join(<-one, <-two); err != nil {
		t.Error(err)
	}
	writers.Wait()
	readable(t, nodes[0], ok)
}

// A node that is removed in the moment in which it begins to leave joins again.
func TestRemovedAsItBeginsToLeave(t *testing.T) {
	nodes := start(t, 4, silent)
	steady(t, nodes)
	leaver, was := nodes[3], nodes[3].ID()
	if err := leaver.LeaveAsItIsRemoved(within(t)); !errors.Is(err, phalanx.ErrFenced) {
		t.Fatalf("it ended with %v", err)
	}
	eventually(t, "it is back as a new incarnation", func() bool { return leaver.ID() != was && nodes[0].View().Has(leaver.ID()) })
}

// A node that was removed before it leaves joins again, and hands over what only it has.
func TestLeaveOfANodeThatWasRemoved(t *testing.T) {
	nodes := start(t, 4, silent)
	steady(t, nodes)
	leaver := nodes[3]
	put(t, leaver, "x", random(100_000, 1))
	leaver.Fence()
	if err := leaver.Leave(within(t)); err != nil {
		t.Fatal(err)
	}
	readable(t, nodes[0], []phalanx.ObjectID{"x"})
}

// A subscriber may have the node leave in the moment in which it hears that it was
// removed, or that it has joined again.
func TestLeaveBySubscriber(t *testing.T) {
	for _, when := range []any{actors.NodeFenced{}, actors.NodeRejoined{}} {
		t.Run(fmt.Sprintf("%T", when), func(t *testing.T) {
			nodes := start(t, 3, silent)
			steady(t, nodes)
			leaver := nodes[2]
			ended := make(chan error, 1)
			leaver.System().EventStream.Subscribe(func(e any) {
				if reflect.TypeOf(e) == reflect.TypeOf(when) {
					ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
					defer cancel()
					ended <- leaver.Leave(ctx)
				}
			})
			leaver.Fence()
			select {
			case err := <-ended:
				// As it is told that it was removed, it has not joined again yet.
				if _, fenced := when.(actors.NodeFenced); fenced != errors.Is(err, phalanx.ErrFenced) || !fenced && err != nil {
					t.Errorf("it ended with %v", err)
				}
			case <-within(t).Done():
				t.Fatal("Leave does not end")
			}
		})
	}
}

// If it has not joined again in time, the error says so, and it does so nevertheless.
func TestLeaveThatEndsBeforeItHasJoinedAgain(t *testing.T) {
	nodes := start(t, 3, silent)
	steady(t, nodes)
	leaver, was := nodes[2], nodes[2].ID()
	ctx, cancel := context.WithCancel(within(t))
	leaver.Fence()
	cancel()
	if err := leaver.Leave(ctx); err == nil {
		t.Fatal("the node handed nothing over")
	}
	eventually(t, "it has joined again", func() bool { return leaver.ID() != was && nodes[0].View().Has(leaver.ID()) })
}

// Nothing is handed over by a node whose name another process has taken.
func TestLeaveOfANodeWhoseNameIsTaken(t *testing.T) {
	nodes := start(t, 3, silent)
	steady(t, nodes)
	leaver := nodes[2]
	left := make(chan error, 1)
	leaver.FenceAsTaken()
	go func() { left <- leaver.Leave(within(t)) }()
	if err := <-left; err != nil && !errors.Is(err, phalanx.ErrFenced) {
		t.Errorf("it ended with %v", err)
	}
	<-leaver.Done()
	if err := leaver.Leave(within(t)); err != nil {
		t.Errorf("after it has ended: %v", err)
	}
}

// A node that is closed as it leaves has not handed over.
func TestClosedWhileItLeaves(t *testing.T) {
	nodes := start(t, 3, silent)
	steady(t, nodes)
	leaver := nodes[2]
	r, w := io.Pipe()
	defer w.Close()
	go func() { // keeps it from leaving
		_, _ = leaver.PutReader(within(t), "slow", r, 1<<20)
	}()
	if _, err := w.Write(make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	one, two := leaving(t, leaver), leaving(t, leaver)
	eventually(t, "it is marked", func() bool { m, _ := nodes[0].View().Member(leaver.ID()); return m.Leaving })
	leaver.Close()
	for _, left := range []<-chan error{one, two} {
		if err := <-left; !errors.Is(err, phalanx.ErrClosed) {
			t.Errorf("it left with %v", err)
		}
	}
	if err := leaver.Leave(within(t)); err != nil {
		t.Errorf("after it was closed: %v", err)
	}
}

// slow is a context whose deadline is told late.
type slow struct {
	context.Context
	begun func()
	wait  <-chan struct{}
}

func (s slow) Deadline() (time.Time, bool) {
	s.begun()
	<-s.wait
	return s.Context.Deadline()
}

// A Leave that gets its turn once the node has left has nothing to do.
func TestLeaveAfterAnotherHasLeft(t *testing.T) {
	nodes := start(t, 2, silent)
	steady(t, nodes)
	gone := make(chan struct{})
	var begun sync.WaitGroup
	var all []chan error
	for range 16 {
		c := make(chan error, 1)
		all = append(all, c)
		begun.Add(1)
		go func() { c <- nodes[1].Leave(slow{within(t), sync.OnceFunc(begun.Done), gone}) }()
	}
	begun.Wait()
	if err := nodes[1].Leave(within(t)); err != nil {
		t.Fatal(err)
	}
	close(gone)
	for _, c := range all {
		if err := <-c; err != nil {
			t.Error(err)
		}
	}
}
