package ledger

import (
	"flag"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

var (
	seedFlag = flag.Int64("ledger.seed", 0, "run only this seed of TestFaults")
	seeds    = flag.Int64("ledger.seeds", 1200, "how many seeds TestFaults runs")
)

// TestFaults runs one, three or five replicas over a network that loses, repeats and reorders,
// on disks that lose what was not synced, fail, stall and are replaced, while processes die and
// hang. After every step it checks what doc.go promises, and in the end that the ledger works
// again.
func TestFaults(t *testing.T) {
	first, last := int64(1), *seeds
	if testing.Short() {
		last = min(last, 100)
	}
	if *seedFlag != 0 {
		first, last = *seedFlag, *seedFlag
	}
	const lanes = 2 // that run at once
	var tallies [lanes]tally
	t.Run("seeds", func(t *testing.T) {
		for lane := range int64(lanes) {
			t.Run(fmt.Sprint(lane), func(t *testing.T) {
				t.Parallel()
				for seed := first + lane; seed <= last; seed += lanes {
					tallies[lane].add(faults(t, seed))
					if t.Failed() {
						t.Fatalf("to see it again: go test ./protocol/ledger -run TestFaults -ledger.seed %d", seed)
					}
				}
			})
		}
	})
	var all tally
	for _, one := range tallies {
		all.add(one)
	}
	t.Logf("%+v", all)
	if *seedFlag == 0 && !t.Failed() && (all.Done == 0 || all.Reads == 0 || all.Tenures <= 2*all.Runs || all.Refused == 0 || all.Busy == 0 || all.Stalls == 0 ||
		all.Snapshots == 0 || all.Replaced == 0 || all.Transfers == 0 || all.Poisoned == 0 || all.Cut == 0) {
		t.Errorf("too little happened to say anything: %+v", all)
	}
}

type tally struct {
	Runs, Steps, Done, Refused, Busy, Tenures, Reads, Stalls, Snapshots, Replaced, Transfers, Poisoned, Cut int
}

func (a *tally) add(b tally) {
	a.Runs += b.Runs
	a.Steps += b.Steps
	a.Done += b.Done
	a.Refused += b.Refused
	a.Busy += b.Busy
	a.Tenures += b.Tenures
	a.Reads += b.Reads
	a.Stalls += b.Stalls
	a.Snapshots += b.Snapshots
	a.Replaced += b.Replaced
	a.Transfers += b.Transfers
	a.Poisoned += b.Poisoned
	a.Cut += b.Cut
}

func faults(t *testing.T, seed int64) tally {
	rng := rand.New(rand.NewSource(seed))
	w := newNetwork(Config{
		LogEntries: 4 + rng.Intn(40), LogBytes: 2000 + rng.Intn(8000), StreamBytes: 20000,
		MaxEntry: 2000, MaxUncommitted: 2000 + rng.Intn(1000),
	})
	if rng.Intn(3) > 0 {
		w.cfg.HeartbeatEvery = time.Duration(100+rng.Intn(200)) * time.Millisecond
	}
	if seed%2 == 0 { // the group sleeps in each pause
		w.cfg.SleepAfter, w.cfg.SleepEvery = time.Millisecond, time.Duration(300+seed%7*100)*time.Millisecond
	}
	w.rng, w.pace = rng, time.Duration(50+rng.Intn(200))*time.Millisecond
	in := newInvariants(t, w, seed)
	w.onStep, w.fail = in.after, in.fail
	s := &faulty{network: w, in: in, born: 1}
	s.create(1)
	s.run(30 * time.Millisecond)
	s.group(1 + 2*rng.Intn(3))
	s.run(time.Duration(rng.Intn(1000)) * time.Millisecond)
	w.drop, w.dup = 0.03, 0.03
	for range 8 {
		s.act()
		s.run(time.Duration(rng.Intn(900)) * time.Millisecond)
		s.mend()
		if t.Failed() {
			return in.count
		}
	}
	s.end()
	return in.count
}

// faulty lets things go wrong from which the ledger recovers.
type faulty struct {
	*network
	in   *invariants
	born uint64
	want []uint64
}

// group has so many replicas vote.
func (s *faulty) group(n int) {
	for len(s.want) < n {
		id := s.born
		s.born++
		if s.machine(id) == nil {
			s.open(s.add(id))
		}
		s.want = append(s.want, id)
	}
	s.want = s.want[:n]
	s.tellWant()
}

func (s *faulty) tellWant() {
	for _, m := range s.machines {
		s.step(m, Want{Voters: s.want})
	}
}

// whole reports whether the replicas are those that are wanted, and all their disks live: then
// one of them may be lost.
func (s *faulty) whole() bool {
	g := s.in.group
	want := slices.Sorted(slices.Values(s.want))
	return len(want) >= 3 && g.Settled && slices.Equal(g.Voters, want) && !slices.ContainsFunc(want, func(id uint64) bool {
		d := s.machine(id).disk
		return d.poisoned || d.lost || d.fails
	})
}

// replace has a new disk take the place of one that is lost.
func (s *faulty) replace(id uint64) {
	s.want = slices.DeleteFunc(slices.Clone(s.want), func(w uint64) bool { return w == id })
	s.group(len(s.want) + 1)
}

func (s *faulty) any() *machine {
	m := s.machine(s.want[s.rng.Intn(len(s.want))])
	if l := s.leader(); l != nil && s.rng.Intn(2) == 0 {
		m = l
	}
	return m
}

// back starts a core again after a while.
func (s *faulty) back(m *machine) {
	s.at(s.now+time.Duration(s.rng.Intn(2500))*time.Millisecond, func() {
		if !m.up && !m.disk.lost && !m.disk.poisoned {
			s.open(m)
			s.step(m, Want{Voters: s.want})
		}
	})
}

func (s *faulty) act() {
	m := s.any()
	switch s.rng.Intn(14) {
	case 0:
		s.kill(m)
		s.tellLeft(m)
		s.back(m)
	case 1:
		s.power(m)
		s.back(m)
	case 2: // of everything
		for _, m := range s.machines {
			s.power(m)
			s.back(m)
		}
	case 3, 4:
		m.disk.stall = s.now + time.Duration(s.rng.Intn(5000))*time.Millisecond
	case 5:
		if s.whole() {
			m.disk.fails = true
			s.in.count.Poisoned++
			s.at(s.now+time.Duration(s.rng.Intn(2000))*time.Millisecond, func() { s.replace(m.id) })
		}
	case 6: // the same machine comes with an empty disk
		if s.whole() {
			s.kill(m)
			m.disk.lost = true
			s.in.count.Replaced++
			s.replace(m.id)
		}
	case 7, 8: // cut off, perhaps in one direction, perhaps from one other replica only
		other := s.any()
		for _, o := range s.machines {
			if s.rng.Intn(2) == 0 || o == other {
				s.cut[[2]uint64{m.id, o.id}] = true
			}
			if s.rng.Intn(2) == 0 {
				s.cut[[2]uint64{o.id, m.id}] = true
			}
		}
		s.in.count.Cut++
		s.at(s.now+time.Duration(s.rng.Intn(3000))*time.Millisecond, func() { clear(s.cut) })
	case 9:
		if m.up && !m.hung {
			m.hung = true
			s.at(s.now+time.Duration(s.rng.Intn(3000))*time.Millisecond, func() { s.resume(m) })
		}
	case 10: // the view is wrong
		s.tellLeft(m)
	case 11: // perhaps in vain
		if s.rng.Intn(2) == 0 {
			for _, o := range s.machines {
				s.cut[[2]uint64{m.id, o.id}] = true
			}
			s.at(s.now+time.Duration(s.rng.Intn(1500))*time.Millisecond, func() { clear(s.cut) })
		}
		s.step(m, HandOver{To: s.want})
	case 12:
		if s.whole() || len(s.want) == 1 {
			s.group(1 + 2*s.rng.Intn(3))
		}
	case 13: // hosts that repeat themselves
		if m.up && m.Core.disk.number > 0 {
			s.step(m, Written{Number: uint64(s.rng.Intn(int(m.Core.disk.number)))})
		}
		s.step(m, SnapshotFailed{To: uint64(s.rng.Intn(5))})
		s.step(m, SnapshotSent{To: uint64(s.rng.Intn(5))})
		if m.up && m.term > 0 { // a controller of an older tenure
			s.step(m, Append{Epoch: uint64(s.rng.Intn(int(m.term))), Number: 1 + uint64(s.rng.Intn(9)), Rows: []Row{{Key: "old"}}})
		}
	}
}

func (s *faulty) tellLeft(m *machine) {
	for _, o := range s.machines {
		if o != m && s.rng.Intn(4) != 0 {
			s.to(o, s.now+time.Duration(s.rng.Intn(20))*time.Millisecond, func() { s.step(o, Left{Replica: m.id}) })
		}
	}
}

// mend deletes the disks that nothing needs any more.
func (s *faulty) mend() {
	g := s.in.group
	if !g.Settled {
		return
	}
	for _, m := range s.machines {
		if m.up && !slices.Contains(s.want, m.id) && !slices.Contains(g.Voters, m.id) && !slices.Contains(g.Learners, m.id) {
			s.kill(m)
			m.disk.lost = true
		}
	}
}

// end lets the faults stop, and checks that the ledger works again.
func (s *faulty) end() {
	clear(s.cut)
	s.drop, s.dup = 0, 0
	for _, id := range s.want { // a disk that failed unnoticed
		if m := s.machine(id); m.disk.poisoned || m.disk.fails {
			s.replace(id)
		}
	}
	for _, m := range s.machines {
		m.disk.stall = 0
		if m.hung {
			s.resume(m)
		}
		if !m.up && !m.disk.lost && !m.disk.poisoned {
			s.open(m)
		}
	}
	s.tellWant()
	s.run(500 * time.Millisecond)
	s.quiet = true
	s.run(5500 * time.Millisecond)
	s.mend()
	var leaders []uint64
	for _, m := range s.machines {
		if m.up && m.lead != nil {
			leaders = append(leaders, m.id)
		}
	}
	s.run(200 * time.Millisecond)
	if len(leaders) != 1 || s.leader() == nil {
		s.fail("replicas %v lead when the faults have ended", leaders)
		return
	}
	l := s.leader()
	for range 5 {
		l.writer.append()
	}
	s.run(300 * time.Millisecond)
	if l.writer == nil || l.writer.out != 0 || l.writer.acked+1 != l.writer.next {
		s.fail("the appends of replica %d do not end: %d are done of %d, %d wait", l.id, l.writer.acked, l.writer.next-1, l.writer.out)
	}
	s.in.quiet(l, slices.Sorted(slices.Values(s.want)))
}

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

// TestSameEventsSameEffects replays what happened to each core.
func TestSameEventsSameEffects(t *testing.T) {
	for seed := int64(1); seed <= 20; seed++ {
		rng := rand.New(rand.NewSource(seed))
		w := newNetwork(Config{LogEntries: 8, LogBytes: 4000})
		w.rng, w.pace, w.drop, w.dup = rng, 100*time.Millisecond, 0.03, 0.03
		in := newInvariants(t, w, seed)
		w.fail = in.fail
		type step struct {
			ev  Event
			now time.Duration
			out string
		}
		type life struct {
			m     *machine
			life  int
			cfg   Config
			state State
			steps []step
		}
		var lives []*life
		w.onOpen = func(m *machine, cfg Config, s State) {
			lives = append(lives, &life{m: m, life: m.life + 1, cfg: cfg, state: s})
		}
		w.onStep = func(m *machine, ev Event, out []Effect) {
			in.after(m, ev, out)
			for _, l := range lives {
				if l.m == m && l.life == m.life {
					l.steps = append(l.steps, step{ev, w.now + m.skew, exact(out)})
				}
			}
		}
		s := &faulty{network: w, in: in, born: 1}
		s.create(1)
		s.run(30 * time.Millisecond)
		s.group(3)
		for range 6 {
			s.act()
			s.run(300 * time.Millisecond)
		}
		for _, l := range lives {
			again, err := New(l.cfg, l.state)
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range l.steps {
				if out := exact(again.Step(s.now, s.ev)); out != s.out {
					t.Fatalf("seed %d: event %d at replica %d, %#v:\n%s, the first time\n%s", seed, i, l.m.id, s.ev, out, s.out)
				}
			}
		}
	}
}

// exact returns all that is in the effects.
func exact(out []Effect) string {
	var b strings.Builder
	for _, e := range out {
		if p, ok := e.(Persist); ok && p.Write.Install != nil {
			fmt.Fprintf(&b, "%v\n", *p.Write.Install)
			p.Write.Install = nil
			e = p
		}
		fmt.Fprintf(&b, "%T %v\n", e, e)
	}
	return b.String()
}
