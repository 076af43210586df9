package ledger

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

var recovers = seeds // TestRecoverFaults runs a quarter of them

// TestRecoverFaults runs a ledger with the faults of TestFaults, loses a majority of its disks for good, and has it go on from
// the one that has most. What that disk had survives, and later epochs are greater. Some of the lost disks come back: none of
// them leads or commits anything, whatever else goes wrong.
func TestRecoverFaults(t *testing.T) {
	first, last := int64(1), *recovers/4
	if testing.Short() {
		last = min(last, 60)
	}
	if *seedFlag != 0 {
		first, last = *seedFlag, *seedFlag
	}
	var all recoverTally
	for seed := first; seed <= last; seed++ {
		recoverFaults(t, seed, &all)
		if t.Failed() {
			t.Fatalf("to see it again: go test ./protocol/ledger -run TestRecoverFaults -ledger.seed %d", seed)
		}
	}
	t.Logf("%+v", all)
	if *seedFlag == 0 && (all.Recovered == 0 || all.Lost == 0 || all.Void == 0 || all.Joint == 0 || all.Back == 0 || all.Refused == 0) {
		t.Errorf("too little happened to say anything: %+v", all)
	}
}

// recoverTally counts ledgers that were recovered, acknowledged rows that were lost, entries that were not known to be committed,
// ledgers in the middle of a change, disks that came back, and their messages that were refused.
type recoverTally struct{ Recovered, Lost, Void, Joint, Back, Refused int }

func recoverFaults(t *testing.T, seed int64, all *recoverTally) {
	rng := rand.New(rand.NewSource(seed))
	w := newNetwork(Config{LogEntries: 4 + rng.Intn(40), LogBytes: 2000 + rng.Intn(8000), StreamBytes: 20000, MaxEntry: 2000, MaxUncommitted: 2000 + rng.Intn(1000)})
	w.rng, w.pace = rng, time.Duration(50+rng.Intn(200))*time.Millisecond
	in := newInvariants(t, w, seed)
	in.old = map[uint64]bool{}
	w.onStep, w.fail = in.after, in.fail
	s := &faulty{network: w, in: in, born: 1}
	w.onTenure = func(m *machine) {
		if m.up && len(s.want) > 0 {
			s.step(m, Want{Voters: s.want})
		}
	}
	s.create(1)
	s.run(30 * time.Millisecond)
	s.group(3 + 2*rng.Intn(2))
	s.run(time.Duration(rng.Intn(1000)) * time.Millisecond)
	w.drop, w.dup = 0.03, 0.03
	for range 2 { // again, after it was recovered
		for range rng.Intn(4) {
			s.act()
			s.run(time.Duration(rng.Intn(900)) * time.Millisecond)
		}
		if rng.Intn(3) == 0 { // one disk is just replaced
			s.replace(s.want[rng.Intn(len(s.want))])
			s.run(time.Duration(rng.Intn(300)) * time.Millisecond)
		}
		if !s.lose(all) || t.Failed() {
			break
		}
		for range rng.Intn(4) {
			s.act()
			s.run(time.Duration(rng.Intn(900)) * time.Millisecond)
			if t.Failed() {
				return
			}
		}
	}
	s.end()
	all.Refused += in.refusedOld
}

// lose has all machines lose their power, loses a majority of the disks for good, and recovers the ledger. It reports whether
// it did.
func (s *faulty) lose(all *recoverTally) bool {
	clear(s.cut)
	for _, m := range s.machines {
		s.power(m)
		m.hung, m.disk.stall = false, 0
	}
	var disks []*machine
	for _, m := range s.machines {
		if !m.disk.lost && !m.disk.poisoned && !m.disk.fails && !s.in.old[m.id] && m.disk.now.applied > 0 {
			disks = append(disks, m)
		}
	}
	s.rng.Shuffle(len(disks), func(i, j int) { disks[i], disks[j] = disks[j], disks[i] })
	var left []*machine
	var found []Found
	best, missing := -1, []uint64(nil)
	for _, m := range disks { // as many as can be left without a majority
		f, err := Find(m.disk.state(m.id))
		if err != nil {
			s.fail("%v", err)
			return false
		}
		i, gone, err := Survey(append(slices.Clone(found), f))
		if errors.Is(err, ErrMajority) || len(left) > 0 && s.rng.Intn(2) == 0 {
			continue
		}
		left, found, best, missing = append(left, m), append(found, f), i, gone
	}
	if best < 0 {
		return false
	}
	m, from := left[best], found[best]
	before := m.disk.now.clone()
	write, err := Recover(m.disk.state(m.id), time.Duration(s.rng.Int63n(int64(time.Hour))))
	if err != nil {
		s.fail("%v", err)
		return false
	}
	m.disk.write(write, nil)
	all.Recovered++
	all.Lost += s.in.recovered(m, before)
	if from.Index > before.applied {
		all.Void++
	}
	if len(from.before) > 0 {
		all.Joint++
	}
	for _, o := range s.machines {
		if o != m && !o.disk.lost {
			o.disk.lost = true
			s.in.old[o.id] = true
		}
	}
	s.want = []uint64{m.id}
	s.open(m)
	// Some of the lost disks come back, too few to elect a leader among themselves; the recovered one may have voted with them.
	var back []Found
	for _, id := range missing {
		o := s.machine(id)
		if o == nil || o.disk.poisoned || o.disk.fails {
			continue
		}
		f, err := Find(o.disk.state(id))
		if with := append(slices.Clone(back), f); err == nil && !elect(with) {
			back = with
			o.disk.lost, s.in.old[id] = false, true
			s.back(o)
		}
	}
	all.Back += len(back)
	s.group(3)
	return true
}

