package disk

import (
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// A file system that is full for pebble's tables is tried again once a second, not as fast as it fails; what was
// acknowledged meanwhile is there when it has space again.
func TestFullForTables(t *testing.T) {
	b := newBed(t)
	var full atomic.Bool
	failures := make(chan time.Time, 100_000)
	fs := errorfs.Wrap(b.mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") {
			failures <- time.Now()
			return syscall.ENOSPC
		}
		return nil
	}))
	log, lines := logtest.NewNullLogger()
	d := opened(t, path, Options{FS: fs, Log: log})
	full.Store(true)
	const rows = 20 // of 1 MB: more than a memtable
	for i := range rows {
		if err := write(d, ledger.Write{Rows: []ledger.Row{{Key: fmt.Sprint(i), Value: make([]byte, 1<<20)}}, Sync: true}); err != nil {
			t.Fatal(err)
		}
	}
	first := <-failures
	if pause := (<-failures).Sub(first); pause < pauseAfterFailure {
		t.Errorf("pebble has tried again after %v", pause)
	}
	if n := len(lines.AllEntries()); n == 0 || n > 10 {
		t.Errorf("%d log lines tell of it", n)
	}
	full.Store(false)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = opened(t, path, Options{FS: fs})
	for i := range rows {
		if _, found, err := d.Get(fmt.Sprint(i)); !found || err != nil {
			t.Errorf("row %d is lost: %v", i, err)
		}
	}
}
