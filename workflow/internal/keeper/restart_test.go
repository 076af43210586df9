package keeper_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/internal/poll"
	node "github.com/phalanx-go/phalanx/node/ledger"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// All processes are killed. One that starts again alone begins no cluster; two of three do, with all rows, and
// the third one enters that cluster.
func TestRestartOfEverything(t *testing.T) {
	all, epoch := processes(t)
	all[2].kill() // one of three comes back into the cluster that works
	all[2] = all[2].again(time.Minute)
	if s := all[2].await("that it has joined", joined); s.Restarts != 0 {
		t.Errorf("one that was killed has come back into %+v", s)
	}
	for _, p := range all {
		p.kill()
	}
	alone := all[0].again(6 * time.Second) // three times as long as it waits for others
	if s := alone.await("that it has not joined", func(s said) bool { return s.Refused != "" || joined(s) }); joined(s) {
		t.Fatal("a node that starts again alone has begun a cluster")
	}
	alone.kill()

	a, b := all[1].again(time.Minute), all[2].again(time.Minute)
	in, also := a.await("that it has joined", joined), b.await("that it has joined", joined)
	if in.Cluster != also.Cluster || in.Restarts != 1 || also.Restarts != 1 {
		t.Errorf("the clusters of the two are %+v and %+v", in, also)
	}
	if _, tenure := newest(t, epoch, a, b); tenure.Rows != 100 {
		t.Errorf("the next tenure has %d rows", tenure.Rows)
	}
	c := all[0].again(time.Minute)
	if s := c.await("that it has joined", joined); s.Cluster != in.Cluster || s.Restarts != 1 {
		t.Errorf("the third one is in %+v, the others in %+v", s, in)
	}

	for _, p := range []*process{a, b, c} { // and once more
		p.kill()
	}
	a, c = a.again(time.Minute), c.again(time.Minute)
	in, also = a.await("that it has joined", joined), c.await("that it has joined", joined)
	if in.Cluster != also.Cluster || in.Restarts != 2 || also.Restarts != 2 {
		t.Errorf("the second time the clusters of the two are %+v and %+v", in, also)
	}
}

// Two of three processes are killed: the survivor cannot decide anything. When they start again all three are in one
// cluster, which was begun anew, with all rows.
func TestSurvivorEntersTheNewCluster(t *testing.T) {
	all, epoch := processes(t)
	all[0].kill()
	all[1].kill()
	a, b, c := all[0].again(time.Minute), all[1].again(time.Minute), all[2]
	again := func(s said) bool { return joined(s) && s.Restarts > 0 }
	in, also, survivor := a.await("that it has joined", again), b.await("that it has joined", again), c.await("that it has joined again", again)
	if in.Cluster != also.Cluster || in.Cluster != survivor.Cluster {
		t.Errorf("they are in %+v, %+v and %+v", in, also, survivor)
	}
	l, _ := newest(t, 0, a, b, c)
	if s, _ := l.last(func(s said) bool { return s.Epoch >= epoch && s.Epoch > 0 }); s.Rows != 100 && s.Epoch > epoch {
		t.Errorf("the last tenure has %d rows", s.Rows)
	}
}

// All processes are killed, and two start again on hosts of which the third one's refuses connections: they do not wait for
// that, as they would for a host that is silent.
func TestRestartDoesNotWaitForHostsThatRefuse(t *testing.T) {
	all, _ := processes(t)
	for _, p := range all {
		p.kill()
		p.place.Alone = 10 * time.Minute // the test ends before
	}
	a, b := all[0].again(time.Minute), all[1].again(time.Minute)
	in, also := a.await("that it has joined", joined), b.await("that it has joined", joined)
	if in.Cluster != also.Cluster || in.Restarts != 1 || also.Restarts != 1 {
		t.Errorf("the clusters of the two are %+v and %+v", in, also)
	}
}

// Two of three voters of the view are killed while the node of the ledger's leader leaves. It can neither leave that view nor be
// removed from it: so the cluster is begun anew, and it leaves that one, as another disk has taken the place of its own.
func TestLeaderLeavesADeadView(t *testing.T) {
	b := three(t, node.Config{Boot: ledger.BootConfig{AloneAfter: 2 * time.Second}})
	spare := b.start("n4", "host4", t.TempDir())
	l, tenure := b.leader()
	if err := put(tenure, "row", "1"); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "all know of all", func() bool { return len(spare.node.View().Voters) == 3 && len(l.node.View().Members) == 4 })
	if !slices.Contains(l.node.View().Voters, l.node.ID()) || slices.Contains(l.node.View().Voters, spare.node.ID()) {
		t.Skip("the view has other voters than the ledger has disks")
	}
	var gone []*member
	for _, m := range b.members[:3] {
		if m != l {
			m.kill()
			gone = append(gone, m)
		}
	}
	left := make(chan error, 1)
	go func() { // as the program does
		for ended := false; !ended; {
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
			err := l.node.Leave(ctx)
			cancel()
			select {
			case <-l.node.Done():
				ended = true
				left <- err
			default:
			}
		}
	}()
	for _, m := range gone {
		name := m.node.ID().Name()
		b.start(name, "host"+name[1:], m.dir)
	}
	if err := await(left); err != nil {
		t.Error(err)
	}
	l.kill()
	next, tenure := b.leader()
	if got := rows(t, tenure, "row"); got["row"] != "1" {
		t.Errorf("rows %v", got)
	}
	next.kill() // two of the three disks are left without it
	if _, tenure = b.leader(); confirm(tenure) != nil {
		t.Error("the ledger has no majority of its disks")
	}
}
