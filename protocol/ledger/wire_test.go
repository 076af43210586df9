package ledger

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// An empty disk under an old name is another replica: it refuses what is for the old one.
func TestEmptyDiskDoesNotVoteForTheOldOne(t *testing.T) {
	b := newBench(t, 3, Config{})
	b.kill(b.machine(3))
	fresh := b.add(4) // the same machine at the same address
	b.open(fresh)
	vote := &raftpb.Message{Type: raftpb.MsgVote.Enum(), From: new(uint64(2)), To: new(uint64(3)), Term: new(uint64(50)), Index: new(uint64(99)), LogTerm: new(uint64(49))}
	b.step(fresh, Receive{From: 2, Data: b.machine(2).seal(vote)})
	b.run(time.Second)
	if r := of[Reject](b, 4); len(r) != 1 || !strings.Contains(r[0].Err.Error(), "for another replica") {
		t.Errorf("rejected: %v", r)
	}
	if len(of[Send](b, 4)) > 0 || fresh.term != 0 {
		t.Error("it answered")
	}
	if due, ok := fresh.Due(); ok {
		t.Errorf("it is due at %v, and has nothing to do", due)
	}
}

// The opening of a disk that is newer is the one that counts. The other one halts.
func TestDiskIsCopied(t *testing.T) {
	for _, c := range []struct {
		name             string
		original, copied uint64
	}{{"while it was closed", 5, 5}, {"from a backup", 5, 3}} {
		b := newBench(t, 3, Config{})
		state := b.machine(3).disk.state(3)
		b.power(b.machine(3))
		b.machine(3).disk.opened = c.original - 1
		b.open(b.machine(3))
		b.run(time.Second)
		b.log = nil
		other, err := New(Config{Ledger: 7, Opened: c.copied, Run: 77}, state)
		if err != nil {
			t.Fatal(err)
		}
		vote := other.seal(&raftpb.Message{Type: raftpb.MsgPreVote.Enum(), From: new(uint64(3)), To: new(uint64(2)), Term: new(uint64(50)), Index: new(uint64(99)), LogTerm: new(uint64(49))})
		b.step(b.machine(2), Receive{From: 3, Data: vote})
		if r := of[Reject](b, 2); len(r) != 1 || !strings.Contains(r[0].Err.Error(), "opened again") {
			t.Errorf("%s: rejected: %v", c.name, r)
		}
		b.append()
		other.Step(0, Tick{})
		out := other.Step(0, Receive{From: 1, Data: of[Send](b, 1)[slices.IndexFunc(of[Send](b, 1), func(s Send) bool { return s.To == 3 })].Data})
		if len(out) != 1 || !errors.Is(out[0].(Halted).Err, errStale) {
			t.Errorf("%s: the other one: %v", c.name, out)
		}
	}
}

// A disk that was put back to an earlier state has lost what it acknowledged.
func TestDiskIsRestored(t *testing.T) {
	b := newBench(t, 3, Config{})
	old := b.machine(3).disk.durable.clone()
	b.append()
	b.append()
	b.run(time.Second)
	m := b.machine(3)
	b.power(m)
	m.disk.now, m.disk.durable = old.clone(), old.clone()
	b.open(m)
	b.run(time.Second)
	if h := of[Halted](b, 3); len(h) != 1 || !errors.Is(h[0].Err, errLost) {
		t.Errorf("halted: %v", h)
	}
}

// Two ledgers that meet refuse each other.
func TestTwoLedgersRefuseEachOther(t *testing.T) {
	b := newBench(t, 1, Config{})
	create := Create(2)
	other, err := New(Config{Ledger: 8, Opened: 1}, State{Replica: 2, Hard: create.Hard, Conf: create.Conf, Applied: 1, First: 1, Entries: create.Entries})
	if err != nil {
		t.Fatal(err)
	}
	m := &raftpb.Message{Type: raftpb.MsgHeartbeat.Enum(), From: new(uint64(2)), To: new(uint64(1)), Term: new(uint64(9))}
	b.step(b.machine(1), Receive{From: 2, Data: other.seal(m)})
	if r := of[Reject](b, 1); len(r) != 1 || !strings.Contains(r[0].Err.Error(), "another ledger") || b.leader() == nil {
		t.Errorf("rejected: %v", r)
	}
}

