package store

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// begun reports whether the owner was asked to bind id.
func (d *scripted) begun(id phalanx.ObjectID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.reports {
		if _, ok := r.Body.(directory.Begin); ok && r.Object == id {
			return true
		}
	}
	return false
}

// A Put waits 10 s for memory, or as long as it is told; a smaller one passes it, and it
// frees its place as soon as its caller goes away.
func TestPutWaitsForMemory(t *testing.T) {
	storeBubble(t, func(t *testing.T, e *Env, d *scripted) {
		budget := e.Pool.Budget()
		_ = budget.TryReserve(6 << 20)
		defer budget.Release(6 << 20)
		put := func(ctx context.Context, id phalanx.ObjectID, size int, wait time.Duration) <-chan error {
			ended := make(chan error, 1)
			go func() {
				_, _, err := e.Put(ctx, storenode.Put{Object: id, Bytes: make([]byte, size), MemoryWait: wait})
				ended <- err
			}()
			synctest.Wait()
			return ended
		}
		for _, c := range []struct {
			wait, took time.Duration
		}{{0, storenode.MemoryWait}, {time.Second, time.Second}, {time.Minute, time.Minute}, {-1, 0}} {
			began := time.Now()
			err := <-put(t.Context(), "large", 4<<20, c.wait)
			if took := time.Since(began); !errors.Is(err, phalanx.ErrNoSpace) || took != c.took || d.begun("large") {
				t.Errorf("a wait of %v: %v after %v", c.wait, err, took)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		large := put(ctx, "large", 4<<20, 0)
		if requests, bytes := budget.Waiting(); requests != 1 || bytes != 4<<20 {
			t.Errorf("%d wait for %d bytes", requests, bytes)
		}
		small := put(ctx, "small", 1<<20, 0)
		if !d.begun("small") {
			t.Error("a small Put waits behind a large one")
		}
		cancel()
		synctest.Wait()
		for _, ended := range []<-chan error{large, small} {
			if err := <-ended; !errors.Is(err, phalanx.ErrCanceled) {
				t.Errorf("it ended with %v", err)
			}
		}
		if requests, _ := budget.Waiting(); requests != 0 {
			t.Errorf("%d wait after their callers went away", requests)
		}
		budget.Last(5<<20, 0)
		began := time.Now()
		if err := <-put(t.Context(), "large", 4<<20, time.Hour); !errors.Is(err, phalanx.ErrNoSpace) || time.Since(began) != 0 {
			t.Errorf("beside pinned bytes: %v after %v", err, time.Since(began))
		}
		budget.Last(-5<<20, 0)
	})
}

// The budget knows the bytes of pinned copies, and of copies to be pinned, at each step of a copy.
func TestTheBudgetKnowsWhatLasts(t *testing.T) {
	pool := dataplane.NewPool(dataplane.NewBudget(1 << 30))
	table := NewTable(pool.Budget())
	is := func(what string, pinned, reserved int64) {
		t.Helper()
		if p, r := pool.Budget().Lasting(); p != pinned || r != reserved {
			t.Errorf("%s: %d are pinned, %d reserved, want %d and %d", what, p, r, pinned, reserved)
		}
	}
	gone := &dataplane.Ended{Reason: dataplane.Gone}
	const size = 100_000
	whole := dataplane.Charge(size) + copyCost
	origin := func(gen phalanx.Generation) *objectCopy {
		c, ok := table.show("x", gen, phalanx.Meta{Size: size}, pool.TryBuffer(size), true)
		if !ok {
			t.Fatal("it is not shown")
		}
		return c
	}
	c := origin(first)
	is("an upload", 0, whole)
	table.drop(c, gone)
	is("one that was given up", 0, 0)
	c = origin(phalanx.Generation{Epoch: 1, Seq: 2})
	table.finish(c, c.Meta, phalanx.Digest{}, true)
	is("a whole one", whole, 0)
	table.retain(c)
	is("one that is read", whole, 0)
	table.drop(c, gone)
	is("one that was deleted", 0, 0)
	table.release(c)
	far := arriving(t, pool, table, "far", first, size)
	is("a copy that arrives", 0, 0)
	table.pinAtLeast("far", first)
	is("one that is to stay", 0, whole)
	table.finish(far, far.Meta, phalanx.Digest{}, false)
	is("one that stays", whole, 0)
	small(t, table, "small", 30, false)
	is("a copy that can be evicted", whole, 0)
	small(t, table, "pinned", 30, true)
	is("a small one", whole+30+copyCost, 0)
	table.Close(gone)
	is("nothing", 0, 0)
}
