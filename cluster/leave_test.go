package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// leaving begins a Leave, and returns once the node knows that it leaves.
func leaving(t *testing.T, n *cluster.Node) <-chan error {
	t.Helper()
	ctx := within(t)
	left := make(chan error, 1)
	go func() { left <- n.Leave(ctx) }()
	return left
}

// leaveSoon has a node leave whose calls do not end by themselves: it gives them up soon.
func leaveSoon(t *testing.T, n *cluster.Node) {
	t.Helper()
	ctx := within(t)
	leave := func() error {
		short, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		return n.Leave(short)
	}
	err := leave()
	for errors.Is(err, phalanx.ErrDeadline) && ctx.Err() == nil { // on a busy machine: the calls are over, though
		err = leave()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// readable checks that a node can get all of these.
func readable(t *testing.T, n *cluster.Node, ids []phalanx.ObjectID) {
	t.Helper()
	lost := 0
	for _, id := range ids {
		v, err := n.TryGet(within(t), id)
		if err != nil {
			if lost++; lost <= 3 {
				t.Errorf("%s: %v", id, err)
			}
			if lost > 3 {
				break
			}
			continue
		}
		v.Release()
	}
	if lost > 0 {
		t.Errorf("of %d objects that were acknowledged, some are lost", len(ids))
	}
}

// A stream of Puts does not keep a node from leaving. Those that have ended well are
// there when it has left, and the others say why.
func TestPutsOnANodeThatLeaves(t *testing.T) {
	nodes := start(t, 4, silent)
	steady(t, nodes)
	leaver := nodes[3]
	var mu sync.Mutex
	var ok []phalanx.ObjectID
	var writers sync.WaitGroup
	ready := make(chan struct{})
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ; i++ {
				id := phalanx.ObjectID(fmt.Sprintf("x/%d/%d", w, i))
				if _, err := leaver.Put(within(t), id, random(66_000, uint64(i))); err != nil {
					if !errors.Is(err, phalanx.ErrClosed) {
						t.Errorf("it was refused with %v", err)
					}
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
	if err := <-leaving(t, leaver); err != nil {
		t.Error(err)
	}
	writers.Wait()
	readable(t, nodes[0], ok)
}

// Reduces of other nodes, whose roots are on a node that leaves as they run.
func TestRootsOnANodeThatLeaves(t *testing.T) {
	nodes := start(t, 4, silent)
	steady(t, nodes)
	ctx := within(t)
	leaver := nodes[3]
	var ok []phalanx.ObjectID
	var left <-chan error
	for i := range 60 {
		a, b, target := phalanx.ObjectID(fmt.Sprint("a", i)), phalanx.ObjectID(fmt.Sprint("b", i)), phalanx.ObjectID(fmt.Sprint("t", i))
		for id, n := range map[phalanx.ObjectID]*cluster.Node{a: nodes[2], b: leaver} {
			if _, err := cluster.PutArray(ctx, n, id, make([]float32, 20_000)); err != nil {
				if !errors.Is(err, phalanx.ErrClosed) {
					t.Fatal(err)
				}
				n = nodes[2]
				if _, err := cluster.PutArray(ctx, n, id, make([]float32, 20_000)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if i == 10 {
			left = leaving(t, leaver)
		}
		if _, err := nodes[1].Reduce(ctx, storenode.Reduce{Target: target, Sources: []phalanx.ObjectID{a, b}, Op: phalanx.Sum, Degree: 1}); err != nil {
			t.Fatalf("reduce %d: %v", i, err)
		}
		ok = append(ok, target)
		for _, id := range []phalanx.ObjectID{a, b} { // the target is all that is left of them
			if err := nodes[1].Delete(ctx, id); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := <-left; err != nil {
		t.Error(err)
	}
	readable(t, nodes[0], ok)
}

// A composed reduce and an AllReduce that run while a node leaves that has sources of
// theirs.
func TestComposedAndAllReduceWhileANodeLeaves(t *testing.T) {
	nodes := start(t, 4, silent)
	steady(t, nodes)
	ctx := within(t)
	var sources []phalanx.ObjectID
	for i, n := range nodes {
		id := phalanx.ObjectID(fmt.Sprint("s", i))
		sources = append(sources, id)
		if _, err := cluster.PutArray(ctx, n, id, slices.Repeat([]float32{1}, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	var calls sync.WaitGroup
	for _, n := range nodes[:3] {
		calls.Go(func() {
			v, _, err := n.AllReduce(ctx, storenode.Reduce{Target: "all", Sources: sources, Op: phalanx.Sum})
			if err != nil {
				t.Errorf("%s: %v", n.ID(), err)
				return
			}
			v.Release()
		})
	}
	calls.Go(func() {
		if _, err := nodes[0].Reduce(ctx, storenode.Reduce{Target: "outer", Sources: []phalanx.ObjectID{"inner", "s0"}, Op: phalanx.Sum}); err != nil {
			t.Error(err)
		}
	})
	calls.Go(func() {
		if _, err := nodes[1].Reduce(ctx, storenode.Reduce{Target: "inner", Sources: sources[1:], Op: phalanx.Sum}); err != nil {
			t.Error(err)
		}
	})
	if err := <-leaving(t, nodes[3]); err != nil {
		t.Error(err)
	}
	calls.Wait()
	for id, want := range map[phalanx.ObjectID]float32{"all": 4, "inner": 3, "outer": 4} {
		a, err := cluster.GetArray[float32](ctx, nodes[2], id)
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		if got := a.Values()[1000]; got != want {
			t.Errorf("%s has %v, want %v", id, got, want)
		}
		a.Release()
	}
}

// As many copies as were promised are there when a node has left, and are pinned: what
// only was a copy that could be dropped is not any more.
func TestCopiesAfterANodeHasLeft(t *testing.T) {
	nodes := start(t, 4, silent)
	steady(t, nodes)
	ctx := within(t)
	if _, err := nodes[3].Put(ctx, "two", random(100_000, 1), cluster.WithCopies(2)); err != nil {
		t.Fatal(err)
	}
	put(t, nodes[3], "one", random(100_000, 2))
	has(t, nodes[1], "one", random(100_000, 2))
	eventually(t, "it is listed", func() bool { return len(holders(t, nodes[0], "one")) == 2 })
	if err := <-leaving(t, nodes[3]); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[phalanx.ObjectID]int{"one": 1, "two": 2} {
		st, err := nodes[0].Stat(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		pinned, others := 0, 0
		for _, h := range st.Holders {
			if h.Node == nodes[3].ID() { // its owner may not have heard yet that it has left
				continue
			}
			if others++; h.Complete && h.Pinned {
				pinned++
			}
		}
		if pinned < want {
			t.Errorf("%s is kept by %d nodes, not by %d: %+v", id, pinned, want, st.Holders)
		}
		if id == "one" && others > 1 {
			t.Errorf("another copy was made for nothing: %+v", st.Holders)
		}
	}
}

// A node that cannot hand over says what remains and goes on being a member, as before.
// It leaves later.
func TestLeaveThatFails(t *testing.T) {
	nodes := start(t, 3, silent, tight)
	steady(t, nodes)
	ctx := within(t)
	leaver := nodes[0]
	ids := []phalanx.ObjectID{"a", "b", "c"}
	for i, id := range ids { // the others have room for one each
		put(t, leaver, id, random(roomOf/4*3, uint64(i)))
	}
	short, cancel := context.WithCancel(ctx)
	defer cancel()
	left := make(chan error, 1)
	go func() { left <- leaver.Leave(short) }()
	eventually(t, "its shards are handed over", func() bool { v := nodes[1].View(); return v.Idle(leaver.ID()) })
	eventually(t, "the others keep one each", func() bool { // not only a part: that goes when Leave ends
		for _, n := range nodes[1:] {
			if !slices.ContainsFunc(ids, func(id phalanx.ObjectID) bool { return keeps(t, nodes[1], id, n.ID()) }) {
				return false
			}
		}
		return true
	})
	cancel()
	if err := <-left; !errors.Is(err, phalanx.ErrCanceled) {
		t.Fatalf("it says %v", err)
	}
	patience := time.Second                                  // longer where the machine is slow
	eventually(t, "one cannot be handed over", func() bool { // it can be called again
		short, cancel := context.WithTimeout(within(t), patience)
		defer cancel()
		patience *= 2
		err := leaver.Leave(short)
		if !errors.Is(err, phalanx.ErrDeadline) {
			t.Fatalf("it says %v", err)
		}
		return strings.Contains(err.Error(), "1 object was not handed over")
	})
	select {
	case <-leaver.Done():
		t.Fatal("it has gone")
	default:
	}
	for i, id := range ids {
		has(t, leaver, id, random(roomOf/4*3, uint64(i)))
	}
	put(t, leaver, "d", []byte("small"))
	eventually(t, "its mark is taken back", func() bool { m, _ := nodes[1].View().Member(leaver.ID()); return !m.Leaving })
	if v := nodes[1].View(); !v.Has(leaver.ID()) {
		t.Errorf("it is no member: %v", v)
	}
	if err := nodes[1].Delete(within(t), "b"); err != nil {
		t.Fatal(err)
	}
	if err := leaver.Leave(within(t)); err != nil {
		t.Fatal(err)
	}
	<-leaver.Done()
	ctx = within(t)
	for i, id := range ids {
		if id != "b" {
			st, err := nodes[1].Stat(ctx, id)
			if err != nil || len(st.Holders) == 0 {
				t.Errorf("%s (%d): %+v, %v", id, i, st, err)
			}
			if err := nodes[1].Delete(ctx, id); err != nil { // so that the others can leave
				t.Error(err)
			}
		}
	}
}

// keeps reports whether a complete pinned copy of id is listed at node n.
func keeps(t *testing.T, at *cluster.Node, id phalanx.ObjectID, n phalanx.NodeID) bool {
	t.Helper()
	st, err := at.Stat(within(t), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range st.Holders {
		if h.Node == n {
			return h.Complete && h.Pinned
		}
	}
	return false
}

// A node that could not leave goes on being a member, on which another one that leaves
// can rely.
func TestLeaveBesideOneThatCouldNotLeave(t *testing.T) {
	nodes := start(t, 2, silent, tight)
	steady(t, nodes)
	put(t, nodes[0], "full", random(roomOf/4*3, 1))
	put(t, nodes[1], "x", random(roomOf/4*3, 2))
	short, cancel := context.WithTimeout(within(t), time.Second)
	defer cancel()
	if err := nodes[0].Leave(short); !errors.Is(err, phalanx.ErrDeadline) {
		t.Fatalf("it says %v", err)
	}
	if err := nodes[0].Delete(within(t), "full"); err != nil {
		t.Fatal(err)
	}
	if err := nodes[1].Leave(within(t)); err != nil {
		t.Fatalf("the other says %v", err)
	}
	has(t, nodes[0], "x", random(roomOf/4*3, 2))
}

// Nodes that were to keep an object, and have no room, do not wait for it any longer once
// it is not needed: they would take the room from others later.
func TestCopiesThatAreNotNeededWaitForNoRoom(t *testing.T) {
	nodes := start(t, 3, silent, tight)
	steady(t, nodes)
	leaver := nodes[0]
	put(t, leaver, "a", random(roomOf/4*3, 1))
	for i, n := range nodes[1:] {
		put(t, n, phalanx.ObjectID(fmt.Sprint("full", i)), random(roomOf/4*3, uint64(2+i)))
	}
	ctx, cancel := context.WithCancel(within(t))
	left := make(chan error, 1)
	go func() { left <- leaver.Leave(ctx) }()
	for _, n := range nodes[1:] {
		eventually(t, "it waits for room", n.WaitsForRoom)
	}
	cancel()
	if err := <-left; !errors.Is(err, phalanx.ErrCanceled) {
		t.Fatalf("it ended with %v", err)
	}
	for _, n := range nodes[1:] {
		eventually(t, "it waits for room no more", func() bool { return !n.WaitsForRoom() })
	}
	for i := range nodes[1:] { // so that all can leave
		if err := leaver.Delete(within(t), phalanx.ObjectID(fmt.Sprint("full", i))); err != nil {
			t.Error(err)
		}
	}
	if err := leaver.Delete(within(t), "a"); err != nil {
		t.Error(err)
	}
}

// Calls on a node that leaves are given up if they do not end. Their callers hear why.
func TestLeaveGivesUpWhatDoesNotEnd(t *testing.T) {
	t.Parallel() // it mostly waits
	nodes := start(t, 3, silent)
	steady(t, nodes)
	ctx := within(t)
	leaver := nodes[2]
	r, w := io.Pipe()
	defer w.Close()
	ended := make(chan error, 2)
	go func() {
		_, err := leaver.PutReader(ctx, "x", r, 1<<20)
		ended <- err
	}()
	go func() {
		_, err := leaver.Reduce(ctx, storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"never"}, Op: phalanx.Sum})
		ended <- err
	}()
	if _, err := w.Write(make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the reduce has begun", func() bool { st, err := nodes[0].Stat(ctx, "t"); return err == nil && st.Origin == leaver.ID() })
	leaveSoon(t, leaver)
	for range 2 {
		if err := <-ended; !errors.Is(err, phalanx.ErrClosed) || !strings.Contains(err.Error(), "leav") {
			t.Errorf("it ended with %v", err)
		}
	}
	put(t, nodes[0], "x", []byte("other bytes")) // the id is free
}

// A node that had taken over objects crashes while the one that they are from is still
// there: others take them over again.
func TestLeaveWhileANodeCrashes(t *testing.T) {
	nodes := start(t, 5, silent)
	steady(t, nodes)
	leaver, dies := nodes[4], nodes[3]
	var ids []phalanx.ObjectID
	for i := range 40 {
		id := phalanx.ObjectID(fmt.Sprint("x", i))
		put(t, leaver, id, random(100_000, uint64(i)))
		ids = append(ids, id)
	}
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { // keeps it from leaving for a while
		_, err := leaver.PutReader(within(t), "slow", r, 1<<20)
		ended <- err
	}()
	if _, err := w.Write(make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	left := leaving(t, leaver)
	tookOver := func() bool {
		return slices.ContainsFunc(ids, func(id phalanx.ObjectID) bool { return slices.Contains(holders(t, nodes[0], id), dies.ID()) })
	}
	eventually(t, "it has taken something over", tookOver)
	dies.Die()
	eventually(t, "it is no member", func() bool { return !leaver.View().Has(dies.ID()) })
	w.CloseWithError(errors.New("no more"))
	if err := <-ended; err == nil {
		t.Error("half a Put has succeeded")
	}
	if err := <-left; err != nil {
		t.Fatal(err)
	}
	readable(t, nodes[0], ids)
}

// A node does not leave while a service has something to hand over, for half of its time.
func TestServicesHandOverBeforeANodeLeaves(t *testing.T) {
	for _, handsOver := range []bool{true, false} {
		nodes := start(t, 2)
		nodes[1].Remains("barriers", math.MaxUint64, 1)
		deadline := 4 * time.Second
		if handsOver {
			deadline = time.Minute
		}
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		begun, left := time.Now(), make(chan error, 1)
		go func() { left <- nodes[1].Leave(ctx) }()
		eventually(t, "it is marked", func() bool { return func() bool { m, _ := nodes[0].View().Member(nodes[1].ID()); return m.Leaving }() })
		if handsOver {
			nodes[1].Remains("barriers", math.MaxUint64, 0)
		}
		if err := <-left; err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took >= deadline/2 == handsOver {
			t.Errorf("its service hands over: %v; it has left after %v", handsOver, took)
		}
		cancel()
	}
}
