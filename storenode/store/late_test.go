package store

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// A look-up that was abandoned gives its room back, and its answer enters no copy: no call
// waits for it, and the node has canceled it at the owner.
func TestAnAbandonedLookUp(t *testing.T) {
	var all []any
	env := alone(t)
	env.Directory = later{told{all: &all}, &[]uint64{1}}
	s, used := &Store{env: env}, env.Pool.Budget().Used()
	s.lookUp(&call{object: "x", over: make(chan struct{}), deliver: func(any) {}})
	a := s.arrival("x")
	if a.room == 0 {
		t.Fatal("it holds no room")
	}
	s.abandon(a)
	var answer answered // of an empty object, which needs no room
	answer.Inline, answer.Gen = true, first
	s.lookedUp(nil, lookedUp{a, answer})
	if now := env.Pool.Budget().Used(); now != used || env.Table.lookup("x") != nil || s.arrival("x") != nil {
		t.Errorf("it keeps %d bytes; its copy is there: %v", now-used, env.Table.lookup("x") != nil)
	}
}

// The end of a fetch does not retire the next one of the same object.
func TestALateEndOfAFetch(t *testing.T) {
	env := alone(t)
	s := &Store{env: env}
	before := &arrival{object: "x", pid: env.System.NewLocalPID("before")}
	now := &arrival{object: "x", pid: env.System.NewLocalPID("now")}
	env.active.fetches = map[phalanx.ObjectID]*arrival{"x": now}
	if s.fetchOver(fetchOver{"x", before}); s.arrival("x") != now {
		t.Error("nobody knows the present one any more")
	}
	if s.fetchOver(fetchOver{"x", now}); s.arrival("x") != nil {
		t.Error("it is still there")
	}
}

// A Delete that was not carried out leaves the copy here: it may be the only one.
func TestADeleteThatIsRefused(t *testing.T) {
	storeBubble(t, func(t *testing.T, e *Env, s *scripted) {
		d := answers{s, make(chan func(phalanx.NodeID, directory.Result), 1)}
		e.Directory = d
		done := make(chan error, 1)
		e.Delete("x", time.Minute, func(err error) { done <- err })
		e.enter(second)
		d.answer(directory.Result{Kind: phalanx.ErrUnavailable, State: directory.Finished, Gen: second})
		if err := <-done; err == nil || e.Table.lookup("x") == nil {
			t.Errorf("it ends with %v; the copy stays: %v", err, e.Table.lookup("x") != nil)
		}
	})
}
