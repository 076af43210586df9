package workflow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// A Start that wants three copies of the ledger waits for the third folder. One whose time is over before says how many there are, and
// nothing has begun; one that wants what cannot be says so at once.
func TestStartWaitsForCopies(t *testing.T) {
	b := &bedOf{t: t}
	tasks := Tasks(echo)
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: tasks})
	start := func(ctx context.Context, id string, copies int) error {
		_, err := Start(ctx, n, id, echo.Bind(Value("x")), MinCopies(copies))
		return err
	}
	if err := start(within(t), "one", 1); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []int{-1, 0, 4} {
		if err := start(within(t), "wrong", wrong); !errors.Is(err, phalanx.ErrInvalid) {
			t.Errorf("%d copies: %v", wrong, err)
		}
	}
	poll.Until(t, "an error that says how many there are", func() bool { // the answer takes a while on a slow machine
		short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		err := start(short, "late", 3)
		if !errors.Is(err, phalanx.ErrDeadline) {
			t.Errorf("late: %v", err)
		}
		return strings.Contains(fmt.Sprint(err), `start "late": deadline: 1 of the 3 disks that were asked for hold the ledger: start more nodes with folders`)
	})
	if _, err := Attach[string](within(t), n, "late"); !errors.Is(err, phalanx.ErrNotFound) {
		t.Errorf("it has begun: %v", err)
	}

	ended := make(chan error, 20)
	for i := range cap(ended) {
		go func() { ended <- start(within(t), fmt.Sprint("run", i), 2+i%2) }()
	}
	b.join("b", Settings{Dir: t.TempDir(), Tasks: tasks})
	if len(ended) > 0 {
		t.Error("a run has begun with one copy")
	}
	b.join("c", Settings{Dir: t.TempDir(), Tasks: tasks})
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	poll.Until(t, "three copies", func() bool {
		l, err := Ledger(t.Context(), n)
		held := 0
		for _, d := range l.Disks {
			if d.Holds {
				held++
			}
		}
		return err == nil && held == 3
	})
}

// A cluster without a folder: the Start that waits says at its end what is missing.
func TestCopiesWithoutADisk(t *testing.T) {
	b := &bedOf{t: t}
	n := b.join("a", Settings{Tasks: Tasks(echo)})
	ctx, cancel := context.WithCancel(within(t))
	ended := make(chan error, 1)
	go func() {
		_, err := Start(ctx, n, "run", echo.Bind(Value("x")), MinCopies(3))
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, phalanx.ErrCanceled) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := Start(short, n, "run", echo.Bind(Value("x")), MinCopies(3)); !errors.Is(err, phalanx.ErrDeadline) {
		t.Error(err)
	}
}

// A node that has 10,000 starts wait asks one question at a time, and again once in a while: not once for each of them.
func TestManyStartsThatWaitForCopies(t *testing.T) {
	p := &copies{waits: map[*copiesWait]bool{}}
	again := 0
	for range 10_000 { // each comes as the question before is answered
		p.waits[&copiesWait{want: 3, enough: make(chan struct{})}] = true
		if !p.ask() || p.ask() {
			t.Fatal("it does not ask once")
		}
		if p.counted(copiesCounted{have: 1}) {
			again++
		}
	}
	if again != 1 {
		t.Errorf("it asks again by %d timers", again)
	}
	p.due = false
	if !p.ask() || p.counted(copiesCounted{have: 3}) || len(p.waits) > 0 {
		t.Errorf("%d starts wait, and there are enough disks", len(p.waits))
	}
}
