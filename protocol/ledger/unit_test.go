package ledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// bench is a network on which nothing goes wrong by itself, and a record of all effects.
type bench struct {
	*network
	t   *testing.T
	log []noted
}

// noted is an effect, with when and where it came.
type noted struct {
	at time.Duration
	id uint64
	e  Effect
}

// newBench returns replicas 1 to n of a ledger, of which 1 leads.
func newBench(t *testing.T, n int, cfg Config) *bench {
	t.Helper()
	b := &bench{network: newNetwork(cfg), t: t}
	b.fail = t.Errorf
	b.onStep = func(m *machine, _ Event, out []Effect) {
		for _, e := range out {
			b.log = append(b.log, noted{b.now, m.id, e})
		}
	}
	b.create(1)
	var all []uint64
	for id := uint64(1); id <= uint64(n); id++ {
		if id > 1 {
			b.open(b.add(id))
		}
		all = append(all, id)
	}
	b.want(all...)
	b.run(time.Second)
	if l := b.leader(); l == nil || l.id != 1 || len(l.conf.GetVoters()) != n {
		t.Fatalf("%v leads, %v", l, b.machines[0].conf)
	}
	b.log = nil
	return b
}

func (b *bench) want(ids ...uint64) {
	for _, m := range b.machines {
		b.step(m, Want{Voters: ids})
	}
}

// of returns the effects of a kind on a replica, or on all if id is 0.
func of[E Effect](b *bench, id uint64) []E {
	var found []E
	for _, n := range b.log {
		if e, ok := n.e.(E); ok && (id == 0 || n.id == id) {
			found = append(found, e)
		}
	}
	return found
}

// when returns when a replica first had an effect of a kind, and -1 if it had none.
func when[E Effect](b *bench, id uint64) time.Duration {
	for _, n := range b.log {
		if _, ok := n.e.(E); ok && (id == 0 || n.id == id) {
			return n.at
		}
	}
	return -1
}

// cutOff keeps a replica from the others, in both directions.
func (b *bench) cutOff(id uint64) {
	for _, m := range b.machines {
		b.cut[[2]uint64{id, m.id}], b.cut[[2]uint64{m.id, id}] = true, true
	}
}

// message returns what is in a Send.
func message(t *testing.T, data []byte) *raftpb.Message {
	t.Helper()
	m := new(raftpb.Message)
	if err := proto.Unmarshal(data[envelope:], m); err != nil {
		t.Fatal(err)
	}
	return m
}

func kinds(t *testing.T, sends []Send) []raftpb.MessageType {
	t.Helper()
	var all []raftpb.MessageType
	for _, s := range sends {
		all = append(all, message(t, s.Data).GetType())
	}
	return all
}

// append has the leader append a row, and returns its number.
func (b *bench) append(rows ...Row) uint64 {
	b.t.Helper()
	l := b.leader()
	if len(rows) == 0 {
		rows = []Row{{Key: "k", Value: []byte("v")}}
	}
	number := l.writer.next
	l.writer.next++
	l.writer.out++
	b.step(l, Append{Epoch: l.lead.term, Number: number, Rows: rows})
	return number
}

// A controller acts once the first entry of its term is applied, and the disk has its rows.
func TestTenureBeginsBehindAllThatIsCommitted(t *testing.T) {
	b := newBench(t, 1, Config{})
	for range 5 {
		b.append(Row{Key: fmt.Sprint(b.leader().writer.next), Value: []byte{1}})
	}
	b.run(100 * time.Millisecond)
	m := b.machine(1)
	b.power(m)
	b.log = nil
	b.open(m)
	for b.leader() == nil && b.now < 10*time.Second {
		if m.lead != nil && m.disk.now.applied < m.lead.first && when[TenureBegan](b, 1) >= 0 {
			t.Fatal("the tenure began before the disk had the rows")
		}
		b.run(20 * time.Microsecond)
	}
	if began := of[TenureBegan](b, 1); len(began) != 1 || began[0].Epoch <= 2 {
		t.Fatalf("tenures %v", began)
	}
	for n := 1; n <= 5; n++ {
		if m.disk.now.rows[fmt.Sprint(n)] != "\x01" {
			t.Errorf("row %d is not there as the tenure begins: %q", n, m.disk.now.rows)
		}
	}
}

