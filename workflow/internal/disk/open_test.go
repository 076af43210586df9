package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// fails checks that the folder cannot be opened, and that the error says why and what to do.
func fails(t *testing.T, fs vfs.FS, o Options, want error, text string) {
	t.Helper()
	o.FS = fs
	d, err := Open(path, o)
	if err == nil {
		_ = d.Close()
		t.Fatal("the folder was opened")
	}
	var e *durable.OpenError
	if !errors.As(err, &e) || e.Problem != want || e.Dir != path || !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
	if !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %q does not name the folder or %q", err, text)
	}
}

// text writes a file.
func text(t *testing.T, fs vfs.FS, name, text string) {
	t.Helper()
	if err := fs.MkdirAll(fs.PathDir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// filled returns a file system whose folder has rows and was closed.
func filled(t *testing.T) *vfs.MemFS {
	t.Helper()
	mem := vfs.NewCrashableMem()
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 90e9, TotalBytes: 100e9})
	d := opened(t, path, Options{FS: mem, Cluster: "mine"})
	for _, err := range []error{d.Join("mine"), write(d, one("k", true)), d.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return mem
}

func TestOpenStrangersFolder(t *testing.T) {
	mem := vfs.NewMem()
	text(t, mem, mem.PathJoin(path, "thesis.tex"), "x")
	fails(t, mem, Options{}, durable.ErrNotOurs, "choose an empty one")
	if names, _ := mem.List(path); len(names) != 1 {
		t.Errorf("a stranger's folder has now %v", names)
	}
}

func TestOpenOtherCluster(t *testing.T) {
	mem := filled(t)
	fails(t, mem, Options{Cluster: "yours"}, durable.ErrOtherCluster, `"mine"`)
	if d := opened(t, path, Options{FS: mem}); d.Identity().Opens != 2 {
		t.Errorf("the folder was opened %d times", d.Identity().Opens)
	}
}

func TestOpenLaterFormat(t *testing.T) {
	mem := filled(t)
	text(t, mem, mem.PathJoin(path, markerName), `{"format":2,"disk":5,"ready":true,"new":"field"}`)
	fails(t, mem, Options{}, durable.ErrLater, "format 2")
}

// A folder that cannot be made is not called corrupt: there is none to remove.
func TestOpenWhereNoFolderCanBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/proc/phalanx", filepath.Join(file, "folder")} {
		d, err := Open(dir, Options{})
		if err == nil {
			_ = d.Close()
		}
		if !errors.Is(err, durable.ErrNotMade) || errors.Is(err, durable.ErrCorrupt) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestOpenReadOnlyOrFull(t *testing.T) {
	for errno, want := range map[error]error{
		syscall.EROFS: durable.ErrReadOnly, syscall.EACCES: durable.ErrReadOnly, syscall.ENOSPC: durable.ErrFull, syscall.EMFILE: durable.ErrUnusable,
	} {
		for _, only := range []string{"", "lock", ".log", "MANIFEST", "OPTIONS", markerName} {
			for _, mem := range []*vfs.MemFS{filled(t), vfs.NewMem()} {
				refuse := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
					writes := op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpReuseForWrite || op.Kind == errorfs.OpLock || op.Kind == errorfs.OpMkdirAll || op.Kind == errorfs.OpFileWrite
					if writes && strings.Contains(op.Path, only) {
						return &fs.PathError{Op: "open", Path: op.Path, Err: errno}
					}
					return nil
				}))
				o := Options{FS: refuse}
				d, err := Open(path, o)
				if err == nil { // this file system had no such operation
					_ = d.Close()
					continue
				}
				if !errors.Is(err, want) {
					t.Errorf("%v of %q: %v", errno, only, err)
				}
			}
		}
	}
	mem := filled(t)
	fails(t, errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpLock {
			return &fs.PathError{Op: "open", Path: op.Path, Err: syscall.EROFS}
		}
		return nil
	})), Options{}, durable.ErrReadOnly, "mount its file system for writing")
}

func TestOpenLocked(t *testing.T) {
	mem := filled(t)
	d := opened(t, path, Options{FS: mem})
	fails(t, mem, Options{}, durable.ErrLocked, "stop it")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	opened(t, path, Options{FS: mem})
}

