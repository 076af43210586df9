package group_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/group"
)

// Wait returns the first error, which the other functions see as the cause of their
// context's end. The next round has a context of its own.
func TestGoAndWait(t *testing.T) {
	g := form(t, "g", start(t, 2))[0]
	if err := g.Wait(); err != nil {
		t.Errorf("nothing was started: %v", err)
	}
	first, second := errors.New("first"), errors.New("second")
	var seen error
	g.Go(func(ctx context.Context) error { return first })
	g.Go(func(ctx context.Context) error {
		<-ctx.Done()
		seen = context.Cause(ctx)
		return second
	})
	if err := g.Wait(); !errors.Is(err, first) || !errors.Is(seen, first) {
		t.Errorf("Wait: %v; the cause is %v", err, seen)
	}
	var kept context.Context
	var ran atomic.Int32
	g.Go(func(ctx context.Context) error {
		kept = ctx
		for range 10 { // in the same round
			g.Go(func(ctx context.Context) error { ran.Add(1); return ctx.Err() })
		}
		return nil
	})
	g.Go(func(context.Context) error { runtime.Goexit(); return first })
	if err := g.Wait(); err != nil || ran.Load() != 10 {
		t.Errorf("the next round: %v, and %d have run", err, ran.Load())
	}
	if kept.Err() == nil {
		t.Error("its context goes on after Wait")
	}
	if g.Context().Err() != nil {
		t.Error("the group's context has ended")
	}
	if err := g.Wait(); err != nil {
		t.Errorf("nothing was started since: %v", err)
	}
}

// A revoke ends the functions at all members; their Waits say who it was and why, and
// nothing is started any more.
func TestGoInARevokedGroup(t *testing.T) {
	nodes := start(t, 3)
	groups := form(t, "g", nodes)
	ctx := within(t)
	for i, g := range groups {
		g.Go(func(ctx context.Context) error {
			<-ctx.Done()
			if i == 0 {
				return nil
			}
			return ctx.Err()
		})
		g.Go(func(ctx context.Context) error {
			_, err := nodes[i].Get(ctx, "never")
			is(t, err, phalanx.ErrRevoked)
			is(t, context.Cause(ctx), phalanx.ErrRevoked)
			return err
		})
	}
	if err := groups[1].Revoke(ctx, "plan B"); err != nil {
		t.Fatal(err)
	}
	for i, g := range groups {
		for range 2 {
			err := g.Wait()
			is(t, err, phalanx.ErrRevoked)
			var r *group.RevokedError
			if !errors.As(err, &r) || r.Rank != 1 || r.Reason != "plan B" || !strings.HasPrefix(err.Error(), "group wait") {
				t.Errorf("member %d: %v", i, err)
			}
			g.Go(func(context.Context) error { t.Error("it was started"); return nil })
		}
	}
}

// What had failed before the group was revoked is what Wait returns. After Close nothing is
// started.
func TestGoFailsBeforeARevoke(t *testing.T) {
	groups := form(t, "g", start(t, 2))
	own := errors.New("own")
	failed := make(chan struct{})
	groups[0].Go(func(context.Context) error { return own })
	groups[0].Go(func(ctx context.Context) error { <-ctx.Done(); close(failed); <-groups[0].Context().Done(); return nil })
	<-failed
	if err := groups[0].Revoke(within(t), "since it failed"); err != nil {
		t.Fatal(err)
	}
	is(t, groups[0].Wait(), own)
	is(t, groups[0].Wait(), phalanx.ErrRevoked)

	closed := form(t, "h", start(t, 2))[0]
	ended := make(chan error, 1)
	closed.Go(func(ctx context.Context) error { <-ctx.Done(); ended <- context.Cause(ctx); return nil })
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	is(t, <-ended, phalanx.ErrClosed)
	is(t, closed.Wait(), phalanx.ErrClosed)
	closed.Go(func(context.Context) error { t.Error("it was started"); return nil })
}

// Several wait for a round at once, and all get its error.
func TestManyWait(t *testing.T) {
	g := form(t, "g", start(t, 2))[0]
	own, more := errors.New("own"), make(chan struct{})
	errs := make(chan error, 8)
	g.Go(func(context.Context) error { <-more; return own })
	for range cap(errs) {
		go func() { errs <- g.Wait() }()
	}
	got := []error{}
	close(more)
	for range cap(errs) {
		got = append(got, <-errs)
	}
	if !errors.Is(errors.Join(got...), own) {
		t.Error("nobody got the error")
	}
	for _, err := range got { // one that came after the others had returned finds no round
		if err != nil && !errors.Is(err, own) {
			t.Error(err)
		}
	}
}

// A panic in a function ends the program, with its own stack.
func TestGoPanics(t *testing.T) {
	const inside = "PHALANX_GO_PANICS"
	if os.Getenv(inside) != "" {
		nodes := start(t, 2)
		g := form(t, "g", nodes)[0]
		g.Go(func(context.Context) error { panic("a mistake of the application") })
		_ = g.Wait()
		<-within(t).Done() // the program ends before
		return
	}
	cmd := exec.CommandContext(within(t), os.Args[0], "-test.run=^TestGoPanics$")
	cmd.Env = append(os.Environ(), inside+"=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !bytes.Contains(out, []byte("panic: a mistake of the application")) || !bytes.Contains(out, []byte("rounds_test.go")) {
		t.Errorf("%v\n%s", err, out)
	}
}
