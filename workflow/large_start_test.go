package workflow

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// A workflow is recorded with its constants, up to 64 MB, which is more than the ledger takes at once: the controller
// that begins it goes on.
func TestStartOfALargeWorkflow(t *testing.T) {
	b := &bedOf{t: t}
	length := Func1("length", 1, func(_ Context, all []string) (int, error) { return len(strings.Join(all, "")), nil }).With(NoEffect)
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(echo, length)})
	var parts []Arg[string]
	for i := range 300 {
		parts = append(parts, Value(fmt.Sprintf("%060000d", i)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // with the race detector it takes its time
	defer cancel()
	large, err := Start(ctx, n, "large", length.Bind(All(parts...)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := large.Result(ctx); err != nil || got != 300*60_000 {
		t.Error(got, err)
	}
	small, err := Start(within(t), n, "small", echo.Bind(Value("x")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := small.Result(within(t)); err != nil {
		t.Error(err)
	}
}
