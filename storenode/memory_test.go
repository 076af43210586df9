package storenode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

var errOver = errors.New("over")

// small keeps a complete inline copy of n bytes.
func small(t *testing.T, table *Table, id phalanx.ObjectID, n int, pinned bool) *objectCopy {
	t.Helper()
	if !table.budget.TryReserve(int64(n)) {
		t.Fatalf("no room for %s", id)
	}
	return table.keepInline(Info{Object: id, Gen: first, Meta: phalanx.Meta{Size: int64(n)}}, make([]byte, n), "", pinned)
}

// arriving shows a partial copy of n bytes.
func arriving(t *testing.T, pool *dataplane.Pool, table *Table, id phalanx.ObjectID, gen phalanx.Generation, n int64) *objectCopy {
	t.Helper()
	buf := pool.TryBuffer(n)
	if buf == nil {
		t.Fatalf("no room for %s", id)
	}
	c, ok := table.show(id, gen, phalanx.Meta{Size: n}, buf, false)
	if !ok {
		buf.Release()
	}
	return c
}

func TestVictim1_8(t *testing.T) {
	pool := dataplane.NewPool(dataplane.NewBudget(1 << 20))
	table := NewTable(pool.Budget())
	is := func(what string, want phalanx.ObjectID, not ...phalanx.ObjectID) {
		t.Helper()
		barred := map[phalanx.ObjectID]bool{}
		for _, id := range not {
			barred[id] = true
		}
		got := phalanx.ObjectID("")
		if c := table.victim(barred); c != nil {
			got = c.object
		}
		if got != want {
			t.Errorf("%s: %q is evicted, want %q", what, got, want)
		}
	}
	is("empty", "")
	small(t, table, "pinned", 10, true)
	is("a pinned copy", "")
	part := arriving(t, pool, table, "arriving", first, 10)
	is("a partial copy", "")
	small(t, table, "a", 10, false)
	small(t, table, "b", 10, false)
	is("the older one", "a")
	is("which was refused", "b", "a")
	is("both were refused", "", "a", "b")
	v := table.View("a")
	is("which is viewed", "b")
	v.Release()
	v.Release()
	is("which was viewed last", "b")
	b := table.lookup("b")
	if !table.retain(b) {
		t.Fatal("b is gone")
	}
	is("both in use or not", "a")
	table.release(b)
	is("read last", "a")
	table.finish(part, part.meta, phalanx.Digest{}, false)
	is("the arrived one, which is older", "arriving")
	if !table.serve(part, 1) || table.serve(part, 1) {
		t.Error("a copy has not one receiver")
	}
	is("which is read by another node", "a")
	if left := table.served(part); left != 0 {
		t.Errorf("%d receivers are left", left)
	}
	is("and no more", "arriving")
	if !table.pinned("arriving", first) {
		t.Error("it cannot be pinned")
	}
	is("which was pinned", "a")
	table.Close(errOver)
	is("closed", "")
	if used := pool.Budget().Used(); used != 0 {
		t.Errorf("%d bytes are reserved by an empty table", used)
	}
}

