package store

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// grants plays the owner of all objects: the test answers each request.
type grants struct {
	Directory
	env     *Env
	pool    *dataplane.Pool
	asked   chan asked
	shards  int
	handled func() // ends the evictor, after the messages sent to it
	crash   func() // has it panic
}

type asked struct {
	id      phalanx.ObjectID
	body    directory.Body
	deliver func(phalanx.NodeID, directory.Result)
}

func (g *grants) Nums(uint64) uint64 { return 1 }
func (g *grants) Shards() int        { return g.shards }

func (g *grants) Request(id phalanx.ObjectID, _ uint64, body directory.Body, deliver func(phalanx.NodeID, directory.Result)) {
	if d, ok := body.(directory.Drop); ok && d.Granted { // it follows each eviction
		return
	}
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
	system, start := actor.NewActorSystem(), time.Now()
	g = &grants{asked: make(chan asked, 100), shards: 1}
	pool = dataplane.NewPool(dataplane.NewBudget(capacity))
	g.pool = pool
	table = NewTable(pool.Budget())
	g.env = &Env{Self: "n", System: system, Table: table, Pool: pool, Directory: g, Now: func() time.Duration { return time.Since(start) }}
	pid := system.Root.Spawn(NewEvictor(g.env))
	pool.Budget().OnPressure(func(need int64) { Press(system, pid, need) })
	t.Cleanup(func() {
		_ = system.Root.StopFuture(pid).Wait()
		system.Shutdown()
	})
	g.crash = func() { system.Root.Send(pid, actors.Crash{}) }
	g.handled = func() { _ = system.Root.PoisonFuture(pid).Wait() }
	return g, pool, table
}

// wait has a caller wait for room, and tells how that ends.
func wait(pool *dataplane.Pool, need int64) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- pool.Budget().Reserve(context.Background(), need) }()
	return ended
}