// elect reports whether one of the disks can be elected by them, as far as it knows the voters.
func elect(disks []Found) bool {
	return slices.ContainsFunc(disks, func(f Found) bool {
		most := func(voters []uint64) bool {
			there := slices.DeleteFunc(slices.Clone(voters), func(id uint64) bool {
				return !slices.ContainsFunc(disks, func(o Found) bool { return o.Replica == id })
			})
			return len(voters) == 0 || 2*len(there) > len(voters)
		}
		return f.Index > 0 && most(f.Voters) && most(f.before)
	})
}

// recovered forgets what the ledger may have lost, and returns how many acknowledged appends these are. The disk had the image
// before.
func (in *invariants) recovered(m *machine, before image) (lost int) {
	kept := func(index uint64) bool { return index <= before.applied }
	for key, at := range in.acked {
		if before.has(at, in.committed[at].term) {
			if _, ok := m.disk.now.rows[key]; !ok {
				in.fail("the disk %d of the recovered ledger had %s, and it is gone", m.id, key)
			}
			continue
		}
		lost++
		delete(in.acked, key)
	}
	maps.DeleteFunc(in.committed, func(i uint64, _ mark) bool { return !kept(i) })
	maps.DeleteFunc(in.batches, func(i uint64, _ batch) bool { return !kept(i) })
	maps.DeleteFunc(in.hashes, func(i, _ uint64) bool { return !kept(i) })
	in.changes = slices.DeleteFunc(in.changes, func(i uint64) bool { return !kept(i) })
	clear(in.reads)
	in.top = max(m.disk.now.applied, before.applied)
	in.ackedAt = min(in.ackedAt, in.top)
	in.lowest = m.disk.now.hard.GetTerm()
	in.group = Group{}
	return lost
}

// A replica that is left has a change of the voters in its log, of which it does not know that it is committed: it takes no
// part in it. Its rows are there, and all goes on with new replicas.
func TestRecoverVoidsChanges(t *testing.T) {
	b := newBench(t, 3, Config{})
	m := b.machine(2)
	b.power(m)
	end := m.disk.now.applied
	for e := range slices.Values(m.disk.now.entries) {
		end = max(end, e.GetIndex())
	}
	term := m.disk.now.hard.GetTerm()
	change, err := marshal.Marshal(vote(single(raftpb.ConfChangeAddNode, 9), single(raftpb.ConfChangeRemoveNode, 2)))
	if err != nil {
		t.Fatal(err)
	}
	rows := batch{term: term, number: 1, rows: []Row{{Key: "k", Value: []byte("v")}}}.encode()
	m.disk.write(Write{Sync: true, Entries: []*raftpb.Entry{
		{Index: new(end + 1), Term: new(term), Data: rows},
		{Index: new(end + 2), Term: new(term), Type: raftpb.EntryConfChangeV2.Enum(), Data: change},
	}}, nil)
	write, err := Recover(m.disk.state(2), 0)
	if err != nil {
		t.Fatal(err)
	}
	m.disk.write(write, nil)
	b.kill(b.machine(1))
	b.kill(b.machine(3))
	b.open(m)
	b.run(time.Second)
	l := b.leader()
	if l == nil || l.id != 2 || !slices.Equal(l.conf.GetVoters(), []uint64{2}) || l.joint() || l.disk.now.rows["k"] != "v" {
		t.Fatalf("%v leads, with %v", l, m.conf)
	}
	if g := GenerationOf(l.lead.term); g != nextGeneration(0, 0, 1) || l.Generation() != g {
		t.Errorf("it is generation %d", g)
	}
	b.open(b.add(4))
	b.open(b.add(5))
	b.want(2, 4, 5)
	b.run(2 * time.Second)
	if got := b.machine(5).conf.GetVoters(); !slices.Equal(got, []uint64{2, 4, 5}) || b.machine(5).disk.now.rows["k"] != "v" {
		t.Errorf("the voters are %v", got)
	}
}

