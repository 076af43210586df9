package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

func TestAppend(t *testing.T) {
	b := newBench(t, 3, Config{})
	l := b.leader()
	number := b.append(Row{Key: "a", Value: []byte("1")}, Row{Key: "b", Value: []byte{}}, Row{Key: "c", Value: []byte("3")})
	b.run(100 * time.Millisecond)
	b.append(Row{Key: "a", End: "b"}, Row{Key: "c"})
	b.run(100 * time.Millisecond)
	if done := of[Done](b, 1); len(done) != 2 || done[0] != (Done{l.lead.term, number}) {
		t.Errorf("done: %v", done)
	}
	for _, m := range b.machines {
		if value, ok := m.disk.now.rows["b"]; !ok || value != "" || len(m.disk.now.rows) != 1 {
			t.Errorf("replica %d has %q", m.id, m.disk.now.rows)
		}
	}
}

func TestAppendIsRefused(t *testing.T) {
	b := newBench(t, 3, Config{MaxEntry: 1000, MaxUncommitted: 3000})
	l := b.leader()
	term := l.lead.term
	row := func(n int) []Row { return []Row{{Key: "k", Value: make([]byte, n)}} }
	for _, c := range []struct {
		name   string
		ev     Append
		reason Reason
	}{
		{"no rows", Append{term, 1, nil}, Invalid},
		{"a row without a key", Append{term, 1, []Row{{Value: []byte{1}}}}, Invalid},
		{"a range that ends before it begins", Append{term, 1, []Row{{Key: "b", End: "a"}}}, Invalid},
		{"a range with a value", Append{term, 1, []Row{{Key: "a", End: "b", Value: []byte{}}}}, Invalid},
		{"a key that is too long", Append{term, 1, []Row{{Key: strings.Repeat("k", maxKey+1)}}}, Invalid},
		{"too large", Append{term, 1, row(1001)}, TooLarge},
		{"too large with its lengths", Append{term, 1, row(999)}, TooLarge},
		{"too many small rows", Append{term, 1, slices.Repeat([]Row{{Key: "k"}}, 400)}, TooLarge},
		{"the number after the next", Append{term, 2, row(1)}, OutOfOrder},
		{"number 0", Append{term, 0, row(1)}, OutOfOrder},
		{"an older tenure", Append{term - 1, 1, row(1)}, Fenced},
		{"a later tenure", Append{term + 1, 1, row(1)}, Fenced},
	} {
		b.log = nil
		b.step(l, c.ev)
		if r := of[Refused](b, 1); len(r) != 1 || r[0] != (Refused{c.ev.Epoch, c.ev.Number, c.reason}) {
			t.Errorf("%s: %v, want %v", c.name, r, c.reason)
		}
	}
	b.log = nil
	b.step(b.machine(2), Append{term, 1, row(1)})
	if r := of[Refused](b, 2); len(r) != 1 || r[0].Reason != Fenced {
		t.Errorf("a follower: %v", r)
	}
	// Too much waits; what was refused comes again under the same number.
	b.log = nil
	l.disk.stall = b.now + 100*time.Millisecond
	for n := uint64(1); n <= 4; n++ {
		l.writer.out++
		b.step(l, Append{term, n, row(900)})
	}
	if r := of[Refused](b, 1); len(r) != 1 || r[0] != (Refused{term, 4, Busy}) {
		t.Errorf("the fourth append: %v", r)
	}
	b.run(200 * time.Millisecond)
	l.writer.out++
	b.step(l, Append{term, 4, row(900)})
	b.run(100 * time.Millisecond)
	if done := of[Done](b, 1); len(done) != 4 || done[3].Number != 4 {
		t.Errorf("done: %v", done)
	}
}

// What comes while a Write is under way goes as one, to the disk and to each follower.
func TestAppendsAreBatched(t *testing.T) {
	b := newBench(t, 3, Config{})
	for range 100 {
		b.append()
	}
	b.run(100 * time.Millisecond)
	if done := of[Done](b, 1); len(done) != 100 {
		t.Fatalf("%d appends are done", len(done))
	}
	synced, sent := 0, 0
	for _, p := range of[Persist](b, 1) {
		if p.Write.Sync {
			synced++
		}
	}
	for _, s := range of[Send](b, 1) {
		if m := message(t, s.Data); s.To == 2 && len(m.GetEntries()) > 0 {
			sent++
		}
	}
	if synced != 2 || sent != 2 {
		t.Errorf("100 appends took %d syncs and %d messages to each follower", synced, sent)
	}
}

