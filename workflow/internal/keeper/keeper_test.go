package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/internal/durable/memory"
	"github.com/phalanx-go/phalanx/internal/poll"
	node "github.com/phalanx-go/phalanx/node/ledger"
	"github.com/phalanx-go/phalanx/protocol/ledger"
	"github.com/phalanx-go/phalanx/workflow/internal/keeper"
)

// One node creates a ledger, which takes rows, reads them back, and refuses what cannot be.
func TestOneDisk(t *testing.T) {
	b := &bed{t: t}
	m := b.start("n1", "h", t.TempDir())
	_, tenure := b.leader()
	for i := range 10 {
		if err := put(tenure, fmt.Sprint("row/", i), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := confirm(tenure); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, tenure, "row/"); len(got) != 10 || got["row/7"] != "7" {
		t.Errorf("rows %v", got)
	}
	got := ""
	if err := tenure.Range("row/3", "row/9", 3, func(r ledger.Row) bool { got += string(r.Value); return true }); err != nil || got != "345" {
		t.Errorf("a range has %q: %v", got, err)
	}
	for what, bad := range map[string][]ledger.Row{"no rows": nil, "too much": {{Key: "k", Value: make([]byte, 300<<10)}}} {
		done := make(chan error, 1)
		tenure.Append(bad, func(err error) { done <- err })
		if err := await(done); !errors.Is(err, durable.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := put(tenure, "after", "1"); err != nil {
		t.Errorf("after refused appends: %v", err)
	}
	if l, ok := m.keeper.Leader(); !ok || l.Address != m.node.ControlAddr() || l.Term != tenure.Epoch() {
		t.Errorf("the leader is %+v", l)
	}
}

// The memory of the replica's log counts against that of the node, and no more than the log may be long.
func TestMemoryOfTheLogIsCounted(t *testing.T) {
	const most = 1 << 20
	b := &bed{t: t, times: node.Config{Replica: ledger.Config{LogBytes: most}}}
	m := b.start("n1", "h", t.TempDir())
	_, tenure := b.leader()
	before := m.node.Status().Memory.Services
	value := strings.Repeat("x", 100<<10)
	counted := int64(0)
	for i := range 30 {
		if err := put(tenure, fmt.Sprint("row/", i), value); err != nil {
			t.Fatal(err)
		}
		counted = max(counted, m.node.Status().Memory.Services-before)
	}
	if counted < most/2 || counted > most+(1<<20) {
		t.Errorf("%d bytes are counted for a log of %d", counted, most)
	}
}

// The only node starts again with its folder: the rows are there.
func TestFolderIsOpenedAgain(t *testing.T) {
	b := &bed{t: t}
	dir := t.TempDir()
	m := b.start("n1", "h", dir)
	_, tenure := b.leader()
	if err := put(tenure, "row", "1"); err != nil {
		t.Fatal(err)
	}
	m.kill()
	if err := put(tenure, "row", "2"); !errors.Is(err, durable.ErrFenced) {
		t.Errorf("an append after the end of the node: %v", err)
	}
	b.start("n1", "h", dir)
	_, next := b.leader()
	if next.Epoch() <= tenure.Epoch() {
		t.Errorf("the epoch %d follows %d", next.Epoch(), tenure.Epoch())
	}
	if got := rows(t, next, ""); got["row"] != "1" {
		t.Errorf("rows %v", got)
	}
}

// The leader's node is killed, again and again while an empty one takes its place: each next tenure has all rows
// whose append was done, and they are on the disks of a majority.
func TestNextTenureHasAll(t *testing.T) {
	b := three(t, node.Config{AwayAfter: 2 * time.Second})
	acked := map[string]string{}
	for round := range 3 {
		l, tenure := b.leader()
		if got := rows(t, tenure, "row/"); len(got) != len(acked) {
			t.Fatalf("round %d: the tenure has %d rows, %d were done", round, len(got), len(acked))
		}
		for i := range 50 {
			key := fmt.Sprintf("row/%d/%d", round, i)
			if err := put(tenure, key, key); err != nil {
				t.Fatal(err)
			}
			acked[key] = key
		}
		l.kill()
		b.start(fmt.Sprint("new", round), fmt.Sprint("new", round), t.TempDir())
		b.leader()
		poll.Until(t, "the empty folder replaces the one that is gone", func() bool {
			have := 0
			for _, m := range b.members {
				if !m.ended && len(rows(t, m.disk, "row/")) == len(acked) {
					have++
				}
			}
			return have == 3
		})
	}
}

// A leader whose node leaves hands over within milliseconds, and the other one is told at once where it is.
func TestLeaveHandsOver(t *testing.T) {
	b := three(t, node.Config{})
	l, tenure := b.leader()
	if err := put(tenure, "row", "1"); err != nil {
		t.Fatal(err)
	}
	left := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		left <- l.node.Leave(ctx)
	}()
	<-tenure.Done()
	began := time.Now()
	next, successor := b.leader()
	t.Logf("the next tenure began %v after the end of the one before", time.Since(began))
	if time.Since(began) > time.Second/2 { // an election after silence takes longer
		t.Errorf("the next tenure began %v later", time.Since(began))
	}
	if got := rows(t, successor, ""); next == l || got["row"] != "1" {
		t.Errorf("rows %v", got)
	}
	if err := await(left); err != nil {
		t.Errorf("leave: %v", err)
	}
}

// A disk that fails ends its replica, says what to do, and another disk takes its part.
func TestPoisonedDisk(t *testing.T) {
	b := &bed{t: t}
	for i := range 4 { // in memory, since pebble keeps goroutines of a poisoned disk
		d, err := memory.NewFolder(uint64(i+1), durable.Space{Free: 9e9, Total: 9e9}).Open(memory.Config{Later: func(f func()) { go f() }})
		if err != nil {
			t.Fatal(err)
		}
		b.startOn(fmt.Sprint("n", i+1), fmt.Sprint("host", i+1), d)
	}
	b.disks(3)
	l, tenure := b.leader()
	if err := put(tenure, "row", "1"); err != nil {
		t.Fatal(err)
	}
	// A Write that cannot be poisons a disk as a failed sync does.
	l.disk.Apply(ledger.Write{Number: 1 << 40, Applied: 1 << 40}, func(error) {})
	<-tenure.Done()
	next, successor := b.leader()
	if next == l {
		t.Fatal("the node of the poisoned disk leads again")
	}
	if got := rows(t, successor, ""); got["row"] != "1" {
		t.Errorf("rows %v", got)
	}
	poll.Until(t, "the replica has ended", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.halted == 1
	})
	poll.Until(t, "a disk replaces the poisoned one", func() bool {
		next.mu.Lock()
		defer next.mu.Unlock()
		return len(next.replaced) > 0 && len(next.replaced[len(next.replaced)-1].Removed) == 1
	})
}

// A panic of the actor ends the tenure; the replica goes on from its disk with the next one.
func TestPanicOpensTheReplicaAgain(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes, " nodes"), func(t *testing.T) {
			b := &bed{t: t}
			if nodes == 1 {
				b.start("n1", "h", t.TempDir())
			} else {
				b = three(t, node.Config{})
			}
			l, tenure := b.leader()
			for i := range 20 {
				if err := put(tenure, fmt.Sprint(i), "1"); err != nil {
					t.Fatal(err)
				}
			}
			var last []chan error
			for i := range 20 { // some of these may be done
				done := make(chan error, 1)
				tenure.Append([]ledger.Row{{Key: fmt.Sprint("late", i), Value: []byte("1")}}, func(err error) { done <- err })
				last = append(last, done)
			}
			pid, _ := l.node.Service(keeper.Name)
			l.node.System().Root.Send(pid, actors.Crash{})
			<-tenure.Done()
			want := map[string]bool{}
			for i, done := range last {
				if err := await(done); err == nil {
					want[fmt.Sprint("late", i)] = true
				} else if !errors.Is(err, durable.ErrFenced) {
					t.Errorf("an append: %v", err)
				}
			}
			_, next := b.leader()
			got := rows(t, next, "")
			for key := range want {
				if got[key] == "" {
					t.Errorf("%s was done, and is missing", key)
				}
			}
			if len(got) < 20 {
				t.Errorf("%d rows", len(got))
			}
			if err := put(next, "after", "1"); err != nil {
				t.Error(err)
			}
		})
	}
}