// A replica of an earlier generation gets no vote of one of a later one, and follows no leader of it, in spite of a greater term.
func TestGenerationsRefuseEachOther(t *testing.T) {
	b := newBench(t, 3, Config{})
	two, three := b.machine(2), b.machine(3)
	for _, m := range b.machines {
		b.power(m)
	}
	write, err := Recover(two.disk.state(2), 0)
	if err != nil {
		t.Fatal(err)
	}
	two.disk.write(write, nil)
	b.open(two)
	b.run(time.Second)
	b.log = nil
	b.open(three)
	b.want(2, 3) // as a host may that does not know that disk 3 is old
	b.run(5 * time.Second)
	if three.lead != nil || three.leader != 0 || three.Generation() != 0 || len(of[TenureBegan](b, 3)) > 0 || len(three.conf.GetVoters()) != 3 {
		t.Errorf("the old replica has the leader %x in term %d, of %v", three.leader, three.term, three.conf)
	}
	if l := b.leader(); l != two || !slices.Equal(two.conf.GetVoters(), []uint64{2}) {
		t.Errorf("the recovered one leads %v", two.conf)
	}
	if r := of[Reject](b, 0); len(r) < 2 || !strings.Contains(fmt.Sprint(of[Reject](b, 2)), "of generation 0") || !strings.Contains(fmt.Sprint(of[Reject](b, 3)), fmt.Sprint("of generation ", two.Generation())) {
		t.Errorf("rejected: %v", r)
	}
}

// Two disks are recovered by mistake, at once. They have different generations, and refuse each other.
func TestBothAreRecovered(t *testing.T) {
	b := newBench(t, 3, Config{})
	var generations []uint64
	for _, m := range b.machines {
		b.power(m)
		write, err := Recover(m.disk.state(m.id), 365*24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		m.disk.write(write, nil)
		generations = append(generations, GenerationOf(write.Hard.GetTerm()))
	}
	slices.Sort(generations)
	if len(slices.Compact(generations)) != 3 {
		t.Errorf("the generations are %v", generations)
	}
	for _, m := range b.machines {
		b.open(m)
	}
	b.want(1, 2)
	b.run(5 * time.Second)
	for _, m := range b.machines {
		if !slices.Equal(m.conf.GetVoters(), []uint64{m.id}) {
			t.Errorf("replica %d knows the voters %v", m.id, m.conf.GetVoters())
		}
	}
	one, err := Find(b.machine(1).disk.state(1))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Recover(b.machine(1).disk.state(1), time.Second) // the clock is wrong
	if err != nil || GenerationOf(again.Hard.GetTerm()) <= one.Generation {
		t.Errorf("after generation %d comes %d: %v", one.Generation, GenerationOf(again.Hard.GetTerm()), err)
	}
	if _, err := Recover(b.machine(1).disk.state(1), 100*365*24*time.Hour); err == nil {
		t.Error("there is a generation for each time")
	}
}

func TestSurvey(t *testing.T) {
	of := func(replica, generation, term, index uint64, voters ...uint64) Found {
		return Found{Replica: replica, Generation: generation, Term: term, Index: index, Voters: voters}
	}
	joint := of(1, 0, 3, 9, 1, 2, 3)
	joint.before = []uint64{4, 5, 6}
	for name, c := range map[string]struct {
		left    []Found
		best    int
		missing []uint64
		err     error
	}{
		"nothing":                        {nil, -1, nil, ErrEmpty},
		"an empty replica":               {[]Found{of(1, 0, 0, 0)}, -1, nil, ErrEmpty},
		"one of three":                   {[]Found{of(1, 0, 3, 9, 1, 2, 3)}, 0, []uint64{2, 3}, nil},
		"two of three":                   {[]Found{of(1, 0, 3, 9, 1, 2, 3), of(2, 0, 3, 8, 1, 2, 3)}, 0, []uint64{3}, ErrMajority},
		"the only one":                   {[]Found{of(1, 0, 3, 9, 1)}, 0, nil, ErrMajority},
		"a later term":                   {[]Found{of(1, 0, 3, 9, 1, 2, 3, 4, 5), of(2, 0, 4, 8, 1, 2, 3, 4, 5)}, 1, []uint64{3, 4, 5}, nil},
		"a longer log":                   {[]Found{of(1, 0, 4, 7, 1, 2, 3, 4, 5), of(2, 0, 4, 8, 1, 2, 3, 4, 5)}, 1, []uint64{3, 4, 5}, nil},
		"a spare one beside":             {[]Found{of(7, 0, 0, 0), of(2, 0, 4, 8, 1, 2, 3)}, 1, []uint64{1, 3}, nil},
		"an earlier generation":          {[]Found{of(1, 0, 9, 99, 1, 2, 3), of(2, 1, 4, 8, 1, 2, 3)}, 1, []uint64{1, 3}, nil},
		"in a change, one half is there": {[]Found{joint, of(2, 0, 3, 9, 1, 2, 3)}, 0, []uint64{3, 4, 5, 6}, nil},
		"a learner":                      {[]Found{of(7, 0, 4, 8, 1, 2, 3)}, 0, []uint64{1, 2, 3}, nil},
	} {
		best, missing, err := Survey(c.left)
		if best != c.best || !slices.Equal(missing, c.missing) || !errors.Is(err, c.err) || c.err == nil && err != nil {
			t.Errorf("%s: %d, without %v: %v", name, best, missing, err)
		}
	}
	if _, err := Recover(State{Replica: 1}, 0); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty disk: %v", err)
	}
	if _, err := Find(State{Replica: 1, Applied: 4}); err == nil {
		t.Error("a state that cannot be is found")
	}
}