// The leader sends entries before its own disk has them (raft thesis, 10.2.1). It acknowledges
// them when a majority of the disks has them, and a follower answers only for what is written.
func TestAcknowledgedByAMajorityOfDisks(t *testing.T) {
	b := newBench(t, 3, Config{})
	for _, id := range []uint64{2, 3} {
		b.machine(id).disk.stall = b.now + 500*time.Millisecond
	}
	b.append()
	if got := kinds(t, of[Send](b, 1)); len(got) != 2 || got[0] != raftpb.MsgApp {
		t.Fatalf("the leader sent %v before its disk answered", got)
	}
	b.run(400 * time.Millisecond)
	if done := of[Done](b, 1); len(done) > 0 {
		t.Fatal("the append is done, and is on one disk")
	}
	for _, id := range []uint64{2, 3} {
		if slices.Contains(kinds(t, of[Send](b, id)), raftpb.MsgAppResp) {
			t.Errorf("replica %d has acknowledged what its disk has not", id)
		}
	}
	b.machine(3).disk.stall = b.now + time.Hour
	b.run(200 * time.Millisecond)
	if done := of[Done](b, 1); len(done) != 1 {
		t.Error("the append is on two disks, and not done")
	}
}

func TestStalledLeaderTransfers(t *testing.T) {
	b := newBench(t, 3, Config{})
	at := b.now
	l := b.leader()
	l.disk.stall = at + time.Hour
	b.append()
	b.append()
	b.run(4 * time.Second)
	stalls := of[Stalled](b, 1)
	if len(stalls) != 2 || !stalls[0].On || stalls[1].On || when[Stalled](b, 1)-at != 2*time.Second {
		t.Errorf("stalls: %v, the first after %v", stalls, when[Stalled](b, 1)-at)
	}
	if moved := when[Transfers](b, 1) - at; moved != 2*time.Second {
		t.Errorf("it began to transfer after %v", moved)
	}
	// The appends that were proposed went to the others, so the next leader commits them.
	if began := max(when[TenureBegan](b, 2), when[TenureBegan](b, 3)) - at; began < 0 || began > 2100*time.Millisecond {
		t.Errorf("the next tenure began after %v", began)
	}
	if r := of[Refused](b, 1); len(r) != 2 || r[0].Reason != Fenced {
		t.Errorf("what waited: %v", r)
	}
}

// Followers whose disks are late let appends stall, and the leader stays.
func TestStalledFollowers(t *testing.T) {
	b := newBench(t, 3, Config{})
	at := b.now
	for _, id := range []uint64{2, 3} {
		b.machine(id).disk.stall = at + 2500*time.Millisecond
	}
	b.append()
	b.run(4 * time.Second)
	if stalls := of[Stalled](b, 1); len(stalls) != 2 || !stalls[0].On || stalls[1].On {
		t.Errorf("stalls: %v", stalls)
	}
	if len(of[Done](b, 1)) != 1 || len(of[Transfers](b, 1)) > 0 {
		t.Errorf("done: %v, transfers: %v", of[Done](b, 1), of[Transfers](b, 1))
	}
}

// The only replica has nobody to hand over to, and waits for its disk.
func TestStalledAlone(t *testing.T) {
	b := newBench(t, 1, Config{})
	b.leader().disk.stall = b.now + 10*time.Second
	b.append()
	b.run(11 * time.Second)
	if len(of[Done](b, 1)) != 1 || len(of[TenureEnded](b, 1)) > 0 || len(of[Stalled](b, 1)) != 2 {
		t.Errorf("done %v, ended %v, stalls %v", of[Done](b, 1), of[TenureEnded](b, 1), of[Stalled](b, 1))
	}
}

