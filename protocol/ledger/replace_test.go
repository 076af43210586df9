package ledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

func groups(b *bench) []string {
	var all []string
	for _, g := range of[Group](b, 0) {
		all = append(all, fmt.Sprint(g.Voters, g.Learners, g.Settled))
	}
	return all
}

// Two replicas survive no more than one, so the second and the third are added at once.
func TestFromOneToThree(t *testing.T) {
	b := newBench(t, 1, Config{})
	b.open(b.add(2))
	b.open(b.add(3))
	b.want(1, 2, 3)
	b.run(time.Second)
	want := []string{"[1] [2] false", "[1] [2 3] false", "[1] [2 3] true", "[1 2 3] [] false", "[1 2 3] [] true"}
	if got := groups(b); !slices.Equal(got, want) {
		t.Errorf("the groups were %v", got)
	}
}

// A learner that does not answer gets no vote.
func TestLearnerCatchesUpFirst(t *testing.T) {
	b := newBench(t, 3, Config{})
	b.add(4) // its machine is off
	b.want(1, 2, 4)
	b.run(5 * time.Second)
	if got := groups(b); !slices.Equal(got, []string{"[1 2 3] [4] false", "[1 2 3] [4] true"}) {
		t.Errorf("the groups were %v", got)
	}
	b.open(b.machine(4))
	b.run(time.Second)
	if got := groups(b); got[len(got)-1] != "[1 2 4] [] true" {
		t.Errorf("the groups were %v", got)
	}
	b.append()
	b.run(time.Second)
	if four, one := b.machine(4).disk.now, b.machine(1).disk.now; four.applied != one.applied || four.hash != one.hash {
		t.Errorf("replica 4 has entry %d, the leader %d", four.applied, one.applied)
	}
	b.want(1, 2, 5) // a learner that is not wanted any more is dropped
	b.run(time.Second)
	b.want(1, 2, 4)
	b.run(time.Second)
	if got := groups(b); got[len(got)-1] != "[1 2 4] [] true" {
		t.Errorf("the groups were %v", got)
	}
}

// Of two disks that are replaced, one after the other loses its vote. A leader that is to go
// hands over, and the next one begins its work.
func TestReplaceTwoAndTheLeader(t *testing.T) {
	b := newBench(t, 3, Config{})
	b.open(b.add(4))
	b.open(b.add(5))
	b.want(3, 4, 5)
	b.run(5 * time.Second)
	last := []uint64{1, 2, 3}
	for _, g := range of[Group](b, 0) {
		gone := 0
		for _, id := range last {
			if !slices.Contains(g.Voters, id) {
				gone++
			}
		}
		if gone > 1 {
			t.Errorf("from %v to %v at once", last, g.Voters)
		}
		last = g.Voters
	}
	if got := groups(b); got[len(got)-1] != "[3 4 5] [] true" {
		t.Errorf("the groups were %v", got)
	}
	if b.leader() == nil || b.leader().id < 3 {
		t.Error("no wanted replica leads")
	}
	if n := len(of[TenureEnded](b, 0)); n == 0 || n > 2 {
		t.Errorf("%d tenures ended", n)
	}
}

func TestOnlyDiskIsReplaced(t *testing.T) {
	b := newBench(t, 1, Config{})
	b.append()
	b.open(b.add(2))
	b.want(2)
	b.run(5 * time.Second)
	if got := groups(b); got[len(got)-1] != "[2] [] true" {
		t.Errorf("the groups were %v", got)
	}
	if b.machine(2).disk.now.rows["k"] != "v" {
		t.Error("replica 2 does not have the row")
	}
}

// While the voters change nothing is proposed: the entry that ends the change is the last one that
// an outgoing voter gets.
func TestNothingIsProposedWhileVotersChange(t *testing.T) {
	b := newBench(t, 3, Config{})
	b.open(b.add(4))
	b.want(1, 2, 4)
	for len(of[Group](b, 1)) < 4 && b.now < 10*time.Second { // joint is the third, settled the last
		if l := b.leader(); l.writer.out < 3 {
			b.append()
		}
		b.run(100 * time.Microsecond)
	}
	b.run(100 * time.Millisecond)
	end := uint64(0)
	for _, e := range b.machine(1).log.entries {
		if e.GetType() == raftpb.EntryConfChangeV2 && len(e.GetData()) == 0 {
			end = e.GetIndex()
		}
	}
	if end == 0 {
		t.Fatal("the voters did not change")
	}
	if last := b.machine(3).log.end(); last > end {
		t.Errorf("replica 3 has entry %d, and the change of voters ends with %d", last, end)
	}
	if b.machine(1).log.end() <= end || len(of[Refused](b, 0)) > 0 {
		t.Errorf("the appends did not go on: %v", of[Refused](b, 0))
	}
}

