package workflow

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// Without a majority of the ledger's disks no run begins, and calls say at their deadline what has to be there.
func TestWithoutTheLedgersDisks(t *testing.T) {
	b := &bedOf{t: t}
	a := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(echo)})
	client := b.join("b", Settings{Tasks: Tasks(echo)})
	b.join("c", Settings{Tasks: Tasks(echo)})
	r, err := Start(within(t), client, "before", echo.Bind(Value("x")))
	result(t, r, err)
	die(a)
	poll.Until(t, "a view without a", func() bool { return len(client.View().Members) == 2 })
	poll.Until(t, "an error that says what has to be there", func() bool { // at first it may say that it has asked a node that has left
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := Start(ctx, client, "after", echo.Bind(Value("x")))
		if !errors.Is(err, phalanx.ErrUnavailable) {
			t.Fatal(err)
		}
		return strings.Contains(err.Error(), "a majority of its disks has to be there")
	})

	// A node that comes meanwhile has never seen the disk. The view knows that there was one.
	late := b.join("d", Settings{Tasks: Tasks(echo)})
	poll.Until(t, "an error that names the node with the disk", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := Start(ctx, late, "later", echo.Bind(Value("x")))
		if !errors.Is(err, phalanx.ErrUnavailable) {
			t.Fatal(err)
		}
		return strings.Contains(err.Error(), "these nodes had: a")
	})
}
