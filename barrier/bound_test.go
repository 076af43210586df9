package barrier

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	core "github.com/phalanx-go/phalanx/protocol/barrier"
)

// A call whose context has no deadline takes a minute longer than the timeout of its Config; if
// that is known later, since the call began.
func TestHowLongACallMayTake(t *testing.T) {
	for name, x := range map[string]struct {
		cfg, learnt Config
		after, want time.Duration // when the Config is known, and when the context ends
	}{
		"opened":           {cfg: Config{Max: 2, Timeout: time.Hour}, want: time.Hour + time.Minute},
		"joined":           {want: time.Minute},
		"joined and known": {learnt: Config{Max: 2, Timeout: time.Hour}, after: 30 * time.Second, want: time.Hour + time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				a := &asked{call: core.Call{Config: x.cfg}, joins: zero(x.cfg)}
				ctx, cancel := a.bound(context.Background(), 0)
				defer cancel()
				if !zero(x.learnt) {
					time.Sleep(x.after)
					a.learn(x.learnt, x.after)
				}
				<-ctx.Done()
				if took := time.Since(began); took != x.want || a.call.Deadline != x.want || !errors.Is(causeOf(ctx), context.DeadlineExceeded) {
					t.Errorf("it ends after %v, its deadline is %v; want %v: %v", took, a.call.Deadline, x.want, causeOf(ctx))
				}
			})
		})
	}
}

// A context that has a deadline, or is canceled, ends as it would.
func TestTheContextOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &asked{joins: true}
		short, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		ctx, cancel := a.bound(short, time.Hour)
		defer cancel()
		a.learn(Config{Max: 2, Timeout: time.Hour}, time.Hour)
		<-ctx.Done()
		if want := time.Hour + time.Second; a.call.Deadline != want || !errors.Is(causeOf(ctx), context.DeadlineExceeded) {
			t.Errorf("its deadline is %v, want %v: %v", a.call.Deadline, want, causeOf(ctx))
		}
		parent, end := context.WithCancelCause(context.Background())
		ctx, cancel = (&asked{}).bound(parent, 0)
		defer cancel()
		end(errors.New("the application has its reasons"))
		<-ctx.Done()
		if !errors.Is(causeOf(ctx), context.Canceled) {
			t.Error(causeOf(ctx))
		}
	})
}

// The error of one who joins in vain says so, and names the primary if that is silent.
func TestWhatOneWhoJoinsHasWaitedFor(t *testing.T) {
	for _, heard := range []bool{true, false} {
		e := ending{cause: context.DeadlineExceeded, given: core.GivenUp{Primary: "p#1", Heard: heard, Unopened: true, Withdrawn: true}}
		err := e.err("enter", core.Key{Name: "b"})
		if !errors.Is(err, ErrNotOpened) || strings.Contains(err.Error(), "p#1") == heard || strings.Contains(err.Error(), "may still count") {
			t.Error(err)
		}
	}
}
