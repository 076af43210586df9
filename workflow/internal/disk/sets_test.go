package disk

import (
	"bytes"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// strayRows counts the rows in pebble that are not of the current set.
func strayRows(t *testing.T, d *Disk) (stray int) {
	t.Helper()
	it, err := d.db.NewIter(&pebble.IterOptions{LowerBound: []byte{rowSpace}, UpperBound: []byte{rowSpace + 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	current := rowKey(d.replica.set.Load(), "")
	for ok := it.First(); ok; ok = it.Next() {
		if !bytes.HasPrefix(it.Key(), current) {
			stray++
		}
	}
	return stray
}

// encoded returns a snapshot of index 5 and term 1 with these keys.
func encoded(keys ...string) *bytes.Reader {
	e, b := durable.NewEncoder(5, 1)
	for _, key := range keys {
		b = e.Row(b, []byte(key), []byte("value"))
	}
	return bytes.NewReader(e.End(b))
}

// Rows that an install, a new replica, an abandoned stream or a restart has replaced are deleted.
func TestReplacedRowsAreDeleted(t *testing.T) {
	b := newBed(t)
	d := opened(t, path, Options{FS: b.mem})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	none := func(after string) {
		t.Helper()
		if n := strayRows(t, d); n > 0 {
			t.Errorf("%d rows are left after %s", n, after)
		}
	}
	must(write(d, one("old", true)))
	must(d.Receive(1, encoded("a", "b")))
	if strayRows(t, d) != 2 {
		t.Error("the rows of the stream are not where this test looks")
	}
	must(write(d, ledger.Write{Install: &ledger.Install{Index: 5, Term: 1, Stream: 1}, Sync: true}))
	none("an install")
	must(d.Receive(2, encoded("c")))
	must(d.Abandon(2))
	none("a stream that was abandoned")
	if err := d.Receive(3, bytes.NewReader([]byte("phxrows1"))); err == nil {
		t.Error("a stream that is cut off was received")
	}
	none("a stream that was cut off")
	must(d.Receive(4, encoded("d")))
	must(d.Close())
	d = opened(t, path, Options{FS: b.mem})
	none("a restart with a stream that was not installed")
	_, err := d.Begin()
	must(err)
	none("a new replica")
}