func TestElection(t *testing.T) {
	t.Run("the leader's node left the view", func(t *testing.T) {
		b := newBench(t, 3, Config{})
		b.kill(b.machine(1))
		at := b.now
		b.step(b.machine(2), Left{Replica: 1})
		b.step(b.machine(3), Left{Replica: 1})
		b.run(time.Second)
		if began := when[TenureBegan](b, 2); began < 0 || began-at > 20*time.Millisecond {
			t.Errorf("the next tenure began %v later", began-at)
		}
	})
	t.Run("it is told while messages of the leader are under way", func(t *testing.T) {
		b := newBench(t, 3, Config{})
		b.run(95 * time.Millisecond)
		for b.machine(1).lead.beat < b.now { // until it has just sent a heartbeat
			b.run(100 * time.Microsecond)
		}
		at := b.now
		b.kill(b.machine(1))
		b.step(b.machine(2), Left{Replica: 1})
		b.step(b.machine(3), Left{Replica: 1})
		b.run(500 * time.Millisecond)
		if began := when[TenureBegan](b, 0); began < 0 || began-at > 200*time.Millisecond {
			t.Errorf("the next tenure began %v later", began-at)
		}
	})
	t.Run("the leader is silent", func(t *testing.T) {
		b := newBench(t, 3, Config{})
		b.kill(b.machine(1))
		heard := b.machine(2).heard
		b.run(3 * time.Second)
		if began := when[TenureBegan](b, 2) - heard; began < time.Second || began > 1030*time.Millisecond {
			t.Errorf("the next tenure began after a silence of %v", began)
		}
		for _, k := range kinds(t, of[Send](b, 3)) {
			if k == raftpb.MsgPreVote || k == raftpb.MsgVote {
				t.Error("replica 3 campaigned too")
			}
		}
	})
	t.Run("the view is wrong", func(t *testing.T) {
		b := newBench(t, 3, Config{})
		b.step(b.machine(2), Left{Replica: 1})
		b.run(5 * time.Second)
		if ended := of[TenureEnded](b, 0); len(ended) > 0 || b.machine(1).lead == nil {
			t.Errorf("one replica that is wrong about the leader ended %v", ended)
		}
		if !slices.Contains(kinds(t, of[Send](b, 2)), raftpb.MsgPreVote) {
			t.Error("replica 2 did not even try")
		}
	})
	t.Run("the leader hears no majority", func(t *testing.T) {
		b := newBench(t, 3, Config{})
		at := b.now
		for _, id := range []uint64{2, 3} { // they still hear it
			b.cut[[2]uint64{id, 1}] = true
		}
		b.run(5 * time.Second)
		ended, began := when[TenureEnded](b, 1), max(when[TenureBegan](b, 2), when[TenureBegan](b, 3))
		if ended < 0 || ended-at > 2200*time.Millisecond || began < 0 || began-at > 3500*time.Millisecond {
			t.Errorf("the old tenure ended after %v, the next began after %v", ended-at, began-at)
		}
	})
	t.Run("a replica that was cut off comes back", func(t *testing.T) {
		b := newBench(t, 3, Config{})
		term := b.machine(1).lead.term
		b.cutOff(3)
		b.run(20 * time.Second)
		clear(b.cut)
		b.run(5 * time.Second)
		if l := b.machine(1).lead; l == nil || l.term != term {
			t.Error("it disturbed the leader")
		}
	})
	t.Run("all begin at once", func(t *testing.T) {
		b := newBench(t, 5, Config{})
		for _, m := range b.machines {
			b.power(m)
		}
		at := b.now
		for _, m := range b.machines {
			b.open(m)
		}
		b.run(3 * time.Second)
		if began := when[TenureBegan](b, 0) - at; began < 0 || began > 1200*time.Millisecond {
			t.Errorf("the first tenure began after %v", began)
		}
	})
}

// A vote is on the disk before it is told, and a replica that lost power remembers it.
func TestVoteIsNotForgotten(t *testing.T) {
	for _, known := range []bool{false, true} {
		t.Run(fmt.Sprintf("term known %v", known), func(t *testing.T) { voteIsNotForgotten(t, known) })
	}
}

func voteIsNotForgotten(t *testing.T, known bool) {
	b := newBench(t, 3, Config{})
	m := b.machine(2)
	term := m.term + 5
	b.cutOff(2)
	b.run(2 * time.Second) // it hears no leader and supports others
	b.log = nil
	last := uint64(1 << 20)
	ask := func(from uint64) {
		v := &raftpb.Message{Type: raftpb.MsgVote.Enum(), From: new(from), To: new(uint64(2)), Term: new(term), Index: new(last), LogTerm: new(min(term-1, last))}
		b.step(m, Receive{From: from, Data: b.machine(from).seal(v)})
	}
	granted := func() (to []uint64) {
		for _, s := range of[Send](b, 2) {
			if v := message(t, s.Data); v.GetType() == raftpb.MsgVoteResp && !v.GetReject() && v.GetTerm() == term {
				to = append(to, s.To)
			}
		}
		return to
	}
	if known { // it learned the term before, from a candidate whose log is too short
		last = 1
		ask(3)
		last = 1 << 20
		b.run(5 * time.Millisecond)
	}
	for m.Core.disk.busy != nil {
		b.run(time.Millisecond)
	}
	ask(1)
	if to := granted(); len(to) > 0 || m.Core.disk.busy == nil || !m.Core.disk.busy.Sync {
		t.Fatalf("the vote for %v was told before it was written", to)
	}
	b.run(5 * time.Millisecond)
	if to := granted(); !slices.Equal(to, []uint64{1}) {
		t.Fatalf("votes for %v", to)
	}
	b.power(m)
	b.open(m)
	b.log = nil
	ask(3)
	b.run(50 * time.Millisecond)
	if to := granted(); len(to) > 0 {
		t.Errorf("it voted again in term %d, for %v", term, to)
	}
	ask(1)
	b.run(50 * time.Millisecond)
	if to := granted(); !slices.Equal(to, []uint64{1}) {
		t.Errorf("asked again it voted for %v", to)
	}
}