func TestFailedDisk(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			b := newBench(t, n, Config{})
			at := b.now
			l := b.leader()
			l.disk.fails = true
			b.append()
			b.run(50 * time.Millisecond)
			if r := of[Refused](b, 1); len(r) != 1 {
				t.Errorf("refused: %v", r)
			}
			b.run(3 * time.Second)
			if out := l.Step(b.now, Append{Epoch: 9, Number: 1}); len(out) != 1 || out[0] != (Refused{9, 1, Fenced}) {
				t.Errorf("later: %v", out)
			}
			if out := l.Step(b.now, Read{ID: 3}); len(out) != 1 || out[0] != (NotReadable{3}) {
				t.Errorf("later: %v", out)
			}
			if len(of[TenureEnded](b, 1)) != 1 || len(of[Halted](b, 1)) != 1 || len(of[Done](b, 1)) > 0 {
				t.Errorf("ended %v, halted %v, done %v", of[TenureEnded](b, 1), of[Halted](b, 1), of[Done](b, 1))
			}
			if began := when[TenureBegan](b, 0) - at; n == 3 && (began < 0 || began > 100*time.Millisecond) {
				t.Errorf("the next tenure began after %v", began)
			}
		})
	}
	t.Run("nobody takes over", func(t *testing.T) {
		b := newBench(t, 3, Config{})
		b.cutOff(1)
		b.step(b.machine(1), WriteFailed{})
		b.run(1100 * time.Millisecond)
		if len(of[Halted](b, 1)) != 1 {
			t.Error("it goes on with a disk that failed")
		}
	})
	t.Run("a follower", func(t *testing.T) {
		b := newBench(t, 3, Config{})
		b.machine(2).disk.fails = true
		b.append()
		b.run(time.Second)
		if slices.Contains(kinds(t, of[Send](b, 2)), raftpb.MsgAppResp) || len(of[Halted](b, 2)) != 1 || len(of[Done](b, 1)) != 1 {
			t.Errorf("halted %v, done %v", of[Halted](b, 2), of[Done](b, 1))
		}
	})
}

// A read is answered when a majority has said that this replica still leads.
func TestRead(t *testing.T) {
	b := newBench(t, 3, Config{MaxReads: 2})
	l := b.leader()
	b.append()
	b.step(l, Read{ID: 5})
	b.run(100 * time.Millisecond)
	if r := of[Readable](b, 1); len(r) != 1 || r[0].ID != 5 {
		t.Fatalf("readable: %v", r)
	}
	b.step(b.machine(2), Read{ID: 6})
	if r := of[NotReadable](b, 2); len(r) != 1 || r[0].ID != 6 {
		t.Errorf("a follower: %v", r)
	}
	b.cutOff(1)
	for id := uint64(7); id <= 9; id++ {
		b.step(l, Read{ID: id})
	}
	b.run(500 * time.Millisecond)
	if r := of[NotReadable](b, 1); len(r) != 1 || r[0].ID != 9 {
		t.Errorf("two may wait: %v", r)
	}
	b.run(5 * time.Second) // another replica leads and may have committed what this one does not know
	if r := of[NotReadable](b, 1); len(r) != 3 || len(of[Readable](b, 1)) != 1 {
		t.Errorf("readable: %v, not readable: %v", of[Readable](b, 1), r)
	}
}

// A follower whose disk does not answer keeps few messages for then, however long that takes.
func TestPromisesThatWaitAreBounded(t *testing.T) {
	b := newBench(t, 3, Config{})
	m := b.machine(2)
	m.disk.stall = b.now + time.Hour
	for n := range 600 {
		b.append()
		b.run(100 * time.Millisecond)
		if n%50 == 0 {
			b.step(m, Left{Replica: b.leader().id})
		}
	}
	if n := len(m.Core.disk.next.after); n == 0 || n > 16 {
		t.Errorf("%d messages wait", n)
	}
	m.disk.stall = 0
	b.run(5 * time.Second)
	if l := b.leader(); l == nil || m.disk.now.applied != l.disk.now.applied {
		t.Errorf("replica 2 has entry %d", m.disk.now.applied)
	}
}

// A tenure whose controller cannot go on ends: the next one is on another replica if there is one, and has all rows.
func TestGiveUp(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n, " replicas"), func(t *testing.T) {
			b := newBench(t, n, Config{})
			l := b.leader()
			epoch := l.lead.term
			b.step(l, GiveUp{Epoch: epoch - 1})
			b.run(time.Second)
			if ends := of[TenureEnded](b, 0); len(ends) != 0 {
				t.Fatalf("a tenure that has ended before is given up: %v", ends)
			}
			b.step(l, Append{Epoch: epoch, Number: 1, Rows: []Row{{Key: "k", Value: []byte("v")}}})
			b.run(time.Second)
			b.step(l, GiveUp{Epoch: epoch})
			b.step(l, Append{Epoch: epoch, Number: 2, Rows: []Row{{Key: "late", Value: []byte("v")}}})
			if r := of[Refused](b, 1); len(r) != 1 || r[0].Reason != Fenced {
				t.Errorf("an append of a tenure that was given up: %v", r)
			}
			b.run(500 * time.Millisecond)
			begins := of[TenureBegan](b, 0)
			if ends := of[TenureEnded](b, 1); len(ends) != 1 || len(begins) != 1 || begins[0].Epoch <= epoch {
				t.Fatalf("the tenure %d ends with %v, and %v follow", epoch, ends, begins)
			}
			if next := b.leader(); n > 1 == (next.id == 1) {
				t.Errorf("replica %d leads next", next.id)
			}
		})
	}
}
