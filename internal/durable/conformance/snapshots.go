package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// snapshot returns the rows of f as a stream, with what Install says of them.
func (f *fixture) snapshot(stream uint64) ([]byte, *ledger.Install) {
	f.Helper()
	s, err := f.take()
	f.ok(err)
	var b bytes.Buffer
	n, err := s.WriteTo(&b)
	f.ok(err)
	same(f, "the bytes that were written", n, int64(b.Len()))
	f.ok(s.Close())
	f.ok(s.Close())
	return b.Bytes(), &ledger.Install{Index: s.Index(), Term: s.Term(), Conf: s.Conf(), Stream: stream}
}

// take returns a snapshot of this moment.
func (f *fixture) take() (durable.Snapshot, error) {
	type taken struct {
		s   durable.Snapshot
		err error
	}
	done := make(chan taken, 1)
	f.Snapshot(func(s durable.Snapshot, err error) { done <- taken{s, err} })
	t := <-done
	return t.s, t.err
}

// filled returns a folder with rows, of which some are long, as of index 3 and term 2.
func (f *fixture) filled() *fixture {
	o := f.other()
	o.begin()
	var rows []ledger.Row
	for i := range 500 {
		rows = append(rows, put(fmt.Sprintf("row/%03d", i), strings.Repeat("v", i*i%5000)))
	}
	o.write(ledger.Write{Rows: rows, Entries: entries(2, 1, "a", "b", "c", "d"), Applied: 3, Conf: &raftpb.ConfState{Voters: []uint64{4, 5}}})
	return o
}

func snapshotIsInstalled(f *fixture) {
	from := f.filled()
	b, in := from.snapshot(8)
	same(f, "index and term", []uint64{in.Index, in.Term}, []uint64{3, 2})
	id := f.begin()
	f.write(ledger.Write{Rows: puts("old", "x", "row/000", "old"), Entries: entries(1, 1, "x", "y"), Applied: 1, Hard: hard(2, 6, 1)})
	f.ok(f.Receive(8, bytes.NewReader(b)))
	same(f, "rows before the install", f.rows(""), []string{"old", "x", "row/000", "old"})
	f.write(ledger.Write{Install: in, Rows: puts("new", "y"), Applied: 4, Entries: entries(2, 4, "d", "e")})
	s := f.state()
	same(f, "state", []uint64{s.Replica, s.Applied, s.First, s.Hard.GetVote()}, []uint64{id, 4, 4, 6})
	same(f, "the log", log(s), []string{"4.2:d", "5.2:e"})
	same(f, "rows", f.rows("row/"), from.rows("row/"))
	same(f, "other rows", append(f.rows("new"), f.rows("old")...), []string{"new", "y"})
	_, found, err := f.Get("old")
	f.ok(err)
	same(f, "an old row", found, false)
	f.reopen()
	same(f, "rows after Close", f.rows("row/"), from.rows("row/"))
}

func installSurvives(f *fixture) {
	from := f.filled()
	b, in := from.snapshot(1)
	f.begin()
	f.ok(f.Receive(1, bytes.NewReader(b)))
	f.write(ledger.Write{Install: in, Hard: hard(2, 0, 3)})
	f.crash()
	s := f.state()
	same(f, "state", []uint64{s.Applied, s.AppliedTerm, s.First, s.Hard.GetCommit()}, []uint64{3, 2, 4, 3})
	same(f, "voters", s.Conf.GetVoters(), []uint64{4, 5})
	same(f, "rows", f.rows(""), from.rows(""))
	again, _ := f.snapshot(1)
	same(f, "a snapshot of the same", bytes.Equal(again, b), true)

	// What was received but not installed is gone.
	f.ok(f.Receive(2, bytes.NewReader(b)))
	f.crash()
	same(f, "rows beside a stream that was lost", f.rows(""), from.rows(""))
	f.is(f.try(ledger.Write{Install: &ledger.Install{Index: 9, Term: 2, Stream: 2}}), durable.ErrInvalid)
}

func snapshotIsOfOneMoment(f *fixture) {
	f = f.filled()
	want, _ := f.snapshot(1)
	s, err := f.take()
	f.ok(err)
	f.write(ledger.Write{Rows: []ledger.Row{{Key: "", End: "s"}, put("row/000", "later")}, Applied: 4})
	var got bytes.Buffer
	_, err = s.WriteTo(&got)
	f.ok(err)
	f.ok(s.Close())
	same(f, "a snapshot from before a write", bytes.Equal(got.Bytes(), want), true)
	_, err = s.WriteTo(io.Discard)
	if err == nil {
		f.Error("a closed snapshot was written")
	}
	f.is(snapshotBetweenWrites(f), nil)
	var open []durable.Snapshot
	for range durable.MaxSnapshots {
		s, err := f.take()
		f.ok(err)
		open = append(open, s)
	}
	_, err = f.take()
	f.is(err, durable.ErrBusy)
	f.ok(open[0].Close())
	_, err = f.take()
	f.ok(err)
	f.reopen() // it does not wait for snapshots
}