// A disk that comes late gets all rows as a snapshot of many parts.
func TestSnapshotOfManyParts(t *testing.T) {
	b := &bed{t: t, times: node.Config{Replica: ledger.Config{LogEntries: 16, LogBytes: 1 << 20}}}
	b.start("n1", "h1", t.TempDir())
	_, tenure := b.leader()
	big := strings.Repeat("0123456789abcdef", 12<<10) // 192 KB
	for i := range 60 {
		if err := put(tenure, fmt.Sprintf("row/%02d", i), fmt.Sprint(i, big)); err != nil {
			t.Fatal(err)
		}
	}
	b.start("n2", "h2", t.TempDir())
	b.start("n3", "h3", t.TempDir())
	b.disks(3)
	for _, m := range b.members {
		poll.Until(t, "all rows are there", func() bool { return len(rows(t, m.disk, "row/")) == 60 })
		if got := rows(t, m.disk, "row/"); got["row/59"] != fmt.Sprint(59, big) {
			t.Errorf("a row has changed on its way")
		}
	}
}

// A node without a folder finds the leader, and the next one.
func TestNodeWithoutFolder(t *testing.T) {
	b := three(t, node.Config{})
	o := b.startOn("none", "h", nil)
	finds := func() bool {
		l, _ := b.leader()
		at, ok := o.keeper.Leader()
		return ok && at.Address == l.node.ControlAddr()
	}
	poll.Until(t, "it finds the leader", finds)
	l, _ := b.leader()
	l.kill()
	poll.Until(t, "it finds the next leader", finds)
}

// A folder of another ledger: both sides say so, and neither takes part in the other one's.
func TestFolderOfAnotherLedger(t *testing.T) {
	dir := t.TempDir()
	other := &bed{t: t}
	x := other.start("x", "h", dir)
	other.leader()
	x.kill()
	b := three(t, node.Config{})
	_, tenure := b.leader()
	in := b.start("x", "h", dir)
	poll.Until(t, "both have met another ledger", func() bool {
		own, others := 0, 0
		for _, m := range b.members {
			m.mu.Lock()
			if m == in {
				own += m.met
			} else {
				others += m.met
			}
			m.mu.Unlock()
		}
		return own > 0 && others > 0
	})
	if err := put(tenure, "row", "1"); err != nil {
		t.Error(err)
	}
	if got := rows(t, in.disk, "row"); len(got) != 0 {
		t.Errorf("a disk of another ledger has %v", got)
	}
}