// Rows of an old tenure under a new term are refused by followers, and never applied.
func TestRowsOfAnOldTenure(t *testing.T) {
	b := newBench(t, 3, Config{})
	l := b.leader()
	term, last := l.lead.term, l.log.end()
	data := batch{term: term - 1, number: 1, rows: []Row{{Key: "old", Value: []byte{}}}}.encode()
	m := &raftpb.Message{Type: raftpb.MsgApp.Enum(), From: new(uint64(1)), To: new(uint64(2)), Term: new(term), Index: new(last), LogTerm: new(term),
		Entries: []*raftpb.Entry{{Index: new(last + 1), Term: new(term), Data: data}}}
	b.step(b.machine(2), Receive{From: 1, Data: l.seal(m)})
	if r := of[Reject](b, 2); len(r) != 1 || !strings.Contains(r[0].Err.Error(), "rows of the tenure") {
		t.Errorf("rejected: %v", r)
	}
	one := newBench(t, 1, Config{})
	if err := one.leader().node.Propose(data); err != nil {
		t.Fatal(err)
	}
	one.step(one.leader(), Tick{})
	one.run(time.Second)
	if h := of[Halted](one, 1); len(h) != 1 || len(one.machine(1).disk.now.rows) > 0 {
		t.Errorf("halted: %v, rows %q", h, one.machine(1).disk.now.rows)
	}
}

// messages are such that raft panics, or believes what cannot be.
func messages(term, last uint64) map[string]*raftpb.Message {
	app := func(e ...*raftpb.Entry) *raftpb.Message {
		return &raftpb.Message{Type: raftpb.MsgApp.Enum(), Term: new(term), Index: new(last), LogTerm: new(term), Entries: e}
	}
	snap := func(conf *raftpb.ConfState) *raftpb.Message {
		return &raftpb.Message{Type: raftpb.MsgSnap.Enum(), Term: new(term), Snapshot: &raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{
			Index: new(last + 9), Term: new(term), ConfState: conf}}}
	}
	typed := func(kind raftpb.MessageType) *raftpb.Message {
		return &raftpb.Message{Type: kind.Enum(), Term: new(term)}
	}
	rows := batch{term: term, number: 1, rows: []Row{{Key: "k"}}}.encode()
	all := map[string]*raftpb.Message{
		"no term":                    {Type: raftpb.MsgHeartbeat.Enum()},
		"the last term":              {Type: raftpb.MsgVote.Enum(), Term: new(uint64(math.MaxUint64))},
		"an index out of range":      {Type: raftpb.MsgVote.Enum(), Term: new(term), Index: new(uint64(math.MaxUint64))},
		"a hint out of range":        {Type: raftpb.MsgAppResp.Enum(), Term: new(term), Reject: new(true), RejectHint: new(uint64(math.MaxUint64))},
		"other messages":             {Type: raftpb.MsgHeartbeat.Enum(), Term: new(term), Responses: []*raftpb.Message{{}}},
		"entries in a heartbeat":     {Type: raftpb.MsgHeartbeat.Enum(), Term: new(term), Entries: []*raftpb.Entry{{}}},
		"a snapshot in a vote":       {Type: raftpb.MsgVote.Enum(), Term: new(term), Snapshot: &raftpb.Snapshot{}},
		"what was never sent":        {Type: raftpb.MsgAppResp.Enum(), Term: new(term), Index: new(last + 1)},
		"a short context":            {Type: raftpb.MsgHeartbeatResp.Enum(), Term: new(term), Context: []byte("abc")},
		"a read that was not asked":  {Type: raftpb.MsgHeartbeatResp.Enum(), Term: new(term), Context: binary.LittleEndian.AppendUint64(nil, 1)},
		"an entry behind a gap":      app(&raftpb.Entry{Index: new(last + 2), Term: new(term)}),
		"an entry of a later term":   app(&raftpb.Entry{Index: new(last + 1), Term: new(term + 1)}),
		"terms that fall":            app(&raftpb.Entry{Index: new(last + 1), Term: new(term - 1)}),
		"an entry of the old kind":   app(&raftpb.Entry{Index: new(last + 1), Term: new(term), Type: raftpb.EntryConfChange.Enum()}),
		"a change that is no change": app(&raftpb.Entry{Index: new(last + 1), Term: new(term), Type: raftpb.EntryConfChangeV2.Enum(), Data: []byte("no")}),
		"rows that are none":         app(&raftpb.Entry{Index: new(last + 1), Term: new(term), Data: []byte("no")}),
		"rows of another format":     app(&raftpb.Entry{Index: new(last + 1), Term: new(term), Data: append([]byte{2}, rows[1:]...)}),
		"a log newer than its term":  {Type: raftpb.MsgApp.Enum(), Term: new(term), Index: new(last), LogTerm: new(term + 1)},
		"a place without a term":     {Type: raftpb.MsgApp.Enum(), Term: new(term), Index: new(last)},
		"no voters":                  snap(&raftpb.ConfState{}),
		"no replicas":                snap(nil),
		"a voter twice":              snap(&raftpb.ConfState{Voters: []uint64{1, 1}}),
		"a voter that learns":        snap(&raftpb.ConfState{Voters: []uint64{1, 2}, Learners: []uint64{2}}),
		"a voter without id":         snap(&raftpb.ConfState{Voters: []uint64{0, 2}}),
		"half a change":              snap(&raftpb.ConfState{Voters: []uint64{1, 2}, VotersOutgoing: []uint64{2}}),
		"voters that will learn":     snap(&raftpb.ConfState{Voters: []uint64{1, 2}, LearnersNext: []uint64{3}}),
		"no snapshot":                {Type: raftpb.MsgSnap.Enum(), Term: new(term)},
		"a snapshot of a later term": {Type: raftpb.MsgSnap.Enum(), Term: new(term), Snapshot: &raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{Index: new(last + 9), Term: new(term + 1), ConfState: &raftpb.ConfState{Voters: []uint64{1, 2}}}}},
	}
	for _, kind := range []raftpb.MessageType{raftpb.MsgHup, raftpb.MsgBeat, raftpb.MsgProp, raftpb.MsgUnreachable, raftpb.MsgSnapStatus, raftpb.MsgCheckQuorum,
		raftpb.MsgTransferLeader, raftpb.MsgReadIndex, raftpb.MsgReadIndexResp, raftpb.MsgStorageAppend, raftpb.MsgStorageAppendResp, raftpb.MsgStorageApply,
		raftpb.MsgStorageApplyResp, raftpb.MsgForgetLeader, raftpb.MessageType(99)} {
		all[kind.String()] = typed(kind)
	}
	return all
}