// A replica that needs what is gone from the log gets the rows, and the log is kept meanwhile.
func TestSnapshot(t *testing.T) {
	b := newBench(t, 3, Config{LogEntries: 8, StreamBytes: 1 << 20})
	b.kill(b.machine(3))
	for n := range 50 {
		b.append(Row{Key: fmt.Sprint(n), Value: []byte("v")})
		b.run(5 * time.Millisecond)
	}
	l := b.leader()
	if n := len(l.log.entries); n > 8+1 {
		t.Fatalf("the log has %d entries", n)
	}
	b.open(b.machine(3))
	for len(of[SendSnapshot](b, 1)) == 0 && b.now < 10*time.Second {
		b.run(100 * time.Microsecond)
	}
	for range 6 { // none of them is dropped while the rows are under way
		for range 10 {
			b.append()
		}
		b.run(700 * time.Microsecond)
	}
	if b.machine(3).applied.index >= l.lead.streams[3] {
		t.Fatal("the rows have arrived already")
	}
	if n := len(l.log.entries); n < 60 {
		t.Errorf("the log has %d entries while a snapshot streams", n)
	}
	b.run(time.Second)
	if n := len(of[SendSnapshot](b, 1)); n != 1 {
		t.Errorf("%d snapshots were sent", n)
	}
	if three := b.machine(3).disk.now; three.applied != l.disk.now.applied || three.hash != l.disk.now.hash {
		t.Errorf("replica 3 has entry %d, the leader %d", three.applied, l.disk.now.applied)
	}
	b.append()
	b.run(time.Second)
	if n := len(l.log.entries); n > 8+1 {
		t.Errorf("the log has %d entries after the stream", n)
	}
	if n := len(l.lead.streams); n > 0 {
		t.Errorf("%d streams are never forgotten", n)
	}
}

// A learner that was just added gets the rows of a disk that knows it.
func TestSnapshotForNewReplica(t *testing.T) {
	b := newBench(t, 3, Config{LogEntries: 4})
	for range 20 {
		b.append()
		b.run(3 * time.Millisecond)
	}
	b.open(b.add(4))
	for range 3 {
		b.append()
	}
	b.want(1, 2, 4)
	b.run(time.Second)
	if n, d := len(of[SendSnapshot](b, 1)), len(of[DropStream](b, 4)); n != 1 || d != 0 {
		t.Errorf("%d snapshots were sent, and %d dropped", n, d)
	}
	if got := groups(b); got[len(got)-1] != "[1 2 4] [] true" {
		t.Errorf("the groups were %v", got)
	}
}

// A log that grows too long while a snapshot streams is cut all the same.
func TestStreamIsTooSlow(t *testing.T) {
	b := newBench(t, 3, Config{LogEntries: 8, StreamBytes: 8000})
	l := b.leader()
	l.lead.streams[2] = l.applied.index
	for range 200 {
		b.append()
		b.run(time.Millisecond)
	}
	if l.log.bytes > 9000 {
		t.Errorf("the log has %d bytes", l.log.bytes)
	}
}

// A snapshot that comes late or twice is not installed, and its rows are dropped.
func TestSnapshotThatIsNotNeeded(t *testing.T) {
	b := newBench(t, 3, Config{})
	b.append()
	b.run(100 * time.Millisecond)
	l := b.leader()
	snapshot := func(index uint64) []byte {
		return l.seal(&raftpb.Message{Type: raftpb.MsgSnap.Enum(), From: new(uint64(1)), To: new(uint64(2)), Term: new(l.lead.term), Snapshot: &raftpb.Snapshot{
			Metadata: &raftpb.SnapshotMetadata{Index: new(index), Term: new(l.lead.term), ConfState: l.conf}}})
	}
	for i, data := range [][]byte{snapshot(l.applied.index), snapshot(1), []byte("no message"), l.seal(&raftpb.Message{
		Type: raftpb.MsgHeartbeat.Enum(), From: new(uint64(1)), To: new(uint64(2)), Term: new(l.lead.term)})} {
		b.log = nil
		b.streams[9] = &image{rows: map[string]string{}}
		b.step(b.machine(2), SnapshotArrived{From: 1, Data: data, Stream: 9})
		if d := of[DropStream](b, 2); len(d) != 1 || d[0].Stream != 9 || b.machine(2).applied != l.applied {
			t.Errorf("snapshot %d: %v", i, d)
		}
	}
	b.log = nil
	b.step(b.machine(2), Receive{From: 1, Data: snapshot(l.applied.index + 5)})
	if r := of[Reject](b, 2); len(r) != 1 {
		t.Errorf("a snapshot without rows: %v", r)
	}
}

