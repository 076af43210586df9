package store

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/node/owner"
	nput "github.com/phalanx-go/phalanx/node/put"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// forgetful notes forgotten requests among the reports.
type forgetful struct{ later }

func (d forgetful) Forget(num uint64) { *d.all = append(*d.all, num) }

func noting(t *testing.T) (env *Env, all *[]any) {
	env, all = alone(t), &[]any{}
	env.Directory = forgetful{later{told{all: all}, &[]uint64{1}}}
	return env, all
}

// A copy can be dropped or replaced while its owner is asked for leave to evict it.
func TestStanding(t *testing.T) {
	table := NewTable(dataplane.NewBudget(1 << 20))
	c := small(t, table, "o0", 30, false)
	is := func(want copies.Standing) {
		t.Helper()
		if got := table.standing(c); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	is(copies.Present)
	table.drop(c, &dataplane.Ended{Reason: dataplane.Gone})
	is(copies.Dropped)
	small(t, table, "o0", 30, false)
	is(copies.Replaced)
}

// A copy that stays is announced. If an order has dropped it meanwhile, the owner hears so.
func TestACopyThatStays(t *testing.T) {
	for _, dropped := range []bool{false, true} {
		env, all := noting(t)
		c := small(t, env.Table, "o0", 30, false)
		c.Gen = first
		want := 1
		if dropped {
			env.Table.drop(c, &dataplane.Ended{Reason: dataplane.Gone})
			want = 2
		}
		(&evictor{env: env}).do(nil, []copies.EvictorEffect[*objectCopy]{copies.Stay[*objectCopy]{Copy: c}})
		if len(*all) != want || (*all)[want-1] == (directory.Drop{Gen: first}) != dropped {
			t.Errorf("dropped %v: it told %+v", dropped, *all)
		}
	}
}

// Copies about which the evictor of an earlier life has asked can be evicted.
func TestWhatAnEarlierLifeHasAskedAbout(t *testing.T) {
	env, _ := noting(t)
	g := &grants{asked: make(chan asked, 10), shards: 1}
	env.Directory = g
	c := small(t, env.Table, "o0", 30, false)
	if victim, _ := env.Table.victim(1, nobody); victim != c {
		t.Fatal("it is not chosen")
	}
	pid := env.System.Root.Spawn(NewEvictor(env))
	Press(env.System, pid, 1)
	g.answer(t, "o0", 0)
	_ = env.System.Root.PoisonFuture(pid).Wait()
	if env.Table.lookup("o0") != nil {
		t.Error("it is here yet")
	}
}

// An order that is repeated after the deadline of the call that it has begun begins another.
func TestAnOrderToCopyIsRepeatedTooLate(t *testing.T) {
	for late, want := range map[bool]int{false: 1, true: 2} {
		env, _ := noting(t)
		s := &Store{env: env}
		cl := &call{id: 77, op: "copy", object: "o0", pin: first, ctx: t.Context(), over: make(chan struct{}), timer: time.AfterFunc(time.Hour, func() {}), deliver: func(any) {}}
		a := &arrival{object: "o0", pid: env.System.NewLocalPID("fetch"), calls: map[uint64]*call{77: cl}}
		env.active.fetches = map[phalanx.ObjectID]*arrival{"o0": a}
		if late {
			cl.timer.Stop()
		}
		s.pushed(nil, Pushed{From: "owner#1", Push: directory.Push{To: env.Self, Object: "o0", Order: directory.PushCopy, Gen: first, Seq: 1<<32 | 5}})
		if got := a.waiting(); len(got) != want {
			t.Errorf("late %v: %d calls wait", late, len(got))
		}
		for _, c := range a.take() {
			c.answer(nil, nil, env.Ended())
		}
	}
}

// A node forgets a request before it withdraws it, and does not call a generation gone of which
// it has all.
func TestMessagesToTheOwner(t *testing.T) {
	env, all := noting(t)
	env.message("o0", owner.Message{How: owner.Withdraw, Num: 9, Body: directory.Cancel{Num: 9}})
	drop := owner.Message{How: owner.Unkeep, Gen: first, Body: directory.Drop{Gen: first}}
	env.message("o0", drop)
	small(t, env.Table, "o0", 30, false).Gen = first
	env.message("o0", drop)
	if want := []any{uint64(9), directory.Cancel{Num: 9}, directory.Drop{Gen: first}}; !slices.Equal(*all, want) {
		t.Errorf("%+v, want %+v", *all, want)
	}
}

// A Get that gives up waiting for room of inline bytes calls them gone, unless a Put has brought the
// same ones meanwhile.
func TestInlineBytesThatAreGivenUp(t *testing.T) {
	for _, put := range []bool{false, true} {
		env, all := noting(t)
		want := []any{directory.Drop{Gen: first}}
		if put {
			small(t, env.Table, "o0", 30, false).Gen = first
			want = nil
		}
		f := &fetcher{env: env, object: "o0", core: transfer.NewReceiver(transfer.Config{Object: "o0"})}
		f.inline.Wait(transfer.TakeInline{Gen: first})
		f.withdraw(phalanx.Generation{})
		if !slices.Equal(*all, want) {
			t.Errorf("put %v: it told %+v", put, *all)
		}
	}
}

// A Put notes in which epoch it asked the owner to list this node, and gives it bytes of its
// own.
func TestWhatAPutAsksOfTheOwner(t *testing.T) {
	env, all := noting(t)
	buf := env.Pool.TryBuffer(3)
	if _, err := buf.Write([]byte("abc")); err != nil || buf.Finish(3) != nil {
		t.Fatal(err)
	}
	p := &put{env: env, req: storenode.Put{Object: "o0"}, buffer: buf, late: &handover[func()]{}}
	p.carryOut(transfer.AwaitCopies{Num: 1, Copies: 2})
	if p.has.Entry(3).Epoch != 0 {
		t.Error("an epoch is noted though nothing is listed")
	}
	p.carryOut(transfer.BindInline{Num: 2, Meta: phalanx.Meta{Size: 3}})
	b := (*all)[1].(directory.PutInline)
	if epoch := p.has.Entry(3).Epoch; epoch != 1 || string(b.Bytes) != "abc" || &b.Bytes[0] == &buf.Bytes(0, 3)[0] {
		t.Errorf("epoch %d, %q", epoch, b.Bytes)
	}
	buf.Release()
}

// The bytes of a Put go to a fetch, which ends without them. The Put has ended as well by then, and the
// node knows no more whether the owner lists them: it announces them.
func TestTheBytesOfAPutAfterAFetch(t *testing.T) {
	e := alone(t)
	var all []any
	e.Directory = later{told{all: &all}, &[]uint64{1}}
	store, sent := heard(e)
	e.StorePID = store
	part := arriving(t, e.Pool, e.Table, "x", second, 30)
	buf := e.Pool.TryBuffer(30)
	_, _ = buf.Write(make([]byte, 30))
	e.keep(supply{info: storenode.Info{Object: "x", Gen: second, Meta: phalanx.Meta{Size: 30}}, buffer: buf, entry: nput.Copy{Epoch: 1, Size: 30}})
	if len(*sent) != 1 || len(all) > 0 {
		t.Fatalf("the store gets %+v, and the owner %+v", *sent, all)
	}
	e.Table.drop(part, &dataplane.Ended{Reason: dataplane.Gone})
	e.keep((*sent)[0].(supply))
	if len(all) != 1 || all[0].(directory.Announce).Gen != second {
		t.Errorf("the owner hears %+v", all)
	}
}

// A node says that it has no copy, while the answer to an earlier look-up is on its way with small bytes: the
// owner does not list them any more.
func TestALookUpHearsThatNoCopyIsHere(t *testing.T) {
	e, all := noting(t)
	a := &arrival{object: "x"}
	e.active.fetches = map[phalanx.ObjectID]*arrival{"x": a}
	e.reportDrop("x", first)
	c := e.keepInline(a, storenode.Info{Object: "x", Gen: second, Meta: phalanx.Meta{Size: 0}}, smallBytes{listed: 1})
	e.Table.release(c)
	if len(*all) != 2 || (*all)[1].(directory.Announce).Gen != second {
		t.Errorf("the owner hears %+v", *all)
	}
}

// The readers of a part hear why its fetch has failed.
func TestWhyAPartEnds(t *testing.T) {
	for _, kind := range []phalanx.Kind{0, phalanx.ErrLost} {
		e := alone(t)
		f := &fetcher{env: e, object: "x", arrival: &arrival{object: "x"}, store: e.System.NewLocalPID("store")}
		c := arriving(t, e.Pool, e.Table, "x", first, 30)
		c.buffer.Retain()
		defer c.buffer.Release()
		f.setCopy(c)
		want := phalanx.ErrAborted // no caller waits any more
		if kind != 0 {
			f.result, want = &phalanx.Error{Kind: kind}, kind
		}
		f.discard()
		if err := c.buffer.Err(); !errors.Is(err, want) {
			t.Errorf("they hear %v, want %v", err, want)
		}
	}
}

// The node begins to make an object itself while it fetches it, and its callers wait for that. A caller that has a
// Reader of the part stays with the fetch, unless the part is gone.
func TestAReaderStaysWithItsFetch(t *testing.T) {
	for _, gone := range []bool{false, true} {
		e := alone(t)
		c := arriving(t, e.Pool, e.Table, "x", first, 30)
		f := &fetcher{env: e, object: "x", arrival: &arrival{object: "x"}, core: transfer.NewReceiver(transfer.Config{Self: e.Self, Object: "x"}),
			known: map[uint64]*call{7: {id: 7}}, opened: map[uint64]*reader{7: {}}}
		f.setCopy(c)
		if gone {
			e.Table.drop(c, &dataplane.Ended{Reason: dataplane.Gone})
		}
		f.leave(leave{id: 7, taken: true})
		if stays := f.opened[7] != nil && f.known[7] != nil; stays == gone {
			t.Errorf("the part is gone: %v; the caller stays: %v", gone, stays)
		}
		f.setCopy(nil)
	}
}