// What the table drops is given back once nobody looks at it any more.
func TestTableGivesBack(t *testing.T) {
	second := phalanx.Generation{Epoch: 1, Seq: 2}
	for _, c := range []struct {
		name string
		do   func(t *testing.T, pool *dataplane.Pool, table *Table)
		used int64 // besides copyCost
		left int64 // copies
	}{
		{"a newer generation replaces a partial copy", func(t *testing.T, pool *dataplane.Pool, table *Table) {
			old := arriving(t, pool, table, "o", first, 100)
			arriving(t, pool, table, "o", second, 30)
			if table.retain(old) || table.serve(old, 1) || table.viewOf(old) != nil {
				t.Error("the older copy can be read")
			}
		}, 30, 1},
		{"a newer inline one too", func(t *testing.T, pool *dataplane.Pool, table *Table) {
			arriving(t, pool, table, "o", first, 100)
			table.budget.TryReserve(20)
			table.keepInline(Info{Object: "o", Gen: second}, make([]byte, 20), "", false)
		}, 20, 1},
		{"an older generation does not", func(t *testing.T, pool *dataplane.Pool, table *Table) {
			now := arriving(t, pool, table, "o", second, 100)
			if c := arriving(t, pool, table, "o", first, 30); c != now {
				t.Error("it went back")
			}
		}, 100, 1},
		{"the same inline bytes twice", func(t *testing.T, pool *dataplane.Pool, table *Table) {
			a, b := small(t, table, "o", 20, false), small(t, table, "o", 20, true)
			if a != b || !a.pinned {
				t.Error("there are two, or it is not pinned")
			}
		}, 20, 1},
		{"a view keeps its bytes", func(t *testing.T, pool *dataplane.Pool, table *Table) {
			o := arriving(t, pool, table, "o", first, 4)
			if _, err := o.buffer.Write([]byte("abcd")); err != nil {
				t.Fatal(err)
			}
			table.finish(o, o.meta, phalanx.Digest{}, false)
			v := table.View("o")
			table.dropObject("o", first, errOver)
			table.dropObject("o", first, errOver)
			if used := table.budget.Used(); used != 4 || string(v.Bytes()) != "abcd" || table.View("o") != nil {
				t.Errorf("%d bytes are reserved for a view of %q", used, v.Bytes())
			}
			v.Release()
			v.Release()
		}, 0, 0},
		{"an old order to drop", func(t *testing.T, pool *dataplane.Pool, table *Table) {
			small(t, table, "p", 5, false)
			arriving(t, pool, table, "o", second, 100)
			table.dropObject("o", first, errOver)
		}, 105, 2},
		{"only complete copies are kept", func(t *testing.T, pool *dataplane.Pool, table *Table) {
			arriving(t, pool, table, "o", first, 100)
			small(t, table, "p", 5, false)
			table.KeepComplete(errOver)
		}, 5, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			pool := dataplane.NewPool(dataplane.NewBudget(10_000))
			table := NewTable(pool.Budget())
			c.do(t, pool, table)
			if used := pool.Budget().Used(); used != c.used+c.left*copyCost {
				t.Errorf("%d bytes are reserved, want %d and %d copies", used, c.used, c.left)
			}
			table.Close(errOver)
			if used := pool.Budget().Used(); used != 0 {
				t.Errorf("%d bytes are left", used)
			}
		})
	}
}

// grants plays the owner of all objects: the test answers each request.
type grants struct {
	Directory
	asked   chan asked
	handled func() // ends the evictor, behind what it was sent
	crash   func() // has it panic
}

type asked struct {
	id      phalanx.ObjectID
	body    directory.Body
	deliver func(phalanx.NodeID, directory.Result)
}

func (g *grants) Nums(uint64) uint64 { return 1 }

func (g *grants) Request(id phalanx.ObjectID, _ uint64, body directory.Body, deliver func(phalanx.NodeID, directory.Result)) {
	g.asked <- asked{id, body, deliver}
}

// answer takes the next request, which must be to evict id.
func (g *grants) answer(t *testing.T, id phalanx.ObjectID, kind phalanx.Kind) {
	t.Helper()
	select {
	case a := <-g.asked:
		if e, ok := a.body.(directory.Evict); a.id != id || !ok || e.Gen != first {
			t.Fatalf("%T of %s, not Evict of %s", a.body, a.id, id)
		}
		a.deliver("owner", directory.Result{Waiting: true})
		a.deliver("owner", directory.Result{Kind: kind})
	case <-t.Context().Done():
		t.Fatalf("nobody asks to evict %s", id)
	}
}

const (
	one   = 30 + copyCost // a copy of 30 bytes
	spare = 10
)