// crowded starts an evictor on a node with three copies and little to spare, and
// has a caller wait for room.
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
	whole := table.Complete() // before Used: Complete waits until the drop is over, in whose midst the budget grants the wait
	if used := table.budget.Used(); used != one+one+spare+1 || len(whole) != 1 || whole[0].Object != "o0" {
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
	table.finish(big, big.Meta, phalanx.Digest{}, false)
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

// The evictor asks again about a refused copy: another node may have got one. Else a
// reservation would wait for ever.
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

// An evictor that panics forgets its requests, but not the waiting reservations: it goes on
// with another copy, and takes the answer about the first one.
func TestEvictorThatPanics(t *testing.T) {
	g, table, ended := crowded(t, one)
	before := <-g.asked
	g.crash()
	g.answer(t, "o1", phalanx.ErrUnavailable)
	before.deliver("owner", directory.Result{})
	if err := <-ended; err != nil || table.lookup("o0") != nil {
		t.Errorf("%v, complete are %v", err, table.Complete())
	}
}

// apart returns ids of n shards of 64, in order of the shards.
func apart(n int) []phalanx.ObjectID {
	byShard := make([]phalanx.ObjectID, 64)
	for i := 0; slices.Contains(byShard[:n], ""); i++ {
		id := phalanx.ObjectID(fmt.Sprint("o", i))
		byShard[id.Shard(64)] = id
	}
	return byShard[:n]
}

// spread is crowded with n copies of as many shards.
func spread(t *testing.T, n int, need int64) (*grants, *Table, []phalanx.ObjectID, <-chan error) {
	g, pool, table := evicting(t, int64(n)*one+spare)
	g.shards = 64
	ids := apart(n)
	for _, id := range ids {
		small(t, table, id, 30, false)
	}
	return g, table, ids, wait(pool, need)
}

func TestEvictorAsksSeveralOwnersAtOnce(t *testing.T) {
	g, table, ids, ended := spread(t, 20, 18*one)
	first := make([]asked, 16)
	for i := range first {
		if first[i] = <-g.asked; first[i].id != ids[i] {
			t.Errorf("%s is asked about, not %s", first[i].id, ids[i])
		}
	}
	first[3].deliver("owner", directory.Result{})
	if next := <-g.asked; next.id != ids[16] {
		t.Errorf("%s is asked about, not %s", next.id, ids[16])
	} else {
		next.deliver("owner", directory.Result{})
	}
	for i, a := range first {
		if i != 3 {
			a.deliver("owner", directory.Result{})
		}
	}
	g.answer(t, ids[16+1], 0)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if whole := table.Complete(); len(whole) != 2 {
		t.Errorf("complete are %v", whole)
	}
	if len(g.asked) > 0 {
		t.Errorf("%s is asked about, which nobody needs", (<-g.asked).id)
	}
}

// A shard whose owner says nothing holds up no other.
func TestEvictorIsNotHeldUpByASilentOwner(t *testing.T) {
	g, table, ids, ended := spread(t, 3, one+spare)
	silent := <-g.asked
	g.answer(t, ids[1], 0)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if silent.id != ids[0] || table.lookup(ids[0]) == nil {
		t.Errorf("%s was asked about, complete are %v", silent.id, table.Complete())
	}
}

// The evictor uses a late grant while a reservation still waits for room.
func TestLateGrantIsUsed(t *testing.T) {
	g, table, ids, ended := spread(t, 3, one+spare)
	silent := <-g.asked
	other := <-g.asked
	silent.deliver("owner", directory.Result{})
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if table.lookup(ids[0]) != nil {
		t.Error("it is here yet")
	}
	other.deliver("owner", directory.Result{}) // no reservation needs it any more
	g.announced(t, ids[1])
}

// A grant that comes when no reservation waits any more is given back: the owner lists the
// copy again, and the evictor can ask about it again.
func TestLateGrantIsGivenBack(t *testing.T) {
	g, table, ids, ended := spread(t, 3, one+spare)
	silent := <-g.asked
	g.answer(t, ids[1], 0)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	silent.deliver("owner", directory.Result{})
	g.announced(t, ids[0])
	if table.lookup(ids[0]) == nil {
		t.Error("it is gone")
	}
	table.budget.Release(one + spare)
	ended = wait(g.pool, one+spare+one)
	g.answer(t, ids[0], 0)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// A copy that was dropped while leave to evict it was asked for has come again. Nothing
// that the evictor says takes that one off its owner's list.
func TestAGrantIsNotAboutACopyThatHasComeSince(t *testing.T) {
	g, table, ended := crowded(t, one+spare)
	a := <-g.asked
	gone := table.lookup(a.id)
	gone.again.Store(true) // as when its owner was told of it once more
	table.drop(gone, &dataplane.Ended{Reason: dataplane.Gone})
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	table.budget.Release(one + spare)
	again := small(t, table, a.id, 30, false)
	a.deliver("owner", directory.Result{})
	g.handled()
	for len(g.asked) > 0 {
		if told := <-g.asked; told.id == a.id && told.body == (directory.Drop{Gen: first}) {
			t.Errorf("its owner is told that %s is gone", a.id)
		}
	}
	if table.lookup(a.id) != again {
		t.Error("it is gone")
	}
}

// A copy that a reader has begun to use since the evictor asked for leave stays, and its
// owner hears so.
func TestEvictionSparesWhatIsUsedMeanwhile(t *testing.T) {
	for _, c := range []struct {
		name string
		use  func(t *testing.T, table *Table, c *objectCopy) (over func())
	}{
		{"by a reader", func(t *testing.T, table *Table, c *objectCopy) func() {
			r := newReader(&call{ctx: t.Context()}, table, c, nil)
			return func() {
				if b, err := io.ReadAll(r); err != nil || len(b) != 30 {
					t.Errorf("%d bytes are read: %v", len(b), err)
				}
				_ = r.Close()
			}
		}},
		{"by a view", func(_ *testing.T, table *Table, c *objectCopy) func() { return table.View(c.Object).Release }},
		{"by a stream", func(t *testing.T, table *Table, c *objectCopy) func() {
			if !table.serve(c, 1) {
				t.Fatal("it cannot be served")
			}
			return func() { table.served(c) }
		}},
		{"by a place", func(t *testing.T, table *Table, c *objectCopy) func() {
			got, err := (&Env{Table: table}).retainSource(c.Object, c.Gen)
			if err != nil || got != c {
				t.Fatal(err)
			}
			return func() { table.release(c) }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, pool, table := evicting(t, 30+copyCost)
			used := arriving(t, pool, table, "used", first, 30)
			if _, err := used.buffer.Write(make([]byte, 30)); err != nil {
				t.Fatal(err)
			}
			table.finish(used, used.Meta, phalanx.Digest{}, false)
			ended := wait(pool, one)
			a := <-g.asked
			over := c.use(t, table, used)
			a.deliver("owner", directory.Result{})
			g.announced(t, "used")
			if table.lookup("used") != used {
				t.Fatal("it is gone")
			}
			over()
			g.answer(t, "used", 0)
			if err := <-ended; err != nil || table.lookup("used") != nil {
				t.Error(err, table.Complete())
			}
		})
	}
}

// The node hands a copy to the callers that wait for it before the evictor may drop it.
func TestNothingIsEvictedBeforeItIsHanded(t *testing.T) {
	table := NewTable(dataplane.NewBudget(1 << 20))
	table.budget.TryReserve(30)
	c := table.keepInline(storenode.Info{Object: "o", Gen: first, Meta: phalanx.Meta{Size: 30}}, make([]byte, 30), "", false)
	if victim, _ := table.victim(1, nobody); victim != nil {
		t.Errorf("%s is chosen", victim.Object)
	}
	table.release(c)
	if victim, _ := table.victim(1, nobody); victim != c {
		t.Errorf("%v is chosen", victim)
	}
}

// The copies of a node that joins another cluster lie in other shards there.
func TestVictimInAnotherNumberOfShards(t *testing.T) {
	table := NewTable(dataplane.NewBudget(1 << 20))
	ids := apart(8)
	for _, id := range ids {
		small(t, table, id, 30, false)
	}
	for i, shards := range []int{64, 3, 4096, 1} {
		c, shard := table.victim(shards, nobody)
		if c == nil || c.Object != ids[i] || shard != ids[i].Shard(shards) {
			t.Fatalf("of %d shards: %v in shard %d, not %s", shards, c, shard, ids[i])
		}
	}
	table.reclaimAsked()
	for range ids {
		if c, _ := table.victim(64, nobody); c == nil {
			t.Fatal("what was asked about before cannot be asked about again")
		}
	}
}

// announced takes the next report, which must list id's complete copy again.
func (g *grants) announced(t *testing.T, id phalanx.ObjectID) {
	t.Helper()
	a := <-g.asked
	if b, ok := a.body.(directory.Announce); a.id != id || !ok || !b.Complete || b.Gen != first {
		t.Fatalf("%+v of %s, not an announcement of %s", a.body, a.id, id)
	}
}

// BenchmarkVictim chooses one of n copies and gives it back, while the owner of
// every other one is busy.
func BenchmarkVictim(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			table := NewTable(dataplane.NewBudget(1 << 40))
			for i := range n {
				c := table.keepInline(storenode.Info{Object: phalanx.ObjectID(fmt.Sprint("o", i)), Gen: first}, nil, "", false)
				table.release(c)
			}
			for b.Loop() {
				c, _ := table.victim(64, func(shard int) bool { return shard%2 == 0 })
				table.keep(c, false)
			}
		})
	}
}