// A candidate's request for votes waits for its disk, which else could forget the term.
func TestCandidateIsWrittenFirst(t *testing.T) {
	b := newBench(t, 3, Config{})
	b.kill(b.machine(1))
	m := b.machine(2)
	m.disk.stall = b.now + time.Hour
	b.step(m, Left{Replica: 1})
	b.step(b.machine(3), Left{Replica: 1})
	b.run(300 * time.Millisecond)
	sent := kinds(t, of[Send](b, 2))
	if !slices.Contains(sent, raftpb.MsgPreVote) || slices.Contains(sent, raftpb.MsgVote) {
		t.Errorf("it sent %v while its disk had not written its own vote", sent)
	}
}

// A leader that stalls hands over with a tenure that another one follows, and leads again later.
func TestLeaderOfTermOneLeadsAgainInTermThree(t *testing.T) {
	b := newBench(t, 3, Config{})
	first := b.machine(1).lead.term
	b.step(b.machine(1), HandOver{To: []uint64{1, 2, 3}})
	b.run(time.Second)
	second := b.leader()
	if second == nil || second.id == 1 {
		t.Fatal("nobody took over")
	}
	for b.leader() == nil || b.leader().id != 1 {
		if b.leader() != nil {
			b.step(b.leader(), HandOver{To: []uint64{1, 2, 3}})
		}
		b.run(time.Second)
		if b.now > time.Minute {
			t.Fatal("it never leads again")
		}
	}
	third := b.machine(1).lead.term
	b.log = nil
	b.step(b.machine(1), Append{Epoch: first, Number: 1, Rows: []Row{{Key: "old", Value: []byte{}}}})
	b.run(time.Second)
	if r := of[Refused](b, 1); len(r) != 1 || r[0] != (Refused{Epoch: first, Number: 1, Reason: Fenced}) {
		t.Errorf("in term %d an append of tenure %d: %v", third, first, r)
	}
	for _, m := range b.machines {
		if _, ok := m.disk.now.rows["old"]; ok {
			t.Errorf("replica %d has a row of an old tenure", m.id)
		}
	}
}

// One refusal ends the tenure: raft drops proposals while the leadership is being transferred, and
// what follows would leave a gap.
func TestOneRefusedProposalEndsTheTenure(t *testing.T) {
	b := newBench(t, 3, Config{})
	term := b.machine(1).lead.term
	b.cutOff(1)
	b.step(b.machine(1), HandOver{To: []uint64{1, 2, 3}})
	if len(of[TenureEnded](b, 1)) > 0 {
		t.Fatal("the tenure ended before a proposal was refused")
	}
	b.append()
	if r, e := of[Refused](b, 1), of[TenureEnded](b, 1); len(r) != 1 || r[0].Reason != Fenced || len(e) != 1 || e[0].Epoch != term {
		t.Fatalf("refused: %v, ended: %v", r, e)
	}
	clear(b.cut)
	b.machine(1).node.TransferLeader(1) // raft aborts the transfer, and takes proposals again
	b.step(b.machine(1), Append{Epoch: term, Number: 2, Rows: []Row{{Key: "gap", Value: []byte{}}}})
	b.run(5 * time.Second)
	if r := of[Refused](b, 1); len(r) != 2 || r[1].Reason != Fenced {
		t.Errorf("after a refused append another one: %v", r)
	}
	if l := b.leader(); l == nil || l.lead.term <= term {
		t.Error("there is no next tenure")
	}
}

// A leader that cannot hand over drops its raft after a second, and another replica follows.
func TestHandOverFails(t *testing.T) {
	b := newBench(t, 3, Config{})
	at := b.now
	b.swallow = func(_ *machine, e Send) bool { return message(t, e.Data).GetType() == raftpb.MsgTimeoutNow }
	b.step(b.machine(1), HandOver{To: []uint64{1, 2, 3}})
	b.run(3 * time.Second)
	if ended := when[TenureEnded](b, 1); ended-at != time.Second {
		t.Errorf("it led on for %v", ended-at)
	}
	if b.leader() == nil {
		t.Error("nobody leads")
	}
}