// A process that names the folder in another way finds it locked, too.
func TestOpenLockedByAnotherName(t *testing.T) {
	above := t.TempDir()
	dir := filepath.Join(above, "folder")
	d := opened(t, dir, Options{})
	link := filepath.Join(above, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(above)
	for _, name := range []string{link, "folder", filepath.Join(above, ".", "link", "..", "folder")} {
		again, err := Open(name, Options{})
		if !errors.Is(err, durable.ErrLocked) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			_ = again.Close()
		}
	}
	if err := write(d, one("k", true)); err != nil {
		t.Error(err)
	}
}

// file returns the path of the last file of pebble whose name ends with suffix.
func file(t *testing.T, fs vfs.FS, suffix string) string {
	t.Helper()
	names, err := fs.List(fs.PathJoin(path, dbName))
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, name := range names {
		if strings.HasSuffix(name, suffix) && name > last {
			last = name
		}
	}
	if last == "" {
		t.Fatalf("no file ends with %q: %v", suffix, names)
	}
	return fs.PathJoin(path, dbName, last)
}

func TestOpenDamaged(t *testing.T) {
	for name, damage := range map[string]func(*vfs.MemFS){
		"marker is no JSON":  func(m *vfs.MemFS) { text(t, m, m.PathJoin(path, markerName), "{") },
		"marker is empty":    func(m *vfs.MemFS) { text(t, m, m.PathJoin(path, markerName), "{}") },
		"another disk's":     func(m *vfs.MemFS) { text(t, m, m.PathJoin(path, markerName), `{"format":1,"disk":5,"ready":true}`) },
		"pebble is missing":  func(m *vfs.MemFS) { _ = m.RemoveAll(m.PathJoin(path, dbName)) },
		"the manifest rots":  func(m *vfs.MemFS) { flip(t, m, m.PathJoin(path, dbName, "MANIFEST-000001"), 20) },
		"a table is missing": func(m *vfs.MemFS) { flush(t, m); _ = m.Remove(file(t, m, ".sst")) },
	} {
		mem := filled(t)
		damage(mem)
		if name == "the manifest rots" { // pebble has begun another one
			names, _ := mem.List(mem.PathJoin(path, dbName))
			for _, n := range names {
				if strings.HasPrefix(n, "MANIFEST-") {
					flip(t, mem, mem.PathJoin(path, dbName, n), 20)
				}
			}
		}
		_, err := Open(path, Options{FS: mem})
		if !errors.Is(err, durable.ErrDamaged) || !errors.Is(err, phalanx.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// flush puts the rows of the folder into a table.
func flush(t *testing.T, mem *vfs.MemFS) {
	t.Helper()
	d := opened(t, path, Options{FS: mem})
	if err := errors.Join(write(d, one("flushed", true)), d.db.Flush(), d.Close()); err != nil {
		t.Fatal(err)
	}
}

// A row that rots in a table is reported and never returned, and the disk is not used any more.
func TestRotInATable(t *testing.T) {
	mem := filled(t)
	flush(t, mem)
	flip(t, mem, file(t, mem, ".sst"), 30)
	d, err := Open(path, Options{FS: mem})
	if err == nil {
		defer d.Close()
		var value []byte
		if value, _, err = d.Get("flushed"); err == nil {
			t.Fatalf("the row is %q", value)
		}
	}
	if !errors.Is(err, phalanx.ErrCorrupt) {
		t.Errorf("error %v", err)
	}
}

// Rot in what was acknowledged is reported, in a folder that is new, too: the first log of a new
// folder would be of the old format, in which rot looks like a torn end, had the folder not been opened again.
func TestRotInTheLog(t *testing.T) {
	damaged := 0
	for at := int64(0); at < 40; at++ {
		b := newBed(t)
		store, err := b.Open("")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Begin(); err != nil {
			t.Fatal(err)
		}
		const writes = 20
		for i := range writes {
			if err := write(store, ledger.Write{Rows: []ledger.Row{{Key: fmt.Sprintf("%02d", i), Value: make([]byte, 200)}}, Sync: true}); err != nil {
				t.Fatal(err)
			}
		}
		b.Crash()
		flip(t, b.mem, file(t, b.mem, ".log"), at*83+1) // to about three quarters of the log
		store, err = b.Open("")
		if errors.Is(err, durable.ErrDamaged) {
			damaged++
			continue
		}
		if err != nil {
			t.Errorf("at %d: %v", at, err)
			continue
		}
		for i := range writes {
			if _, found, err := store.Get(fmt.Sprintf("%02d", i)); err != nil || !found {
				t.Errorf("a flipped bit at %d has lost row %d without a word: %v", at*83+1, i, err)
				break
			}
		}
		_ = store.Close()
	}
	if damaged < 30 {
		t.Errorf("only %d of 40 logs were reported as damaged", damaged)
	}
}

// What a crash leaves while the folder is made is no obstacle, and the id that nobody was given is drawn again.
func TestCrashWhileTheFolderIsMade(t *testing.T) {
	ends := 0
	for nth := 0; ; nth += stride {
		mem := vfs.NewCrashableMem()
		mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 90e9, TotalBytes: 100e9})
		var mu sync.Mutex // pebble writes from several goroutines
		var after *vfs.MemFS
		n := 0
		watched := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				if n++; n == nth+1 {
					after = mem.CrashClone(vfs.CrashCloneCfg{})
				}
			}
			return nil
		}))
		d := opened(t, path, Options{FS: watched})
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if after == nil {
			break
		}
		ends++
		d, err := Open(path, Options{FS: after})
		if err != nil {
			t.Errorf("after a crash at operation %d: %v", nth, err)
			continue
		}
		if opens := d.Identity().Opens; opens < 1 || opens > 2 {
			t.Errorf("after a crash at operation %d the folder was opened %d times", nth, opens)
		}
		if d.db.FormatMajorVersion() < pebble.FormatWALSyncChunks {
			t.Errorf("pebble's format is %d", d.db.FormatMajorVersion())
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if ends*stride < 30 {
		t.Errorf("making a folder has only %d operations", ends*stride)
	}
}

