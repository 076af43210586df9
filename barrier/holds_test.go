package barrier

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

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
