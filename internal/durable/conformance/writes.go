package conformance

import (
	"fmt"
	"strings"
	"sync"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

func hard(term, vote, commit uint64) *raftpb.HardState {
	return &raftpb.HardState{Term: proto.Uint64(term), Vote: proto.Uint64(vote), Commit: proto.Uint64(commit)}
}

func rowsArePutAndDeleted(f *fixture) {
	f.begin()
	f.write(ledger.Write{Rows: puts("a", "1", "b", "2", "b/1", "3", "b/2", "4", "b0", "5", "c", "")})
	f.write(ledger.Write{Rows: []ledger.Row{
		put("b/3", "gone"), {Key: "b/", End: "b0"}, put("b/4", "stays"), {Key: "a"}, put("a2", "gone"), {Key: "a2"},
		{Key: "z", End: "c"}, // nothing lies between them
		{Key: "unknown"},
	}})
	want := []string{"b", "2", "b/4", "stays", "b0", "5", "c", ""}
	same(f, "rows", f.rows(""), want)
	f.crash()
	same(f, "rows after a crash", f.rows(""), want)
	for _, c := range []struct {
		key   string
		value []byte
	}{{"b/4", []byte("stays")}, {"c", []byte{}}, {"a", nil}, {"b/1", nil}, {"", nil}} {
		value, found, err := f.Get(c.key)
		f.ok(err)
		same(f, "whether there is "+c.key, found, c.value != nil)
		same(f, "the value of "+c.key, value, c.value)
	}
	f.write(ledger.Write{Rows: []ledger.Row{put("", "of the empty key")}})
	same(f, "the empty key", f.rows("")[:2], []string{"", "of the empty key"})
}

func scanIsInOrder(f *fixture) {
	f.begin()
	f.write(ledger.Write{Rows: puts("p\xff\xff", "6", "q", "x", "p", "1", "p\x00", "2", "p/10", "4", "p/1", "3", "p\xff", "5", "o\xff", "x")})
	same(f, "rows with p", f.rows("p"), []string{"p", "1", "p\x00", "2", "p/1", "3", "p/10", "4", "p\xff", "5", "p\xff\xff", "6"})
	same(f, "rows with p, 255", f.rows("p\xff"), []string{"p\xff", "5", "p\xff\xff", "6"})
	same(f, "rows with nothing", f.rows("r"), []string{})
	n := 0
	f.ok(f.Scan("p", func(ledger.Row) bool { n++; return n < 3 }))
	same(f, "rows until f has enough", n, 3)
	f.ok(f.Scan("p", func(r ledger.Row) bool {
		value, found, err := f.Get(r.Key)
		f.ok(err)
		same(f, "Get during a Scan", string(value), string(r.Value))
		return found
	}))
}

func rangesHaveEnds(f *fixture) {
	f.begin()
	f.write(ledger.Write{Rows: puts("a", "1", "b", "2", "b\x00", "3", "c", "4", "\xff", "5")})
	for _, c := range []struct {
		key, end string
		limit    int
		want     string
	}{
		{"", "", 0, "12345"}, {"b", "", 0, "2345"}, {"b", "c", 0, "23"}, {"a\x00", "b", 0, ""}, {"", "b\x00", 1, "1"}, {"b", "", 2, "23"}, {"c", "a", 0, ""}, {"\xff\xff", "", 0, ""},
	} {
		got := ""
		f.ok(f.Range(c.key, c.end, c.limit, func(r ledger.Row) bool { got += string(r.Value); return true }))
		same(f, fmt.Sprintf("at most %d rows of %q to %q", c.limit, c.key, c.end), got, c.want)
	}
	n := 0
	f.ok(f.Range("", "", 0, func(ledger.Row) bool { n++; return n < 3 }))
	same(f, "rows until f has enough", n, 3)
}

func logIsReplacedAndCompacted(f *fixture) {
	f.begin()
	f.write(ledger.Write{Entries: entries(1, 1, "a", "b", "c", "d"), Hard: hard(1, 9, 0)})
	f.write(ledger.Write{Entries: entries(2, 3, "C"), Applied: 2, Hard: hard(2, 8, 2)})
	f.crash()
	s := f.state()
	same(f, "the log", log(s), []string{"1.1:a", "2.1:b", "3.2:C"})
	same(f, "the vote", s.Hard.GetVote(), 8)
	same(f, "applied", s.Applied, 2)
	same(f, "its term", s.AppliedTerm, 1)
	f.write(ledger.Write{Entries: entries(2, 4, "D", "E"), Applied: 4, Compact: 4})
	f.crash()
	s = f.state()
	if s.First > 5 || s.First < 4 { // the entry at Compact may stay
		f.Errorf("the log begins at %d", s.First)
	}
	same(f, "the last entry", log(s)[len(s.Entries)-1], "5.2:E")
	same(f, "the term of applied", s.AppliedTerm, 2)

	many := make([]string, 1000) // more than are deleted one by one
	f.write(ledger.Write{Entries: entries(3, 6, many...), Applied: 900, Compact: 800})
	f.write(ledger.Write{Entries: entries(4, 901, "x")})
	f.crash()
	s = f.state()
	if s.First < 800 || s.First > 801 || s.Entries[0].GetIndex() != s.First {
		f.Errorf("the log begins at %d with %s", s.First, log(s)[0])
	}
	same(f, "the end of the log", log(s)[len(s.Entries)-2:], []string{"900.3:", "901.4:x"})
}

func stateIsWhatWasWritten(f *fixture) {
	id := f.begin()
	conf := &raftpb.ConfState{Voters: []uint64{id, 7}, Learners: []uint64{9}, AutoLeave: proto.Bool(true)}
	f.write(ledger.Write{Conf: conf, Hard: hard(5, id, 3), Entries: entries(5, 1, "a", "b", "c", "d"), Applied: 3})
	f.reopen()
	s := f.state()
	same(f, "the configuration", proto.Equal(s.Conf, conf), true)
	same(f, "the hard state", proto.Equal(s.Hard, hard(5, id, 3)), true)
	same(f, "indices", []uint64{s.Replica, s.First, s.Applied, s.AppliedTerm}, []uint64{id, 1, 3, 5})
	f.write(ledger.Write{Rows: puts("k", "v")}) // nothing else changes
	f.reopen()
	same(f, "the configuration", proto.Equal(f.state().Conf, conf), true)
}

func syncedWritesSurvive(f *fixture) {
	f.begin()
	f.write(ledger.Write{Rows: puts("synced", "1")})
	for i := range 20 {
		f.ok(f.try(ledger.Write{Rows: puts(fmt.Sprintf("unsynced/%02d", i), "x")}))
	}
	same(f, "rows that can be lost", len(f.rows("unsynced/")), 40)
	f.crash()
	same(f, "the synced row", f.rows("synced"), []string{"synced", "1"})
	for i, left := 0, f.rows("unsynced/"); i < len(left)/2; i++ { // a beginning may stay
		same(f, "a row that was not lost", left[2*i], fmt.Sprintf("unsynced/%02d", i))
	}
}

func aSyncCoversWhatCameBefore(f *fixture) {
	f.begin()
	f.ok(f.try(ledger.Write{Rows: puts("a", "1"), Entries: entries(1, 1, "a")}))
	f.write(ledger.Write{Rows: puts("b", "2")})
	f.crash()
	same(f, "rows", f.rows(""), []string{"a", "1", "b", "2"})
	same(f, "the log", log(f.state()), []string{"1.1:a"})
	f.ok(f.try(ledger.Write{Rows: puts("c", "3")}))
	f.write(ledger.Write{}) // nothing but a sync
	f.crash()
	same(f, "rows", f.rows("c"), []string{"c", "3"})
}

func answersComeInOrder(f *fixture) {
	f.begin()
	const writes = 500
	var wg sync.WaitGroup
	wg.Add(writes)
	got := make(chan int, writes)
	for i := range writes {
		f.Apply(ledger.Write{Rows: puts("last", fmt.Sprint(i)), Sync: i%7 == 0}, func(err error) {
			if err != nil {
				f.Errorf("write %d: %v", i, err)
			}
			got <- i
			wg.Done()
		})
	}
	wg.Wait()
	for i := range writes {
		same(f, "the next answer", <-got, i)
	}
	same(f, "the last write", f.rows("last"), []string{"last", fmt.Sprint(writes - 1)})
}

func invalidWritesPoison(f *fixture) {
	long := strings.Repeat("k", durable.MaxKey+1)
	for _, c := range []struct {
		name string
		w    ledger.Write
	}{
		{"applied goes back", ledger.Write{Applied: 1}},
		{"applied beyond the log", ledger.Write{Applied: 5}},
		{"a gap in the log", ledger.Write{Entries: entries(1, 6, "x")}},
		{"a gap in the entries", ledger.Write{Entries: append(entries(1, 5, "x"), entries(1, 7, "y")...)}},
		{"an applied entry replaced", ledger.Write{Entries: entries(2, 2, "x")}},
		{"applied entries deleted", ledger.Write{Compact: 3}},
		{"no stream", ledger.Write{Install: &ledger.Install{Index: 9, Term: 1, Stream: 1}}},
		{"a long key", ledger.Write{Rows: puts(long, "x")}},
		{"a long end", ledger.Write{Rows: []ledger.Row{{Key: "a", End: long}}}},
	} {
		o := f.other()
		o.begin()
		o.write(ledger.Write{Entries: entries(1, 1, "a", "b", "c", "d"), Applied: 2, Rows: puts("k", "v")})
		err := o.try(c.w)
		o.is(err, durable.ErrInvalid)
		o.is(err, durable.ErrPoisoned)
		o.is(o.try(ledger.Write{Rows: puts("later", "x"), Sync: true}), durable.ErrPoisoned)
		o.crash()
		same(o, c.name+": rows", o.rows(""), []string{"k", "v"})
		same(o, c.name+": the log", log(o.state()), []string{"1.1:a", "2.1:b", "3.1:c", "4.1:d"})
	}
	f.is(f.try(ledger.Write{Rows: puts("k", "v")}), durable.ErrInvalid) // no replica
}

// runs is a Write of a run that goes on.
func runs(value string) ledger.Write { return ledger.Write{Rows: puts("run", value)} }