func TestMessagesThatCannotBe(t *testing.T) {
	for _, id := range []uint64{1, 2} { // the leader, and a follower
		b := newBench(t, 3, Config{})
		m := b.machine(id)
		from := b.machine(3)
		for name, msg := range messages(b.leader().lead.term, m.log.end()) {
			if id == 2 && (msg.GetType() == raftpb.MsgAppResp && !msg.GetReject() || name == "a read that was not asked") {
				continue // followers do not care
			}
			msg.From, msg.To = new(uint64(3)), new(id)
			b.log = nil
			b.step(m, SnapshotArrived{From: 3, Data: from.seal(msg), Stream: 5})
			b.step(m, Receive{From: 3, Data: from.seal(msg)})
			if len(of[Reject](b, id)) != 2 || len(of[Send](b, id)) > 0 || len(of[Persist](b, id)) > 0 {
				t.Errorf("%s at replica %d: %v", name, id, b.log)
			}
		}
		for name, data := range map[string][]byte{
			"nothing":       nil,
			"a short one":   make([]byte, envelope-1),
			"a damaged one": append(from.seal(&raftpb.Message{Type: raftpb.MsgHeartbeat.Enum(), From: new(uint64(3)), To: new(id), Term: new(uint64(9))}), 0),
			"a large one":   make([]byte, maxMessage+1),
			"another sender's": b.machine(id%2 + 1).seal(&raftpb.Message{Type: raftpb.MsgHeartbeat.Enum(), From: new(id%2 + 1),
				To: new(id), Term: new(uint64(9))}),
		} {
			b.log = nil
			b.step(m, Receive{From: 3, Data: data})
			if len(of[Reject](b, id)) != 1 || len(b.log) != 1 {
				t.Errorf("%s at replica %d: %v", name, id, b.log)
			}
		}
		b.log = nil
		heartbeat := from.seal(&raftpb.Message{Type: raftpb.MsgHeartbeat.Enum(), From: new(uint64(3)), To: new(id), Term: new(uint64(99)), Commit: new(m.log.end() + 1)})
		b.step(m, Receive{From: 3, Data: heartbeat})
		if h := of[Halted](b, id); len(h) != 1 || !errors.Is(h[0].Err, errLost) {
			t.Errorf("a commit of what was lost: %v", b.log)
		}
	}
}

