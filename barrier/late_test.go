package barrier

import (
	"testing"

	core "github.com/phalanx-go/phalanx/protocol/barrier"
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