// A process that is killed after it has made the folder, and before the folder's name is on the disk, leaves a folder
// that a power failure would take, with all that is acknowledged in it later.
func TestFolderOfAKilledProcess(t *testing.T) {
	for _, left := range []string{"data", path} {
		b := newBed(t)
		if left != "data" { // made and synced before
			if err := b.mem.MkdirAll("data", 0o755); err != nil {
				t.Fatal(err)
			}
			b.mem = b.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))})
			b.space()
		}
		if err := b.mem.MkdirAll(left, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := write(opened(t, path, Options{FS: b.mem}), one("k", true)); err != nil {
			t.Fatal(err)
		}
		d := opened(t, path, Options{FS: b.mem.CrashClone(vfs.CrashCloneCfg{})})
		if _, found, err := d.Get("k"); !found || err != nil {
			t.Errorf("a power failure took %s with what was acknowledged: %v", left, err)
		}
	}
}

// A folder of blobs that somebody has removed is made again, durably.
func TestFolderOfBlobsIsMadeAgain(t *testing.T) {
	mem := filled(t)
	if err := mem.RemoveAll(mem.PathJoin(path, blobsName)); err != nil {
		t.Fatal(err)
	}
	d := opened(t, path, Options{FS: mem})
	if err := d.Put("p", strings.NewReader("x"), 1, durable.DigestOf([]byte("x"))); err != nil {
		t.Fatal(err)
	}
	d = opened(t, path, Options{FS: mem.CrashClone(vfs.CrashCloneCfg{})})
	blob, err := d.Open("p")
	if err != nil {
		t.Fatalf("a power failure took the blob: %v", err)
	}
	if err := blob.Close(); err != nil {
		t.Error(err)
	}
}

// A folder above that cannot be synced is no obstacle if nobody could have made anything in it.
func TestFolderAboveIsForeign(t *testing.T) {
	for errno, want := range map[error]bool{syscall.EINVAL: true, syscall.EROFS: true, syscall.EACCES: true, syscall.EIO: false} {
		mem := filled(t)
		d, err := Open(path, Options{FS: errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Path == "data" && (op.Kind == errorfs.OpOpenDir && errno == syscall.EACCES || op.Kind == errorfs.OpFileSync) {
				return errno
			}
			return nil
		}))})
		if (err == nil) != want {
			t.Errorf("%v: %v", errno, err)
		}
		if err == nil {
			_ = d.Close()
		}
	}
}

// Other users of the machine do not read what tasks have returned.
func TestFolderIsForItsOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "above", "folder")
	opened(t, dir, Options{})
	for name, want := range map[string]os.FileMode{"": 0o700, dbName: 0o700, blobsName: 0o700, "..": 0o755} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got&^want != 0 {
			t.Errorf("the permissions of %q are %o, want at most %o", name, got, want)
		}
	}
}
