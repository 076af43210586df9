package store

import (
	"slices"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/poll"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// An owner that takes this node for a holder of a final object hears that it has no copy,
// unless a fetch or a Put works on the object: that may have it soon.
func TestAFinalObjectThatIsNotHere(t *testing.T) {
	acked := directory.PushAcked{From: "n1#1", Object: "o0", Seq: 1<<32 | 5}
	for name, busy := range map[string]func(e *Env){
		"nobody": func(*Env) {},
		"a Put": func(e *Env) {
			e.active.puts.Add("o0", e.System.NewLocalPID("put"))
		},
		"a fetch": func(e *Env) {
			e.active.fetches = map[phalanx.ObjectID]*arrival{"o0": {object: "o0", pid: e.System.NewLocalPID("fetch")}}
		},
	} {
		want := []any{acked}
		if name == "nobody" {
			want = []any{directory.Drop{Gen: first}, acked}
		}
		var all []any
		env := alone(t)
		env.Directory = later{told{all: &all}, &[]uint64{1}}
		busy(env)
		s := &Store{env: env}
		s.pushed(nil, Pushed{From: "owner#1", Push: directory.Push{To: env.Self, Object: "o0", Order: directory.PushFinal, Gen: first, Seq: 1<<32 | 5}})
		if !slices.Equal(all, want) {
			t.Errorf("%s works on it: it told %+v", name, all)
		}
	}
}

// A copy that its owner does not know to be complete is announced, and leave to evict it that
// was asked for before is void. If it was dropped by that leave meanwhile, the owner hears so.
func TestACompleteCopyThatItsOwnerDoesNotKnow(t *testing.T) {
	for _, dropped := range []bool{false, true} {
		var all []any
		env := alone(t)
		env.Directory = later{told{all: &all}, &[]uint64{1}}
		c := small(t, env.Table, "o0", 30, true)
		c.Gen = first
		s := &Store{env: env}
		want := []any{directory.Announce{Gen: first, Complete: true, Pinned: true}}
		if dropped {
			env.Table.drop(c, env.ended(0, first))
			want = append(want, directory.Drop{Gen: first})
			s.announceAgain(c)
		} else {
			want = append(want, directory.PushAcked{From: "n1#1", Object: "o0", Seq: 1<<32 | 5})
			s.pushed(nil, Pushed{From: "owner#1", Push: directory.Push{To: env.Self, Object: "o0", Order: directory.PushFinal, Gen: first, Seq: 1<<32 | 5}})
		}
		if len(all) != 2 || all[0].(directory.Announce).Gen != first || !all[0].(directory.Announce).Complete || all[1] != want[1] || !c.again.Load() {
			t.Errorf("dropped %v: it told %+v, announced again: %v", dropped, all, c.again.Load())
		}
	}
}

// A Put that enters its copy later looks for a delete meanwhile; an order of a former
// epoch deletes nothing.
func TestADeleteIsNotedForPuts(t *testing.T) {
	for epoch, want := range map[uint64]phalanx.Generation{1: first, 2: {}} {
		var all []any
		env := alone(t)
		env.Directory = later{told{all: &all}, &[]uint64{epoch}}
		env.active.puts.Add("o0", env.System.NewLocalPID("put"))
		s := &Store{env: env}
		s.pushed(nil, Pushed{From: "owner#1", Push: directory.Push{To: env.Self, Object: "o0", Order: directory.PushDrop, Gen: first, Seq: 1<<32 | 5}})
		if got := env.meanwhile("o0").Deleted; got != want {
			t.Errorf("in epoch %d: %v was deleted, want %v", epoch, got, want)
		}
	}
}

// A delete is noted before the table is looked at: a Put that enters its copy after that look
// hears of it.
func TestADeleteIsNotedBeforeTheTableIsLookedAt(t *testing.T) {
	env, _ := noting(t)
	env.active.puts.Add("o0", env.System.NewLocalPID("put"))
	s, over := &Store{env: env}, make(chan struct{})
	env.Table.mu.Lock()
	go func() {
		defer close(over)
		s.pushed(nil, Pushed{From: "owner#1", Push: directory.Push{To: env.Self, Object: "o0", Order: directory.PushDrop, Gen: first, Seq: 1<<32 | 5}})
	}()
	if !poll.Holds(func() bool { return env.meanwhile("o0").Deleted == first }) {
		t.Error("the table is looked at first")
	}
	env.Table.mu.Unlock()
	<-over
}

// A verdict is carried out from its first field to its last: the fetch and the Puts of an object
// have the order before the copy goes.
func TestAnOrderIsForwardedBeforeTheCopyGoes(t *testing.T) {
	for order, gen := range map[directory.Order]phalanx.Generation{directory.PushDrop: first, directory.PushReset: second, directory.PushAbort: first} {
		env := alone(t)
		c := small(t, env.Table, "o0", 30, false)
		c.Gen = first
		heard, here := 0, false
		put := env.System.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(pushed); ok {
				heard++
				here = env.Table.lookup("o0") != nil
			}
		}, actor.WithDispatcher(actor.NewSynchronizedDispatcher(300))))
		env.active.puts.Add("o0", put)
		s := &Store{env: env}
		s.pushed(nil, Pushed{From: "owner#1", Push: directory.Push{To: env.Self, Object: "o0", Order: order, Gen: gen, Seq: 1<<32 | 5}})
		if heard != 1 || !here || env.Table.lookup("o0") != nil {
			t.Errorf("%v: heard %d times, the copy was here: %v", order, heard, here)
		}
	}
}

// A part that is taken back as an epoch begins: the owner that has given the order hears that
// it was carried out, and the next one, which may have been told of the part, that it is gone.
func TestAbortOfAPartAsAnEpochBegins(t *testing.T) {
	var all []any
	env := alone(t)
	env.Directory = later{told{all: &all}, &[]uint64{7, 10}}
	arriving(t, env.Pool, env.Table, "o0", first, 30)
	s := &Store{env: env}
	s.pushed(nil, Pushed{From: "owner#1", Push: directory.Push{To: env.Self, Object: "o0", Order: directory.PushAbort, Gen: first, Seq: 7<<32 | 5}})
	if want := []any{directory.Drop{Gen: first}, directory.PushAcked{From: "n1#1", Object: "o0", Seq: 7<<32 | 5}}; env.Table.lookup("o0") != nil || !slices.Equal(all, want) {
		t.Errorf("it told %+v", all)
	}
}
