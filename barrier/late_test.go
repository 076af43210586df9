package barrier

import (
	"context"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	core "github.com/phalanx-go/phalanx/protocol/barrier"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// aside returns a service whose calls wait in a batch.
func aside() *service {
	return &service{open: &open{calls: map[uint64]*asked{}, watchers: map[core.Key]*watch{}, holds: &holds{all: map[*Hold]struct{}{}}}, batch: core.Batch{core.Tick{}}}
}

// released returns whether a service has the core release an entry's semaphore.
func released(s *service, k core.Key, e Entry) bool {
	for _, ev := range s.batch {
		if c, ok := ev.(core.Call); ok && c.Kind == core.CallRelease && c.Key == k && c.Entry == e {
			return true
		}
	}
	return false
}

var (
	slot   = core.Key{Name: "slot"}
	holder = Entry{Host: "h"}
	enters = core.Call{ID: 1, Kind: core.CallEnter, Key: slot, Config: Config{Semaphore: Semaphore{Count: 1}}, Entry: holder}
)

// A semaphore that is granted after its caller has gone is released.
func TestASemaphoreWhoseCallerHasGone(t *testing.T) {
	for _, gone := range []bool{false, true} {
		s, ended := aside(), 0
		a := &asked{id: 1, call: enters, end: func(ending) { ended++ }}
		a.taken.Store(gone)
		s.open.calls[1] = a
		s.finish(nil, 1, ending{done: core.Done{ID: 1, Verdict: core.Fire}})
		if got := released(s, slot, holder); got != gone || (ended == 0) != gone {
			t.Errorf("its caller has gone: %v; it is released: %v; it has heard so %d times", gone, got, ended)
		}
	}
}

// A Hold that ended with the lease says so late: its entry holds the semaphore again by then, by another
// Hold, and goes on holding it.
func TestALateEndOfAHold(t *testing.T) {
	for _, late := range []bool{false, true} {
		s := aside()
		before, now := &Hold{b: &Barrier{key: slot}, entry: holder}, &Hold{b: &Barrier{key: slot}, entry: holder}
		s.open.held.Done(enters, core.Done{Verdict: core.Fire}, now)
		ended := now
		if late {
			ended = before
		}
		s.loosen(nil, ended)
		if got := released(s, slot, holder); got == late {
			t.Errorf("late %v: it is released: %v", late, got)
		}
	}
}

// The Holds of a node end that is about to leave, or that the cluster has removed, and their semaphores are
// released.
func TestHoldsInAView(t *testing.T) {
	for _, v := range []struct {
		what string
		self phalanx.NodeID
		in   view.Member
		ends bool
	}{
		{"nothing has changed", "a#1", view.Member{ID: "a#1"}, false},
		{"it is about to leave", "a#1", view.Member{ID: "a#1", Leaving: true}, true},
		{"it is another incarnation", "a#2", view.Member{ID: "a#2"}, true},
	} {
		s, h := aside(), &Hold{b: &Barrier{key: slot}, entry: holder}
		s.self = "a#1"
		h.ctx, h.end = context.WithCancelCause(t.Context())
		s.open.holds.all[h] = struct{}{}
		s.open.held.Done(enters, core.Done{Verdict: core.Fire}, h)
		s.holdsIn(nil, cluster.Viewed{Self: v.self, View: view.View{Members: []view.Member{v.in}}})
		if ended := h.ctx.Err() != nil; ended != v.ends || released(s, slot, holder) != v.ends {
			t.Errorf("%s: the Hold has ended: %v; it is released: %v", v.what, ended, released(s, slot, holder))
		}
	}
}

// A caller that joins has given up, and hears then that it has used the Config of an earlier barrier: it does not
// begin anew.
func TestAJoinThatIsGivenUpBeforeItsConfigIsRefused(t *testing.T) {
	for _, gaveUp := range []bool{false, true} {
		s, ended := aside(), 0
		a := &asked{id: 1, call: enters, joins: true, end: func(ending) { ended++ }}
		if gaveUp {
			a.why = context.Canceled
		}
		s.open.calls[1] = a
		if !s.joined(nil, core.Done{ID: 1, Verdict: core.Mismatch}) {
			t.Error("the call ends with the answer")
		}
		if again := len(s.batch) > 1; again == gaveUp || (ended == 1) != gaveUp {
			t.Errorf("it has given up: %v; it begins anew: %v, has ended %d times", gaveUp, again, ended)
		}
	}
}
