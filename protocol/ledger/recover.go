package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

// A ledger that has lost the majority of its disks for good elects no leader any more. A person who knows that the lost disks
// never come back can have it go on from one that is left: Survey says which one, and Recover what to write to it. No replica
// may be open on that disk meanwhile.

// Found is what a disk has of the ledger.
type Found struct {
	Replica    uint64
	Generation uint64
	Term       uint64 // of the last entry
	Index      uint64 // of the last entry; 0: the disk has nothing
	Voters     []uint64
	before     []uint64 // the voters before the change that is under way
}

// Errors of Survey and Recover.
var (
	// ErrEmpty says that there is nothing from which the ledger could go on.
	ErrEmpty = errors.New("no disk has anything of the ledger")
	// ErrMajority says that the disks that are there can elect a leader.
	ErrMajority = errors.New("a majority of the disks that hold the ledger is there")
)

// Find returns what the disk with a state has. The error says that the state cannot be: the disk is corrupt.
func Find(s State) (Found, error) {
	if s.Replica == 0 {
		return Found{}, nil
	}
	l, err := open(s)
	if err != nil {
		return Found{}, fmt.Errorf("ledger: the state of replica %x: %w", s.Replica, err)
	}
	last, _ := l.Term(l.end()) // the log has its end
	return Found{
		Replica: s.Replica, Generation: GenerationOf(l.hard.GetTerm()), Term: last, Index: l.end(),
		Voters: slices.Sorted(slices.Values(l.conf.GetVoters())), before: slices.Sorted(slices.Values(l.conf.GetVotersOutgoing())),
	}, nil
}

// Knows returns all replicas that vote as far as the disk knows, before or after a change that is under way.
func (f Found) Knows() []uint64 {
	all := slices.Concat(f.Voters, f.before)
	slices.Sort(all)
	return slices.Compact(all)
}

// ahead orders disks by what they have: a later generation first, then as raft compares logs. The log of the greatest of
// some disks has every entry that one of them knows to be committed.
func ahead(a, b Found) int {
	return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Term, b.Term), cmp.Compare(a.Index, b.Index))
}

// Survey returns which of the disks that are left has most of the ledger, and the voters that are not among them. It is
// ErrMajority if the disks can go on without being recovered, and ErrEmpty if none has anything.
func Survey(left []Found) (best int, missing []uint64, err error) {
	best = -1
	for i, f := range left {
		if f.Index > 0 && (best < 0 || ahead(f, left[best]) > 0) {
			best = i
		}
	}
	if best < 0 {
		return best, nil, ErrEmpty
	}
	from := left[best]
	there := func(id uint64) bool {
		return slices.ContainsFunc(left, func(f Found) bool { return f.Replica == id && f.Index > 0 && f.Generation == from.Generation })
	}
	most := func(voters []uint64) bool {
		n := 0
		for _, id := range voters {
			if there(id) {
				n++
			}
		}
		return len(voters) == 0 || 2*n > len(voters)
	}
	missing = slices.DeleteFunc(from.Knows(), there)
	if most(from.Voters) && most(from.before) {
		return best, missing, ErrMajority
	}
	return best, missing, nil
}

// Recovered reports whether a disk was recovered, and nothing was appended since.
func Recovered(s State) bool {
	voters := s.Conf.GetVoters()
	return s.Applied > 0 && len(voters) == 1 && voters[0] == s.Replica && GenerationOf(s.Hard.GetTerm()) > GenerationOf(s.AppliedTerm)
}

// Recover returns the write that has the ledger go on from a disk alone, in the next generation. All entries of its log
// count as committed: some of them may not have been, and their rows are as good as those of an append whose outcome is not known.
// Changes of the replicas among them are void. The new generation's log begins behind them, so that other
// replicas begin with a snapshot. Since is the time since some date that all hosts know, by a clock that may be wrong. The host makes the
// write durable; its Number is 0, since no core awaits the answer.
func Recover(s State, since time.Duration) (Write, error) {
	f, err := Find(s)
	switch {
	case err != nil:
		return Write{}, err
	case f.Index == 0:
		return Write{}, ErrEmpty
	}
	place, _ := slices.BinarySearch(f.Knows(), s.Replica)
	generation := nextGeneration(f.Generation, since, place)
	if generation > maxGeneration {
		return Write{}, fmt.Errorf("ledger: there is no generation after %d: look whether the clock is right", f.Generation)
	}
	w := Write{
		Conf: &raftpb.ConfState{Voters: []uint64{s.Replica}},
		Hard: &raftpb.HardState{Term: new(FirstTerm(generation)), Commit: new(f.Index)},
		Sync: true,
	}
	for _, e := range s.Entries {
		if e.GetIndex() <= s.Applied || e.GetType() != raftpb.EntryNormal || len(e.GetData()) == 0 {
			continue
		}
		b, err := decodeBatch(e.GetData())
		if err != nil {
			return Write{}, fmt.Errorf("ledger: entry %d cannot be applied: %w", e.GetIndex(), err)
		}
		w.Rows = append(w.Rows, b.rows...)
	}
	if f.Index > s.Applied {
		w.Applied = f.Index
	}
	w.Compact = f.Index - 1 // so that no replica gets the void changes
	return w, nil
}
