package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
)

// managedBy returns the name of a barrier that a node manages.
func managedBy(t *testing.T, n *cluster.Node) string {
	t.Helper()
	for i := range 10_000 {
		if name := fmt.Sprint("culprit/", i); barrier.ManagersOf(n.View(), name)[0] == n.ID() {
			return name
		}
	}
	t.Fatalf("%s manages no barrier", n.ID())
	return ""
}

// silence stops the barriers' actor of a node, which stays a member.
func silence(t *testing.T, n *cluster.Node) {
	t.Helper()
	pid, _ := n.Service(barrier.Name)
	if err := n.System().Root.StopFuture(pid).Wait(); err != nil {
		t.Fatal(err)
	}
}

// late has a host enter for half a second, in vain, and checks that the error names the culprit and what
// has happened.
func late(t *testing.T, b *barrier.Barrier, host string, culprit phalanx.NodeID, what ...string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 500*ms)
	defer cancel()
	_, err := b.Enter(ctx, barrier.Entry{Host: host})
	var failed *phalanx.Error
	if !errors.As(err, &failed) || failed.Kind != phalanx.ErrDeadline || failed.Node != culprit {
		t.Fatalf("%v does not name %q", err, culprit)
	}
	for _, text := range what {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%v does not say %q", err, text)
		}
	}
	return err
}

// A backup does not confirm. The error names it, at the manager and elsewhere, also to a participant that
// the manager has answered before.
func TestTheCulpritIsABackup(t *testing.T) {
	nodes := start(t, 3)
	manager, other, backup := nodes[0], nodes[1], nodes[2]
	name, cfg := managedBy(t, manager), barrier.Config{Max: 4}
	first := enter(t, within(t), nodes[:2], name, cfg, "a", "b")
	eventually(t, "two have entered", func() bool {
		all, err := barrier.List(within(t), manager)
		return err == nil && entered(all, name) == 2
	})
	silence(t, backup)
	waits := fmt.Sprintf("its manager %s waits for %s", manager.ID(), backup.ID())
	late(t, open(t, manager, name, cfg), "c", backup.ID(), waits)
	late(t, open(t, other, name, cfg), "d", backup.ID(), waits)
	err := late(t, open(t, other, name, cfg), "b", backup.ID(), "2 of 4 have entered", waits)
	if absent := (*barrier.AbsentError)(nil); !errors.As(err, &absent) {
		t.Errorf("%v names no absent participants", err)
	}
	if err := backup.Leave(within(t)); err != nil { // the others go on
		t.Fatal(err)
	}
	last := enter(t, within(t), nodes[:2], name, cfg, "b", "c", "d")
	for _, out := range []<-chan outcome{first, first, last, last, last} {
		if o := <-out; o.err != nil {
			t.Error(o.err)
		}
	}
}

// A member owes a new manager its knowledge. The error names it.
func TestTheCulpritIsAMemberThatIsAsked(t *testing.T) {
	nodes := start(t, 3)
	silence(t, nodes[2])
	guest, err := cluster.Join(within(t), config("guest", nodes[0].ControlAddr())) // each manager asks all members anew
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a view of all", func() bool { return len(nodes[0].View().Members) == 4 && len(nodes[1].View().Members) == 4 })
	name, cfg := managedBy(t, nodes[0]), barrier.Config{Max: 2}
	for _, n := range nodes[:2] {
		late(t, open(t, n, name, cfg), "a", nodes[2].ID(), fmt.Sprintf("its manager %s waits for %s", nodes[0].ID(), nodes[2].ID()))
	}
	for _, n := range []*cluster.Node{guest, nodes[2]} {
		if err := n.Leave(within(t)); err != nil {
			t.Fatal(err)
		}
	}
}

// All managers answer, and too few participants have come: the error names no node, and says how many
// have entered.
func TestTheCulpritIsNoNode(t *testing.T) {
	nodes := start(t, 3)
	name, cfg := managedBy(t, nodes[0]), barrier.Config{Max: 3}
	late(t, open(t, nodes[1], name, cfg), "a", "", "1 of 3 have entered", "absent: ")
	late(t, open(t, nodes[0], name, cfg), "a", "", "1 of 3 have entered", "absent: ")
}

// The manager itself is silent: the error names it.
func TestTheCulpritIsTheManager(t *testing.T) {
	nodes := start(t, 3)
	silence(t, nodes[2])
	late(t, open(t, nodes[1], managedBy(t, nodes[2]), barrier.Config{Max: 3}), "a", nodes[2].ID(), "its manager "+string(nodes[2].ID())+" has not answered")
	if err := nodes[2].Leave(within(t)); err != nil {
		t.Fatal(err)
	}
}
