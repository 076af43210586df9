package disk

import (
	"errors"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/internal/durable/conformance"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashFolder); dir != "" {
		crashChild(dir)
		return
	}
	os.Exit(m.Run())
}

// errSync is what a sync of the bed returns once.
var errSync = errors.New("input/output error")

// bed is a folder in memory that loses what was not synced.
type bed struct {
	t    *testing.T
	mem  *vfs.MemFS
	full bool
	fail *atomic.Bool // the next sync fails
	used *Disk
	rng  *rand.Rand // nil: a crash takes all that was not synced
}

func newBed(t *testing.T) *bed {
	b := &bed{t: t, mem: vfs.NewCrashableMem(), fail: &atomic.Bool{}}
	b.space()
	return b
}

// path is the bed's folder. Pebble prefers one below the root.
const path = "data/disk"

// fs is the file system of the bed; its next sync fails once Fail was called.
func (b *bed) fs() vfs.FS {
	return errorfs.Wrap(b.mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			if b.fail.CompareAndSwap(true, false) {
				return errSync
			}
		}
		return nil
	}))
}

func (b *bed) Open(cluster string) (durable.Store, error) {
	d, err := Open(path, Options{Cluster: cluster, FS: b.fs()})
	if err != nil {
		return nil, err
	}
	b.used = d
	return d, nil
}

func (b *bed) Crash() {
	cfg := vfs.CrashCloneCfg{}
	if b.rng != nil {
		cfg = vfs.CrashCloneCfg{UnsyncedDataPercent: b.rng.IntN(101), RNG: b.rng}
	}
	after := b.mem.CrashClone(cfg)
	_ = b.used.Close() // it was closed or poisoned, or writes what the crash has taken
	b.mem = after
	b.space()
}

func (b *bed) Fail() { b.fail.Store(true) }

func (b *bed) Full(full bool) {
	b.full = full
	b.space()
}

func (b *bed) space() {
	usage := vfs.DiskUsage{AvailBytes: 90e9, TotalBytes: 100e9}
	if b.full {
		usage.AvailBytes = 4e9
	}
	b.mem.TestingSetDiskUsage(usage)
}

func (b *bed) Corrupt(place string) {
	b.t.Helper()
	name, err := durable.FileName(place)
	if err != nil {
		b.t.Fatal(err)
	}
	flip(b.t, b.mem, b.mem.PathJoin(path, blobsName, name), int64(blobHeader)+10)
}

// flip changes a bit of a file.
func flip(t *testing.T, fs vfs.FS, name string, at int64) {
	t.Helper()
	f, err := fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	at = min(at, info.Size()-1)
	one := make([]byte, 1)
	if _, err := f.ReadAt(one, at); err != nil {
		t.Fatal(err)
	}
	one[0] ^= 1
	if _, err := f.WriteAt(one, at); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	conformance.Run(t, func(t *testing.T) conformance.Bed { return newBed(t) })
}