// A change of the replicas that cannot be is skipped, whoever proposed it: raft would panic.
func TestChangesThatMakeNoSense(t *testing.T) {
	add, learn, remove := raftpb.ConfChangeAddNode, raftpb.ConfChangeAddLearnerNode, raftpb.ConfChangeRemoveNode
	for name, cc := range map[string]*raftpb.ConfChangeV2{
		"all go":                   vote(single(remove, 1), single(remove, 2), single(remove, 3)),
		"the end of no change":     {},
		"no change":                vote(),
		"a voter learns":           vote(single(learn, 2)),
		"a voter again":            vote(single(add, 2)),
		"no id":                    vote(single(add, 0)),
		"twice":                    vote(single(add, 4), single(remove, 4)),
		"a change of another kind": {Transition: raftpb.ConfChangeTransitionJointExplicit.Enum(), Changes: []*raftpb.ConfChangeSingle{single(add, 4)}},
		"an update":                vote(single(raftpb.ConfChangeUpdateNode, 2)),
	} {
		b := newBench(t, 3, Config{})
		data, err := marshal.Marshal(cc)
		if err != nil {
			t.Fatal(err)
		}
		l := b.leader()
		at := l.log.end()
		_ = l.node.Step(&raftpb.Message{Type: raftpb.MsgProp.Enum(), From: new(uint64(1)), Entries: []*raftpb.Entry{{Type: raftpb.EntryConfChangeV2.Enum(), Data: data}}})
		b.step(l, Tick{})
		b.append()
		b.run(200 * time.Millisecond)
		if len(of[Done](b, 1)) != 1 || l.log.end() < at+2 || len(l.conf.GetVoters()) != 3 {
			t.Errorf("%s: %v, done %v", name, l.conf, of[Done](b, 1))
		}
	}
	b := newBench(t, 3, Config{})
	b.want() // none
	b.want(0, 1)
	b.run(time.Second)
	if len(of[Group](b, 0)) > 0 {
		t.Errorf("the groups were %v", groups(b))
	}
}

// A replica that has heard what an earlier leader wanted does not go back to that as it leads: since then another leader has
// added replicas, and the only disk that was wanted once may be lost.
func TestAnOldWantIsForgotten(t *testing.T) {
	for _, late := range []bool{false, true} {
		b := newBench(t, 1, Config{})
		b.open(b.add(2))
		b.open(b.add(3))
		b.step(b.machine(2), Want{Voters: []uint64{1}})
		b.step(b.machine(3), Want{Voters: []uint64{1}})
		b.step(b.machine(1), Want{Voters: []uint64{1, 2, 3}})
		b.run(time.Second)
		if late { // it was on its way
			b.step(b.machine(2), Want{Voters: []uint64{1}, Of: []uint64{1}})
			b.step(b.machine(3), Want{Voters: []uint64{1}, Of: []uint64{1}})
		}
		b.log = nil
		b.cutOff(1)
		for _, id := range []uint64{2, 3} {
			b.step(b.machine(id), Left{Replica: 1})
		}
		b.run(5 * time.Second)
		for _, g := range of[Group](b, 0) {
			if !slices.Equal(g.Voters, []uint64{1, 2, 3}) || !g.Settled {
				t.Errorf("the group becomes %+v, since that was wanted once, late: %v", g, late)
			}
		}
		if len(of[TenureBegan](b, 2))+len(of[TenureBegan](b, 3)) != 1 {
			t.Errorf("nobody leads after the first leader is lost, late: %v", late)
		}
	}
}
