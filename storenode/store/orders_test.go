package store

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// told is a directory that keeps the events for owners.
type told struct {
	mute
	all *[]any
}

func (d told) Tell(_ phalanx.NodeID, _ phalanx.ObjectID, ev directory.Event) {
	*d.all = append(*d.all, ev)
}

// A node that leaves fetches nothing that an owner orders it to keep. It says that it has
// heard, so that the owner does not repeat itself.
func TestNoOrderIsCarriedOutWhileTheNodeLeaves(t *testing.T) {
	var all []any
	env := alone(t)
	env.Directory = told{all: &all}
	env.leaves.Store(true)
	s := &Store{env: env}
	s.pushed(nil, Pushed{From: "owner#1", Push: directory.Push{To: env.Self, Object: "x", Order: directory.PushCopy, Gen: first, Seq: 7}})
	if s.arrival("x") != nil {
		t.Error("it fetches the object")
	}
	if len(all) != 1 || all[0] != (directory.PushAcked{From: env.Self, Object: "x", Seq: 7}) {
		t.Errorf("it said %+v", all)
	}
}

// later is a directory whose view has a shard in an epoch that begins at some call.
type later struct {
	told
	epochs *[]uint64 // of the next calls, the last one for all that follow
}

func (d later) Epoch(phalanx.ObjectID) uint64 {
	e := (*d.epochs)[0]
	if len(*d.epochs) > 1 {
		*d.epochs = (*d.epochs)[1:]
	}
	return e
}

func (d later) Request(_ phalanx.ObjectID, _ uint64, b directory.Body, _ func(phalanx.NodeID, directory.Result)) {
	*d.all = append(*d.all, b)
}

// An order to drop that comes late, from the owner of a former epoch, drops nothing: the
// present owner may have been told of the copy, as the only one. If the epoch begins
// while the order is carried out, the present owner hears that the copy is gone.
func TestOrderOfAFormerEpoch(t *testing.T) {
	acked := directory.PushAcked{From: "n1#1", Object: "o0", Seq: 7<<32 | 5}
	for name, test := range map[string]struct {
		epochs []uint64
		stays  bool
		told   []any
	}{
		"before":    {[]uint64{7}, false, []any{acked}},
		"after":     {[]uint64{10}, true, nil},
		"meanwhile": {[]uint64{7, 10}, false, []any{directory.Drop{Gen: first}, acked}},
	} {
		var all []any
		env := alone(t)
		env.Directory = later{told{all: &all}, &test.epochs}
		c := small(t, env.Table, "o0", 30, false)
		c.Gen = first
		s := &Store{env: env}
		s.pushed(nil, Pushed{From: "owner#1", Push: directory.Push{To: env.Self, Object: "o0", Order: directory.PushDrop, Gen: first, Seq: 7<<32 | 5}})
		if stays := env.Table.lookup("o0") != nil; stays != test.stays || !slices.Equal(all, test.told) {
			t.Errorf("%s: the copy stays: %v; it told %+v", name, stays, all)
		}
	}
}

// An owner that takes a complete copy back hears that it is gone: it would list it by a
// report that comes after the order was given. One that takes an older generation back says
// nothing about the present copy.
func TestAbortOfACompleteCopy(t *testing.T) {
	older := phalanx.Generation{Epoch: first.Epoch - 1, Seq: 9}
	acked := directory.PushAcked{From: "n1#1", Object: "o0", Seq: 5}
	for gen, want := range map[phalanx.Generation][]any{first: {directory.Drop{Gen: first}, acked}, older: {acked}} {
		var all []any
		env := alone(t)
		env.Directory = later{told{all: &all}, &[]uint64{0}}
		c := small(t, env.Table, "o0", 30, false)
		c.Gen = first
		s := &Store{env: env}
		s.pushed(nil, Pushed{From: "owner#1", Push: directory.Push{To: env.Self, Object: "o0", Order: directory.PushAbort, Gen: gen, Seq: 5}})
		if stays := env.Table.lookup("o0") != nil; stays != (gen == older) || !slices.Equal(all, want) {
			t.Errorf("abort of %v: the copy stays: %v; it told %+v", gen, stays, all)
		}
	}
}

