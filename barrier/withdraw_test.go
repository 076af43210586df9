package barrier_test

import (
	"context"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
)

// A backup does not confirm a withdrawal before its caller has gone, and the actor of the entry's node
// panics: the entry is withdrawn nevertheless.
func TestAWithdrawalGoesOnAfterAPanic(t *testing.T) {
	nodes := start(t, 3)
	manager, other, backup := nodes[0], nodes[1], nodes[2]
	name, cfg := managedBy(t, manager), barrier.Config{Max: 2}
	ctx, cancel := context.WithCancel(within(t))
	out := enter(t, ctx, []*cluster.Node{other}, name, cfg, "a")
	has := func(n int) {
		t.Helper()
		eventually(t, "its entries", func() bool {
			all, err := barrier.List(within(t), manager)
			return err == nil && entered(all, name) == n
		})
	}
	has(1)
	silence(t, backup)
	cancel()
	o := <-out
	is(t, o.err, phalanx.ErrCanceled)
	if !strings.Contains(o.err.Error(), "the entry may still count") {
		t.Fatal(o.err)
	}
	pid, _ := other.Service(barrier.Name)
	other.System().Root.Send(pid, actors.Crash{})
	if err := backup.Leave(within(t)); err != nil {
		t.Fatal(err)
	}
	has(0)
}
