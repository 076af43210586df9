package ledger

import (
	"flag"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"
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
	w.onTenure = func(m *machine) { // as its host does
		if m.up && len(s.want) > 0 {
			s.step(m, Want{Voters: s.want})
		}
	}
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