// evicting starts the evictor of a node with a cap of capacity bytes.
func evicting(t *testing.T, capacity int64) (g *grants, pool *dataplane.Pool, table *Table) {
	system := actor.NewActorSystem()
	g = &grants{asked: make(chan asked, 1)}
	pool = dataplane.NewPool(dataplane.NewBudget(capacity))
	table = NewTable(pool.Budget())
	pid := system.Root.Spawn(NewEvictor(&Env{Self: "n", System: system, Table: table, Pool: pool, Directory: g}))
	pool.Budget().OnPressure(func(need int64) { Press(system, pid, need) })
	t.Cleanup(func() {
		_ = system.Root.StopFuture(pid).Wait()
		system.Shutdown()
	})
	g.crash = func() { system.Root.Send(pid, actors.Crash{}) }
	g.handled = func() { _ = system.Root.PoisonFuture(pid).Wait() }
	return g, pool, table
}

// wait has somebody wait for room, and tells how that ends.
func wait(pool *dataplane.Pool, need int64) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- pool.Budget().Reserve(context.Background(), need) }()
	return ended
}

// crowded starts an evictor on a node with three copies and little to spare, and
// has somebody wait for room.
func crowded(t *testing.T, need int64) (*grants, *Table, <-chan error) {
	g, pool, table := evicting(t, 3*one+spare)
	for i := range 3 {
		small(t, table, phalanx.ObjectID(fmt.Sprint("o", i)), 30, false)
	}
	return g, table, wait(pool, need)
}

func TestEvictorAsksForTheOldestFirst(t *testing.T) {
	g, table, ended := crowded(t, one+spare+1)
	g.answer(t, "o0", phalanx.ErrUnavailable) // the only copy
	g.answer(t, "o1", 0)
	g.answer(t, "o2", 0)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	whole := table.Complete() // before: a copy is dropped in one go for who looks, but what waits is granted in the midst
	if used := table.budget.Used(); used != one+one+spare+1 || !slices.Equal(whole, []phalanx.ObjectID{"o0"}) {
		t.Errorf("%d bytes are reserved, complete are %v", used, whole)
	}
}

func TestEvictorStopsWhenThereIsRoom(t *testing.T) {
	g, table, ended := crowded(t, one+spare)
	g.answer(t, "o0", 0)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	whole := table.Complete()
	if used := table.budget.Used(); used != 3*one+spare || len(whole) != 2 {
		t.Errorf("%d bytes are reserved, complete are %v", used, whole)
	}
}

// Bytes that a stream lets go of a little later than the copy is dropped are
// waited for: nothing else goes in their place.
func TestEvictorWaitsForWhatComes(t *testing.T) {
	const size = 10 * copyCost
	g, pool, table := evicting(t, size+30+2*copyCost)
	big := arriving(t, pool, table, "big", first, size)
	if _, err := big.buffer.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	table.finish(big, big.meta, phalanx.Digest{}, false)
	small(t, table, "other", 30, false)
	big.buffer.Retain()
	ended := wait(pool, size)
	g.answer(t, "big", 0)
	g.handled()
	if len(g.asked) > 0 {
		t.Errorf("%s is asked for", (<-g.asked).id)
	}
	big.buffer.Release()
	if err := <-ended; err != nil || table.lookup("other") == nil {
		t.Errorf("%v, complete are %v", err, table.Complete())
	}
}

// A copy that may not go now may later: another node gets one, or who waits
// would wait for ever.
func TestEvictorLooksAgain(t *testing.T) {
	g, _, ended := crowded(t, one)
	for range 2 {
		for i := range 3 {
			g.answer(t, phalanx.ObjectID(fmt.Sprint("o", i)), phalanx.ErrUnavailable)
		}
	}
	g.answer(t, "o0", 0)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// Who waits for room has pressed an evictor that has failed since: it goes on.
func TestEvictorThatPanics(t *testing.T) {
	g, table, ended := crowded(t, one)
	<-g.asked
	g.crash()
	g.answer(t, "o0", phalanx.ErrUnavailable)
	g.answer(t, "o1", 0)
	if err := <-ended; err != nil || table.lookup("o0") == nil {
		t.Errorf("%v, complete are %v", err, table.Complete())
	}
}