// FuzzReceive gives a leader and a follower any messages that have the right seal.
func FuzzReceive(f *testing.F) {
	for _, m := range messages(3, 9) {
		body, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body, byte(0), byte(2))
		f.Add(body, byte(3), byte(9))
	}
	f.Fuzz(func(t *testing.T, body []byte, term, index byte) {
		m := new(raftpb.Message)
		if proto.Unmarshal(body, m) != nil {
			return
		}
		for _, id := range []uint64{1, 2} {
			b := newBench(t, 3, Config{})
			to := b.machine(id)
			m.From, m.To = new(uint64(3)), new(id)
			if term > 0 {
				m.Term = new(b.leader().term - 2 + uint64(term%8))
				m.Index = new(to.log.end() - 2 + uint64(index%8))
				m.LogTerm = new(b.leader().term - uint64(index>>3)%2)
				for i, e := range m.GetEntries() {
					e.Index, e.Term = new(m.GetIndex()+1+uint64(i)), new(m.GetTerm())
				}
			}
			b.step(to, Receive{From: 3, Data: b.machine(3).seal(m)})
			b.streams[5] = &image{rows: map[string]string{}}
			b.step(to, SnapshotArrived{From: 3, Data: b.machine(3).seal(m), Stream: 5})
			b.run(50 * time.Millisecond)
		}
	})
}

func TestOpeningsAreBounded(t *testing.T) {
	o := openings{}
	for id := uint64(1); id <= 1000; id++ {
		o.note(id, opening{1, id})
	}
	if len(o) > maxOpenings {
		t.Errorf("%d openings are remembered", len(o))
	}
}

func TestBatch(t *testing.T) {
	b := batch{term: 7, number: 300, rows: []Row{{Key: "a", Value: []byte("xy")}, {Key: "b", Value: []byte{}}, {Key: "c"}, {Key: "d", End: "e"}}}
	data := b.encode()
	if want := "\x01\x07\xac\x02\x04\x01\x01a\x02xy\x01\x01b\x00\x02\x01c\x03\x01d\x01e"; string(data) != want {
		t.Errorf("encoded as %q", data)
	}
	got, err := decodeBatch(data)
	if err != nil || got.term != 7 || got.number != 300 || len(got.rows) != 4 {
		t.Fatalf("decoded as %+v, %v", got, err)
	}
	for i, r := range got.rows {
		if w := b.rows[i]; r.Key != w.Key || r.End != w.End || !bytes.Equal(r.Value, w.Value) || (r.Value == nil) != (w.Value == nil) {
			t.Errorf("row %d is %+v", i, r)
		}
	}
	for n := range data {
		if _, err := decodeBatch(data[:n]); err == nil {
			t.Errorf("the first %d bytes are a batch", n)
		}
	}
	for name, bad := range map[string]string{
		"a byte too many": string(data) + "\x00", "another format": "\x02" + string(data[1:]), "no rows": "\x01\x07\x01\x00",
		"a count that is too large": "\x01\x07\x01\xff\xff\xff\xff\x0f\x02\x01c", "a row of no kind": "\x01\x07\x01\x01\x04\x01c", "a long number": "\x01\x87\x00\x01\x01\x02\x01c",
		"a length that is too large": "\x01\x07\x01\x01\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01c", "a row without a key": "\x01\x07\x01\x01\x02\x00", "an empty range": "\x01\x07\x01\x01\x03\x01c\x00",
	} {
		if got, err := decodeBatch([]byte(bad)); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func FuzzBatch(f *testing.F) {
	f.Add(batch{term: 7, number: 300, rows: []Row{{Key: "a", Value: []byte("xy")}, {Key: "c"}, {Key: "d", End: "e"}}}.encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := decodeBatch(data)
		if err != nil {
			return
		}
		if again := b.encode(); !bytes.Equal(again, data) {
			t.Errorf("%q becomes %q", data, again)
		}
	})
}
