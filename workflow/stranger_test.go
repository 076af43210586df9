package workflow

import (
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/actors"
)

// A node joins with a folder of another ledger, whose epochs are greater. It says so, and runs of the cluster go on.
func TestFolderOfAnotherLedgerStopsNothing(t *testing.T) {
	task := Func1("task", 1, func(_ Context, n int) (int, error) { return n + 1, nil })
	dir := t.TempDir()
	for range 1 { // the next start has a greater epoch
		other := &bedOf{t: t}
		n := other.join("x", Settings{Dir: dir, Tasks: Tasks(task)})
		r, err := Start(within(t), n, fmt.Sprint(time.Now().UnixNano()), task.Bind(Value(1)))
		if result(t, r, err) != 2 {
			t.Fatal("no result")
		}
		die(n)
	}
	b := &bedOf{t: t}
	a := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(task)})
	r, err := Start(within(t), a, "before", task.Bind(Value(1)))
	if result(t, r, err) != 2 {
		t.Fatal("no result")
	}
	events := a.Events(t.Context())
	b.join("x", Settings{Dir: dir, Tasks: Tasks(task)})
	happens(t, events, func(e actors.Event) bool { _, is := e.(actors.LedgerMet); return is })
	for began, i := time.Now(), 0; time.Since(began) < 3*time.Second; i++ {
		r, err = Start(within(t), a, fmt.Sprint("after", i), task.Bind(Value(1)))
		if got := result(t, r, err); got != 2 {
			t.Fatalf("the run after it gives %d", got)
		}
	}
	again, err := Attach[int](within(t), a, "before")
	if got := result(t, again, err); got != 2 {
		t.Errorf("the run before gives %d", got)
	}
}
