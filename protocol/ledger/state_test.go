package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

func TestStatesThatCannotBe(t *testing.T) {
	entry := func(index, term uint64) *raftpb.Entry { return &raftpb.Entry{Index: new(index), Term: new(term)} }
	good := func() State {
		return State{
			Replica: 1, Hard: &raftpb.HardState{Term: new(uint64(3)), Commit: new(uint64(6))}, Conf: &raftpb.ConfState{Voters: []uint64{1, 2, 3}},
			Applied: 5, AppliedTerm: 2, First: 4, Entries: []*raftpb.Entry{entry(4, 1), entry(5, 2), entry(6, 3)},
		}
	}
	if _, err := New(Config{Ledger: 7, Opened: 1}, good()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spoil func(*State)
		says  string
	}{
		"no id":                           {func(s *State) { s.Replica = 0 }, "id cannot be"},
		"an id that raft uses":            {func(s *State) { s.Replica = 1<<64 - 1 }, "id cannot be"},
		"the log ends before applied":     {func(s *State) { s.Entries = s.Entries[:1] }, "does not reach entry 5"},
		"First is another entry":          {func(s *State) { s.First = 3 }, "log of 3 entries from 3 on"},
		"a gap behind applied":            {func(s *State) { s.First, s.Entries = 7, []*raftpb.Entry{entry(7, 3)} }, "log begins at 7"},
		"a gap in the log":                {func(s *State) { s.Entries[2] = entry(7, 3) }, "does not follow"},
		"terms that fall":                 {func(s *State) { s.Entries[2] = entry(6, 1) }, "does not follow"},
		"a term that is not known":        {func(s *State) { s.Entries[2] = entry(6, 4) }, "does not follow"},
		"a commit that is lost":           {func(s *State) { s.Hard.Commit = new(uint64(7)) }, "entry 7 is committed"},
		"no replicas":                     {func(s *State) { s.Conf = nil }, "no replica votes"},
		"replicas before any entry":       {func(s *State) { s.Applied, s.First, s.Entries = 0, 0, nil }, "no entry is applied"},
		"applied, and no term of it":      {func(s *State) { s.First, s.Entries, s.AppliedTerm = 0, nil, 0 }, "term of entry 5 is not known"},
		"an entry that cannot be applied": {func(s *State) { s.Entries[2].Data = []byte("no") }, "format"},
	} {
		s := good()
		c.spoil(&s)
		if _, err := New(Config{Ledger: 7, Opened: 1}, s); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConfigsThatCannotBe(t *testing.T) {
	for says, c := range map[string]Config{
		"no name":            {Opened: 1},
		"never opened":       {Ledger: 1},
		"negative":           {Ledger: 1, Opened: 1, Stagger: -1},
		"two heartbeats":     {Ledger: 1, Opened: 1, SilentAfter: 150 * time.Millisecond},
		"bound is negative":  {Ledger: 1, Opened: 1, MaxReads: -1},
		"less than MaxEntry": {Ledger: 1, Opened: 1, MaxUncommitted: 1000},
		"accept":             {Ledger: 1, Opened: 1, MaxEntry: 2 << 20},
		"less than 4":        {Ledger: 1, Opened: 1, LogEntries: 3},
	} {
		if _, err := New(c, State{Replica: 1}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A disk that is opened again has all that it had, wherever its log begins.
func TestOpenAgain(t *testing.T) {
	for appends := range 30 {
		b := newBench(t, 1, Config{LogEntries: 6})
		for n := range appends {
			b.append(Row{Key: fmt.Sprint(n), Value: []byte{1}})
			b.run(3 * time.Millisecond)
		}
		m := b.machine(1)
		b.power(m)
		b.open(m)
		b.run(time.Second)
		b.append(Row{Key: "last", Value: []byte{1}})
		b.run(time.Second)
		if got := len(m.disk.now.rows); got != appends+1 || m.disk.now.rows["last"] == "" {
			t.Errorf("%d rows of %d, the log begins at %d", got, appends+1, m.disk.now.first)
		}
	}
}

// Bounds that are the specification's, and not only this package's.
func TestDefaults(t *testing.T) {
	c := Config{}.withDefaults()
	if c.MaxEntry != 256<<10 || c.MaxUncommitted != 16<<20 || c.SilentAfter != time.Second || c.Stagger != 10*time.Millisecond ||
		c.LateAfter != 2*time.Second || c.HandOverFor != time.Second || c.electionTicks() != 10 {
		t.Errorf("the defaults are %+v", c)
	}
}