// snapshotBetweenWrites checks that each of several snapshots has the Writes before it, and none after it,
// though all wait at once.
func snapshotBetweenWrites(f *fixture) error {
	answers := make(chan error, 12)
	base := f.state().Applied
	f.write(ledger.Write{Entries: entries(2, base+1, make([]string, 6)...)})
	for i := range uint64(6) {
		f.Apply(ledger.Write{Rows: puts("between", fmt.Sprint(i)), Applied: base + 1 + i, Sync: i%2 == 0}, func(err error) { answers <- err })
		f.Snapshot(func(s durable.Snapshot, err error) {
			if err != nil {
				answers <- err
				return
			}
			go func() { answers <- errors.Join(hasRow(s, base+1+i, "between", fmt.Sprint(i)), s.Close()) }()
		})
	}
	var errs []error
	for range cap(answers) {
		errs = append(errs, <-answers)
	}
	return errors.Join(errs...)
}

// hasRow returns an error if a snapshot is not as of index or has another value under a key.
func hasRow(s durable.Snapshot, index uint64, key, want string) error {
	var b bytes.Buffer
	if _, err := s.WriteTo(&b); err != nil {
		return err
	}
	got := ""
	_, _, err := durable.Decode(&b, func(k, value []byte) error {
		if string(k) == key {
			got = string(value)
		}
		return nil
	})
	if err == nil && (got != want || s.Index() != index) {
		err = fmt.Errorf("the snapshot of %d has %q, want %d with %q", s.Index(), got, index, want)
	}
	return err
}

func changedStreamsAreRefused(f *fixture) {
	b, in := f.filled().snapshot(1)
	f.begin()
	f.write(ledger.Write{Rows: puts("k", "v"), Entries: entries(1, 1, "a"), Applied: 1})
	for at := 0; at < len(b); at += 1 + at*at/1000 { // more at the beginning
		changed := bytes.Clone(b)
		changed[at] ^= 1 << (at % 8)
		f.is(f.Receive(1, bytes.NewReader(changed)), durable.ErrMismatch)
		f.is(f.Receive(1, bytes.NewReader(b[:at])), durable.ErrMismatch)
	}
	f.is(f.Receive(1, bytes.NewReader(append(bytes.Clone(b), 0))), durable.ErrMismatch)
	huge := append(bytes.Clone(b[:24]), 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 'k')
	f.is(f.Receive(1, bytes.NewReader(huge)), durable.ErrMismatch)
	overflow := append(bytes.Clone(b[:24]), bytes.Repeat([]byte{0xff}, 11)...)
	f.is(f.Receive(1, bytes.NewReader(overflow)), durable.ErrMismatch)
	broken := errors.New("the connection is gone")
	f.is(f.Receive(1, io.MultiReader(bytes.NewReader(b[:1000]), failing{broken})), broken)
	same(f, "rows after streams that failed", f.rows(""), []string{"k", "v"})

	f.ok(f.Receive(1, bytes.NewReader(b)))
	wrong := *in
	wrong.Index++
	f.is(f.try(ledger.Write{Install: &wrong}), durable.ErrInvalid)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func streamsEnd(f *fixture) {
	b, in := f.filled().snapshot(1)
	f.begin()
	for id := range uint64(durable.MaxStreams) {
		f.ok(f.Receive(id, bytes.NewReader(b)))
	}
	f.is(f.Receive(99, bytes.NewReader(b)), durable.ErrBusy)
	f.is(f.Receive(0, bytes.NewReader(b)), durable.ErrInvalid)
	for id := range uint64(durable.MaxStreams) {
		f.ok(f.Abandon(id))
		f.ok(f.Abandon(id))
	}
	f.ok(f.Abandon(99)) // unknown
	// A stream that is abandoned while it arrives ends at the next row.
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- f.Receive(5, read) }()
	_, err := write.Write(b[:len(b)/2]) // returns when all of it was read
	f.ok(err)
	f.ok(f.Abandon(5))
	go func() {
		_, _ = write.Write(b[len(b)/2:]) // fails as soon as the reader is closed
		_ = write.Close()
	}()
	f.is(<-ended, durable.ErrClosed)
	f.ok(read.Close())

	f.ok(f.Receive(1, bytes.NewReader(b)))
	f.write(ledger.Write{Install: in})
	again := *in
	again.Index++
	f.is(f.try(ledger.Write{Install: &again}), durable.ErrInvalid) // it was installed
}
