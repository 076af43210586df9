package barrier

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phalanx-go/phalanx"
)

const ms = time.Millisecond

// Holds end with the lease, also where the clock has gone on and no timer has run yet; they
// are released then, once. A lease that comes later brings none of them back.
func TestHoldsEndWithTheLease(t *testing.T) {
	now := time.Second
	var told []*Hold
	s := &holds{now: func() time.Duration { return now }, tell: func(m loosened) { told = append(told, m.h) }, all: map[*Hold]struct{}{}}
	defer s.stop()
	add := func() *Hold {
		h := &Hold{b: &Barrier{}}
		h.ctx, h.end = context.WithCancelCause(context.Background())
		s.add(h)
		return h
	}
	s.leased(time.Hour)
	a, b := add(), add()
	now = 30 * time.Minute
	s.look()
	if !a.Held() || !b.Held() || len(told) != 0 {
		t.Error("they end before the lease does")
	}
	s.leased(time.Minute) // an earlier one counts for nothing
	if !a.Held() {
		t.Error("it ends with an earlier lease")
	}
	if !s.drop(a, context.Canceled) || s.drop(a, context.Canceled) {
		t.Error("it is given up once")
	}
	now = time.Hour
	if b.Held() || b.Context().Err() != nil {
		t.Error("the clock says that it is not held, before the timer has run")
	}
	s.look()
	if err := context.Cause(b.Context()); !errors.Is(err, ErrNotHeld) || !errors.Is(err, phalanx.ErrAborted) || len(told) != 1 || told[0] != b {
		t.Errorf("%v, %v", err, told)
	}
	s.leased(2 * time.Hour)
	s.look()
	if a.Held() || b.Held() || len(told) != 1 || len(s.all) != 0 {
		t.Error("one has come back")
	}
}

// A Hold that is granted on a node that was idle waits for the node's lease. It is lost if none
// comes, and when that one has ended.
func TestHoldsWaitForTheLeaseOfAnIdleNode(t *testing.T) {
	for _, c := range []struct {
		name  string
		lease time.Duration // how long it is valid; 0: none comes
		lost  time.Duration // after the Hold was granted
	}{
		{"no lease", 0, 200 * ms}, {"a short one", 50 * ms, 55 * ms}, {"a lease", 300 * ms, 305 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, told := time.Now().Add(-time.Hour), 0
				s := &holds{now: func() time.Duration { return time.Since(began) }, tell: func(loosened) { told++ }, all: map[*Hold]struct{}{}}
				defer s.stop()
				s.leased(time.Minute)
				granted := time.Now()
				h := &Hold{b: &Barrier{}}
				h.ctx, h.end = context.WithCancelCause(context.Background())
				s.add(h)
				if h.Held() {
					t.Error("it is held without a lease")
				}
				time.Sleep(5 * ms)
				if c.lease > 0 {
					s.leased(s.now() + c.lease)
					<-h.leased
					if !h.Held() {
						t.Error("it is not held though there is a lease")
					}
				}
				<-h.ctx.Done()
				synctest.Wait()
				if took := time.Since(granted); took != c.lost || h.Held() || told != 1 {
					t.Errorf("it was lost after %v, its release was asked for %d times", took, told)
				}
			})
		})
	}
}