// A copy for which the node asks for leave to evict is not announced: it may be gone by
// the time the owner hears that.
func TestIfWhole(t *testing.T) {
	table := NewTable(dataplane.NewBudget(1 << 20))
	c := small(t, table, "o0", 30, false)
	number := func() uint64 { return 7 }
	if num, _, ok := table.ifWhole("o0", c.Gen, number); !ok || num != 7 {
		t.Errorf("%d, %v", num, ok)
	}
	if v, _ := table.victim(1, func(int) bool { return false }); v != c {
		t.Fatalf("leave to evict %v is asked for", v)
	}
	if _, _, ok := table.ifWhole("o0", c.Gen, number); ok {
		t.Error("it counts although leave to evict it is asked for")
	}
}

// An order to keep a copy that comes late, of a generation that was deleted since, pins
// nothing of the present one. Nor does a call that has waited since then.
func TestLateOrderToKeepACopy(t *testing.T) {
	for name, test := range map[string]struct {
		has, order phalanx.Generation
		waited     bool // the copy came after the order
		pinned     bool
	}{
		"in time":      {first, first, false, true},
		"late":         {second, first, false, false},
		"early":        {first, second, false, false},
		"waited":       {first, first, true, true},
		"another came": {second, first, true, false},
	} {
		var all []any
		env := alone(t)
		env.Directory = later{told{all: &all}, &[]uint64{1}}
		s := &Store{env: env}
		order := Pushed{From: "owner#1", Push: directory.Push{To: env.Self, Object: "o0", Order: directory.PushCopy, Gen: test.order, Copies: 2, Seq: 7}}
		enter := func() *objectCopy {
			env.Table.budget.Force(30)
			return env.Table.keepInline(storenode.Info{Object: "o0", Gen: test.has, Meta: phalanx.Meta{Size: 30}}, make([]byte, 30), "", false)
		}
		var c *objectCopy
		if !test.waited {
			c = enter()
		}
		s.pushed(nil, order)
		if test.waited {
			a := s.arrival("o0")
			c = enter()
			for _, cl := range a.take() {
				env.hand(cl, c)
			}
		}
		announced := slices.ContainsFunc(all, func(e any) bool { b, ok := e.(directory.Announce); return ok && b.Pinned })
		if c.Pinned != test.pinned || announced != test.pinned || (c.Copies == 2) != test.pinned {
			t.Errorf("%s: pinned %v, announced %v, %d copies", name, c.Pinned, announced, c.Copies)
		}
		env.Table.release(c)
	}
}

// An order to take a newer generation drops an older complete copy, also if its fetch or Put has
// not ended yet: they would not drop it.
func TestResetOfACopyThatHasJustCome(t *testing.T) {
	for _, busy := range []bool{false, true} {
		var all []any
		env := alone(t)
		env.Directory = told{all: &all}
		small(t, env.Table, "o0", 30, false)
		s := &Store{env: env}
		if busy {
			env.active.puts.Add("o0", env.System.NewLocalPID("put"))
		}
		s.pushed(nil, Pushed{From: "owner#1", Push: directory.Push{To: env.Self, Object: "o0", Order: directory.PushReset, Gen: second, Seq: 1<<32 | 5}})
		if env.Table.lookup("o0") != nil || len(all) != 1 {
			t.Errorf("busy %v: the copy stays: %v; it told %+v", busy, env.Table.lookup("o0") != nil, all)
		}
	}
}

