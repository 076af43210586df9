package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/raft/v3/raftpb"
)

// invariants watches a network.
type invariants struct {
	t    *testing.T
	w    *network
	seed int64

	leaders   map[uint64]uint64 // term → replica
	committed map[uint64]mark   // index → the entry that the first replica applied
	batches   map[uint64]batch  // index → its rows
	top       uint64            // the last one
	epoch     uint64            // the last tenure that committed
	number    uint64            // its last append
	acked     map[string]uint64 // row → index
	ackedAt   uint64            // the last index
	hashes    map[uint64]uint64 // applied index → rows
	began     map[uint64]bool
	asked     map[call]int
	reads     map[readCall]uint64 // what it has to see
	changes   []uint64            // the entries that change the replicas
	group     Group
	groupTerm uint64
	seen      map[*machine]*seenState
	count     tally

	old        map[uint64]bool // replicas that a recovered ledger goes on without
	lowest     uint64          // the epochs of a recovered ledger are greater
	refusedOld int             // messages between generations
}

// call is an append of one life of a core.
type call struct {
	m             *machine
	life          int
	epoch, number uint64
}

type readCall struct {
	m    *machine
	life int
	id   uint64
}

// seenState is what was last seen of a core.
type seenState struct {
	life    int
	applied uint64
	conf    *raftpb.ConfState
	before  *raftpb.ConfState
}

func newInvariants(t *testing.T, w *network, seed int64) *invariants {
	return &invariants{
		t: t, w: w, seed: seed, leaders: map[uint64]uint64{}, committed: map[uint64]mark{}, batches: map[uint64]batch{},
		acked: map[string]uint64{}, hashes: map[uint64]uint64{}, began: map[uint64]bool{}, asked: map[call]int{},
		reads: map[readCall]uint64{}, seen: map[*machine]*seenState{}, count: tally{Runs: 1},
	}
}

func (in *invariants) fail(format string, args ...any) {
	in.t.Errorf("seed %d at %v: %s", in.seed, in.w.now, fmt.Sprintf(format, args...))
}

func (in *invariants) after(m *machine, ev Event, out []Effect) {
	in.count.Steps++
	if in.old[m.id] {
		in.outdated(m, out)
		return
	}
	switch ev := ev.(type) {
	case Append:
		in.asked[call{m, m.life, ev.Epoch, ev.Number}]++
	case Read:
		if _, ok := in.reads[readCall{m, m.life, ev.ID}]; !ok {
			in.reads[readCall{m, m.life, ev.ID}] = in.ackedAt
		}
	case Written:
		in.rows(m)
	}
	if m.lead != nil {
		if was, ok := in.leaders[m.lead.term]; ok && was != m.id {
			in.fail("replicas %d and %d lead term %d", was, m.id, m.lead.term)
		}
		in.leaders[m.lead.term] = m.id
	}
	in.scan(m)
	for _, e := range out {
		in.effect(m, e)
	}
}

// outdated checks that a replica without which the ledger was recovered decides nothing.
func (in *invariants) outdated(m *machine, out []Effect) {
	if m.lead != nil {
		in.fail("the old replica %d leads term %d", m.id, m.lead.term)
	}
	for _, e := range out {
		switch e := e.(type) {
		case TenureBegan, Done, Readable, Group:
			in.fail("the old replica %d: %#v", m.id, e)
		case Lead:
			if e.Term > in.lowest {
				in.fail("the old replica %d follows %d in term %d", m.id, e.Replica, e.Term)
			}
		}
	}
}

func (in *invariants) answered(m *machine, epoch, number uint64) {
	c := call{m, m.life, epoch, number}
	if in.asked[c]--; in.asked[c] < 0 {
		in.fail("replica %d answers append %d of tenure %d once more", m.id, number, epoch)
	}
}

