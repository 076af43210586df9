package disk

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// size returns the bytes of all files below dir.
func size(t testing.TB, dir string) int64 {
	t.Helper()
	total := int64(0)
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if os.IsNotExist(err) { // deleted meanwhile
			return nil
		}
		total += info.Size()
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return total
}

// history makes the Writes of runs that are forgotten: each is put with six records of 500 bytes, and its rows are
// deleted as a range a thousand runs later. The log is compacted as a leader does, every few hundred entries.
type history struct {
	disk    durable.Store
	index   uint64
	open    []string // runs that are not forgotten
	answers chan error
}

// ring is how many Writes are under way.
const ring = 64

func (h *history) run(t testing.TB, n int) {
	t.Helper()
	const records, keep = 6, 1000
	id := fmt.Sprintf("run/%012d/", n*7919%1_000_000_007)
	h.open = append(h.open, id)
	for i := range records {
		h.write(t, ledger.Row{Key: fmt.Sprintf("%s%d", id, i), Value: make([]byte, 500)}, i%2 == 0)
	}
	if len(h.open) > keep {
		gone := h.open[0]
		h.open = h.open[1:]
		h.write(t, ledger.Row{Key: gone, End: gone[:len(gone)-1] + "0"}, false)
	}
}

func (h *history) write(t testing.TB, row ledger.Row, sync bool) {
	t.Helper()
	h.index++
	w := ledger.Write{Rows: []ledger.Row{row}, Applied: h.index, Sync: sync && h.index%50 == 0,
		Entries: []*raftpb.Entry{{Index: proto.Uint64(h.index), Term: proto.Uint64(1), Data: append([]byte(row.Key), row.Value...)}}}
	if h.index%300 == 0 {
		w.Compact = h.index - 200
	}
	if err := <-h.answers; err != nil {
		t.Fatal(err)
	}
	h.disk.Apply(w, func(err error) { h.answers <- err })
}

// After 100,000 runs were put and forgotten the folder is below 100 MB: 700 MB have gone through its
// log and its rows, each.
func TestFolderOfForgottenRuns(t *testing.T) {
	runs := 100_000
	if testing.Short() || stride > 1 {
		runs = 10_000
	}
	dir := t.TempDir()
	d := opened(t, dir, Options{})
	h := &history{disk: d, answers: make(chan error, ring)}
	for range ring {
		h.answers <- nil
	}
	greatest := int64(0)
	for n := range runs {
		h.run(t, n)
		if n%1000 == 0 {
			greatest = max(greatest, size(t, dir))
		}
	}
	for range ring {
		if err := <-h.answers; err != nil {
			t.Fatal(err)
		}
	}
	end := size(t, dir)
	t.Logf("%d runs: %d MB at the end, %d MB at most", runs, end>>20, greatest>>20)
	if greatest > 100<<20 {
		t.Errorf("the folder had %d MB", greatest>>20)
	}
	rows := 0
	if err := d.Scan("run/", func(ledger.Row) bool { rows++; return true }); err != nil || rows != 6*len(h.open) {
		t.Errorf("%d rows are left of %d runs: %v", rows, len(h.open), err)
	}
}
