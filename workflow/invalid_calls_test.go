package workflow

import (
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Any node refuses a call with a bad argument at once: it could not send the call to the controller's node.
func TestInvalidCalls(t *testing.T) {
	b := &bedOf{t: t}
	b.join("a", Settings{Dir: t.TempDir()})
	n := b.join("b", Settings{})
	long, ctx, before := strings.Repeat("x", 257), within(t), time.Now()
	_, err := Attach[int](ctx, n, long)
	is(t, err, phalanx.ErrInvalid)
	_, err = StatusOf(ctx, n, "\xff")
	is(t, err, phalanx.ErrInvalid)
	_, err = List(ctx, n, long, "", 0)
	is(t, err, phalanx.ErrInvalid)
	is(t, Cancel(ctx, n, "", "why"), phalanx.ErrInvalid)
	is(t, Resume(ctx, n, "r", WithVersions(Function{Name: long, Version: 1})), phalanx.ErrInvalid)
	is(t, Signal(ctx, n, "r", "name", "\xff", nil), phalanx.ErrInvalid)
	is(t, Signal(ctx, n, "r", "name", "key", make([]byte, 1<<20)), phalanx.ErrInvalid)
	is(t, Forget(ctx, n, long), phalanx.ErrInvalid)
	if took := time.Since(before); took > 10*time.Second {
		t.Errorf("it takes %v", took)
	}
	is(t, Signal(ctx, n, "r", strings.Repeat("n", 1000), "key", nil), phalanx.ErrNotFound) // it arrives
}