func (in *invariants) effect(m *machine, e Effect) {
	switch e := e.(type) {
	case Done:
		in.count.Done++
		in.answered(m, e.Epoch, e.Number)
		key := fmt.Sprintf("a/%d/%d", e.Epoch, e.Number)
		at := uint64(0)
		for i := in.top; i > 0 && at == 0; i-- {
			if b, ok := in.batches[i]; ok && b.term == e.Epoch && b.number == e.Number {
				at = i
			}
		}
		if at == 0 {
			in.fail("replica %d acknowledges append %d of tenure %d, which is not committed", m.id, e.Number, e.Epoch)
		}
		in.acked[key], in.ackedAt = at, max(in.ackedAt, at)
	case Refused:
		in.answered(m, e.Epoch, e.Number)
		in.count.Refused++
		if e.Reason == Busy {
			in.count.Busy++
		} else if e.Reason == TooLarge || e.Reason == Invalid {
			in.fail("append %d of tenure %d is refused: %v", e.Number, e.Epoch, e.Reason)
		}
	case TenureBegan:
		in.count.Tenures++
		if in.began[e.Epoch] {
			in.fail("tenure %d begins twice", e.Epoch)
		}
		in.began[e.Epoch] = true
		if e.Epoch <= in.lowest {
			in.fail("tenure %d begins after the ledger was recovered at %d", e.Epoch, in.lowest)
		}
		if m.disk.now.applied < in.ackedAt {
			in.fail("tenure %d begins with the rows of entry %d, and %d is acknowledged", e.Epoch, m.disk.now.applied, in.ackedAt)
		}
		in.survive(m)
	case Readable:
		in.count.Reads++
		r := readCall{m, m.life, e.ID}
		need, ok := in.reads[r]
		if !ok || m.disk.now.applied < need {
			in.fail("a read sees the rows of entry %d, and %d was acknowledged before", m.disk.now.applied, need)
		}
		delete(in.reads, r)
	case NotReadable:
		r := readCall{m, m.life, e.ID}
		if _, ok := in.reads[r]; !ok {
			in.fail("replica %d answers a read once more", m.id)
		}
		delete(in.reads, r)
	case Send:
		in.promise(m, message(in.t, e.Data))
	case Stalled:
		in.count.Stalls++
	case SendSnapshot:
		in.count.Snapshots++
	case Transfers:
		in.count.Transfers++
	case Group:
		if e.Settled && !in.known(e.Voters, m.applied.index) {
			in.fail("replica %d calls %v settled, and most of their disks do not know that the change is committed", m.id, e.Voters)
		}
		if m.lead != nil && m.lead.term >= in.groupTerm {
			in.group, in.groupTerm = e, m.lead.term
		}
	case Halted:
		if !m.disk.poisoned {
			in.fail("replica %d halted: %v", m.id, e.Err)
		}
	case Reject:
		if in.lowest > 0 && strings.Contains(e.Err.Error(), "it is of generation") {
			in.refusedOld++
			return
		}
		if !strings.HasSuffix(e.Err.Error(), "its sender's disk was opened again since") { // it came late
			in.fail("replica %d: %v", m.id, e.Err)
		}
	}
}

// promise checks that what a message promises is on the disk already. If the disk has a later term
// the promise was kept as long as that mattered: its entries may have been replaced since.
func (in *invariants) promise(m *machine, msg *raftpb.Message) {
	d := m.disk.durable
	if d.hard.GetTerm() > msg.GetTerm() {
		return
	}
	switch msg.GetType() {
	case raftpb.MsgVote, raftpb.MsgVoteResp:
		vote := m.id
		if msg.GetType() == raftpb.MsgVoteResp {
			vote = msg.GetTo()
		}
		if !msg.GetReject() && (d.hard.GetTerm() != msg.GetTerm() || d.hard.GetVote() != vote) {
			in.fail("replica %d says %v in term %d, and its disk has the vote for %d in term %d", m.id, msg.GetType(), msg.GetTerm(), d.hard.GetVote(), d.hard.GetTerm())
		}
	case raftpb.MsgAppResp:
		if last := max(d.applied, d.first+uint64(len(d.entries))-1); !msg.GetReject() && msg.GetIndex() > last {
			in.fail("replica %d acknowledges entry %d, and its disk has them up to %d", m.id, msg.GetIndex(), last)
		}
	}
}

