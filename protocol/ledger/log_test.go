package ledger

import (
	"testing"

	"go.etcd.io/raft/v3/raftpb"
)

// An entry that is added does not cost more the longer the log is, as while a snapshot streams. What raft was given of
// the log stays as it is when later entries replace the end.
func TestLogGrows(t *testing.T) {
	l, moved := &log{}, 0
	entry := func(index, term uint64) []*raftpb.Entry {
		return []*raftpb.Entry{{Index: new(index), Term: new(term)}}
	}
	const n = 20_000
	for i := range uint64(n) {
		var first **raftpb.Entry
		if i > 0 {
			first = &l.entries[0]
		}
		l.put(entry(i+1, 1))
		if first != nil && first != &l.entries[0] {
			moved++
		}
	}
	if moved > 100 {
		t.Errorf("of %d entries %d have moved the whole log", n, moved)
	}
	tail, err := l.Entries(n-1, n+1, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	l.put(entry(n, 2))
	l.put(entry(n+1, 2))
	if tail[1].GetTerm() != 1 || len(l.entries) != n+1 || l.bytes != 100*(n+1) {
		t.Errorf("what raft was given has now term %d; the log has %d entries, %d bytes", tail[1].GetTerm(), len(l.entries), l.bytes)
	}
	if term, err := l.Term(n); term != 2 || err != nil {
		t.Errorf("entry %d has the term %d, %v", n, term, err)
	}
}
