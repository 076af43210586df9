package disk

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// BenchmarkSyncedCommit commits an entry and a row of 2 KB each, synced. The writers share a log, so
// that the entries' indices are given out as the Writes are handed over.
func BenchmarkSyncedCommit(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			d, err := Open(b.TempDir(), Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer d.Close()
			if _, err := d.Begin(); err != nil {
				b.Fatal(err)
			}
			var failed atomic.Pointer[error]
			answers := make(chan error, writers)
			for range writers {
				answers <- nil
			}
			index := uint64(0)
			for b.Loop() {
				if err := <-answers; err != nil {
					b.Fatal(err)
				}
				index++
				w := ledger.Write{Applied: index, Sync: true,
					Rows:    []ledger.Row{{Key: fmt.Sprintf("run/%09d", index), Value: make([]byte, 2048)}},
					Entries: []*raftpb.Entry{{Index: proto.Uint64(index), Term: proto.Uint64(1), Data: make([]byte, 2048)}}}
				if index%1000 == 0 {
					w.Compact = index - 500
				}
				d.Apply(w, func(err error) { answers <- err })
			}
			for range writers {
				if err := <-answers; err != nil {
					failed.Store(&err)
				}
			}
			if err := failed.Load(); err != nil {
				b.Fatal(*err)
			}
			b.SetBytes(4096)
		})
	}
}

// rows100k returns a folder with 100,000 rows of 200 bytes and 1,000 entries.
func rows100k(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	d, err := Open(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := d.Begin(); err != nil {
		b.Fatal(err)
	}
	for i := range uint64(1000) {
		w := ledger.Write{Applied: i + 1, Sync: i == 999, Entries: []*raftpb.Entry{{Index: proto.Uint64(i + 1), Term: proto.Uint64(1), Data: make([]byte, 200)}}}
		for k := range 100 {
			w.Rows = append(w.Rows, ledger.Row{Key: fmt.Sprintf("row/%03d/%03d", k, i), Value: make([]byte, 200)})
		}
		if err := write(d, w); err != nil {
			b.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkOpen opens a folder with 100,000 rows and loads its state.
func BenchmarkOpen(b *testing.B) {
	dir := rows100k(b)
	for b.Loop() {
		d, err := Open(dir, Options{})
		if err != nil {
			b.Fatal(err)
		}
		s, err := d.State()
		if err != nil || s.Applied != 1000 {
			b.Fatal(s.Applied, err)
		}
		if err := d.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkScan reads 100,000 rows of 200 bytes.
func BenchmarkScan(b *testing.B) {
	d, err := Open(rows100k(b), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	n := 0
	for b.Loop() {
		if err := d.Scan("row/", func(ledger.Row) bool { n++; return true }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkGet reads single rows.
func BenchmarkGet(b *testing.B) {
	d, err := Open(rows100k(b), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	i := 0
	for b.Loop() {
		i++
		if _, found, err := d.Get(fmt.Sprintf("row/%03d/%03d", i%100, i*7%1000)); err != nil || !found {
			b.Fatal(found, err)
		}
	}
}

// BenchmarkFileSync appends 4 KB to a file and syncs it: the least that a commit can take.
func BenchmarkFileSync(b *testing.B) {
	f, err := vfs.Default.Create(filepath.Join(b.TempDir(), "file"), vfs.WriteCategoryUnspecified)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := f.Preallocate(0, 64<<20); err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 4096)
	for b.Loop() {
		if _, err := f.Write(buf); err != nil {
			b.Fatal(err)
		}
		if err := f.SyncData(); err != nil {
			b.Fatal(err)
		}
	}
}