// An order that comes late, of a generation that was deleted since, neither ends the wait for
// the present one nor stands for the order to keep that.
func TestLateOrdersWhileAnotherIsCarriedOut(t *testing.T) {
	var all []any
	env := alone(t)
	env.Directory = later{told{all: &all}, &[]uint64{1}}
	s := &Store{env: env}
	order := func(o directory.Order, gen phalanx.Generation) {
		s.pushed(nil, Pushed{From: "owner#1", Push: directory.Push{To: env.Self, Object: "o0", Order: o, Gen: gen, Copies: 2, Seq: 7}})
	}
	waits := func() (gens []phalanx.Generation) {
		for _, cl := range s.arrival("o0").waiting() {
			if !cl.answered() {
				gens = append(gens, cl.pin)
			}
		}
		return gens
	}
	order(directory.PushCopy, second)
	s.arrival("o0").pid = env.System.NewLocalPID("fetch") // it takes no message
	order(directory.PushSpare, first)
	if got := waits(); !slices.Equal(got, []phalanx.Generation{second}) {
		t.Errorf("after an order not to keep what was before, it waits for %v", got)
	}
	order(directory.PushCopy, first)
	order(directory.PushCopy, second) // again
	if got := waits(); !slices.Equal(got, []phalanx.Generation{second, first}) {
		t.Errorf("it waits for %v", got)
	}
	order(directory.PushSpare, second)
	if got := waits(); !slices.Equal(got, []phalanx.Generation{first}) {
		t.Errorf("after an order not to keep it, it waits for %v", got)
	}
	for _, cl := range s.arrival("o0").take() {
		cl.answer(nil, nil, env.Ended())
	}
}

// A node does not fetch a copy that its owner has spared: the fetch hears that its caller has
// gone.
func TestASparedCopyIsNotFetched(t *testing.T) {
	storeBubble(t, func(t *testing.T, e *Env, d *scripted) {
		order := func(o directory.Order) {
			e.send(e.StorePID, Pushed{From: "o", Push: directory.Push{To: e.Self, Object: "x", Order: o, Gen: first, Copies: 2, Seq: 1<<32 | 9}})
			synctest.Wait()
		}
		order(directory.PushCopy)
		num := e.arrivalOf("x").num
		order(directory.PushSpare)
		if e.Fetching() != 0 || !slices.ContainsFunc(d.reports, func(r directory.Request) bool { return r.Body == (directory.Cancel{Num: num}) }) {
			t.Errorf("%d objects arrive; the owner was told %+v", e.Fetching(), d.reports)
		}
	})
}

// An order to take a newer generation leaves the part that a fetch has to that fetch: it
// clears it itself, and goes on.
func TestResetOfAPartThatArrives(t *testing.T) {
	for _, busy := range []bool{false, true} {
		var all []any
		env := alone(t)
		env.Directory = told{all: &all}
		arriving(t, env.Pool, env.Table, "o0", first, 30)
		s := &Store{env: env}
		if busy {
			env.active.fetches = map[phalanx.ObjectID]*arrival{"o0": {object: "o0", pid: env.System.NewLocalPID("fetch")}}
		}
		s.pushed(nil, Pushed{From: "owner#1", Push: directory.Push{To: env.Self, Object: "o0", Order: directory.PushReset, Gen: second, Seq: 1<<32 | 5}})
		if stays := env.Table.lookup("o0") != nil; stays != busy {
			t.Errorf("busy %v: the part stays: %v", busy, stays)
		}
	}
}

// A copy that arrives when the node is about to leave is not pinned: its owner would rely on it
// after the node has listed the copies that it hands over.
func TestNoCopyIsPinnedWhileTheNodeLeaves(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		env := alone(t)
		c := small(t, env.Table, "o0", 30, false)
		env.leaves.Store(leaves)
		if env.pin(&call{pin: first}, c); env.Table.isPinned(c) == leaves {
			t.Errorf("leaves %v: it is pinned: %v", leaves, env.Table.isPinned(c))
		}
	}
}

// A view or a reader for a call that has its answer already is released.
func TestACallThatIsAnsweredTwice(t *testing.T) {
	env := alone(t)
	c := small(t, env.Table, "o0", 30, false)
	got := 0
	cl := &call{ctx: t.Context(), over: make(chan struct{}), timer: time.AfterFunc(time.Hour, func() {}), deliver: func(any) { got++ }}
	if !cl.answer(nil, nil, env.Ended()) || cl.timer.Stop() {
		t.Error("its deadline is waited for although it is answered")
	}
	if cl.answer(env.Table.View("o0"), nil, nil) || cl.answer(nil, newReader(cl, env.Table, c, nil), nil) || got != 1 {
		t.Errorf("it is answered %d times", got)
	}
	if c.Users() != 0 {
		t.Errorf("%d users keep its bytes", c.Users())
	}
}