// scan looks at the entries that a replica has applied since the last look.
func (in *invariants) scan(m *machine) {
	s := in.seen[m]
	if s == nil || s.life != m.life {
		s = &seenState{life: m.life, conf: m.conf, before: m.conf}
		in.seen[m] = s
	}
	for i := max(s.applied, m.log.base.index) + 1; i <= m.applied.index; i++ {
		e := m.log.entries[i-m.log.base.index-1]
		at := mark{e.GetIndex(), e.GetTerm()}
		if was, ok := in.committed[i]; ok {
			if was != at {
				in.fail("replica %d applied entry %d of term %d, another one that of term %d", m.id, i, at.term, was.term)
			}
			continue
		}
		in.committed[i] = at
		in.top = max(in.top, i)
		if !in.durable(s.conf, at) && !in.durable(m.conf, at) && !in.durable(s.before, at) {
			in.fail("replica %d applied entry %d of term %d, which is not on the disks of a majority of %v", m.id, i, at.term, m.conf)
		}
		switch {
		case e.GetType() == raftpb.EntryConfChangeV2:
			in.changes = append(in.changes, i)
		case len(e.GetData()) > 0:
			in.batch(e)
		}
	}
	s.applied = m.applied.index
	if m.conf != s.conf {
		s.before, s.conf = s.conf, m.conf
	}
}

// batch checks that the tenures commit one after the other, and each without gaps.
func (in *invariants) batch(e *raftpb.Entry) {
	b, err := decodeBatch(e.GetData())
	if err != nil || b.term != e.GetTerm() {
		in.fail("entry %d of term %d has rows of the tenure %d: %v", e.GetIndex(), e.GetTerm(), b.term, err)
	}
	in.batches[e.GetIndex()] = b
	switch {
	case b.term < in.epoch:
		in.fail("tenure %d commits after tenure %d", b.term, in.epoch)
	case b.term > in.epoch && b.number != 1, b.term == in.epoch && b.number != in.number+1:
		in.fail("tenure %d commits append %d after %d", b.term, b.number, in.number)
	}
	in.epoch, in.number = b.term, b.number
}

// durable reports whether an entry is on the disks of most voters, and of most outgoing ones. A
// disk that was lost since counts: the others of its majority still have the entry.
func (in *invariants) durable(conf *raftpb.ConfState, at mark) bool {
	most := func(ids []uint64) bool {
		has := 0
		for _, id := range ids {
			if m := in.w.machine(id); m != nil && m.disk.durable.has(at.index, at.term) {
				has++
			}
		}
		return len(ids) == 0 || 2*has > len(ids)
	}
	return most(conf.GetVoters()) && most(conf.GetVotersOutgoing())
}

// known reports whether most disks have it that the last change of the replicas up to an entry is
// committed.
func (in *invariants) known(voters []uint64, upTo uint64) bool {
	last, know := uint64(0), 0
	for _, at := range in.changes {
		if at <= upTo {
			last = max(last, at)
		}
	}
	for _, id := range voters {
		if d := in.w.machine(id).disk.durable; max(d.applied, d.hard.GetCommit()) >= last {
			know++
		}
	}
	return 2*know > len(voters)
}

// rows checks that equal entries give equal rows.
func (in *invariants) rows(m *machine) {
	d := m.disk.now
	if was, ok := in.hashes[d.applied]; ok && was != d.hash {
		in.fail("replica %d has other rows than another one after entry %d", m.id, d.applied)
	}
	in.hashes[d.applied] = d.hash
}

// survive checks that a disk has all rows that were acknowledged.
func (in *invariants) survive(m *machine) {
	for key := range in.acked {
		if _, ok := m.disk.now.rows[key]; !ok {
			in.fail("replica %d does not have %s, which was acknowledged", m.id, key)
			return
		}
	}
}

// quiet checks what must be so some time after the last fault.
func (in *invariants) quiet(l *machine, want []uint64) {
	if !in.group.Settled || !slices.Equal(in.group.Voters, want) || len(in.group.Learners) > 0 {
		in.fail("the replicas are %+v, wanted are %v", in.group, want)
	}
	for _, id := range want {
		m := in.w.machine(id)
		if !m.up || m.disk.now.applied != l.disk.now.applied || m.disk.now.hash != l.disk.now.hash {
			in.fail("replica %d has the rows of entry %d, the leader %d those of %d", id, m.disk.now.applied, l.id, l.disk.now.applied)
			continue
		}
		in.survive(m)
		if limit := m.cfg.LogEntries + 64; len(m.log.entries) > limit {
			in.fail("replica %d has %d entries in its log", id, len(m.log.entries))
		}
	}
	for c, n := range in.asked {
		if n != 0 && c.m.up && c.life == c.m.life && !c.m.halted {
			in.fail("append %d of tenure %d of replica %d got no answer", c.number, c.epoch, c.m.id)
		}
	}
	for r := range in.reads {
		if r.m.up && r.life == r.m.life && !r.m.halted {
			in.fail("a read of replica %d got no answer", r.m.id)
		}
	}
}
