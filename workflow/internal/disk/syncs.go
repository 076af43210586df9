package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// syncs is the file system that pebble gets. A sync that fails marks the disk and never returns:
// neither what pebble tries again nor what it ignores can succeed later. Two more kinds of failures do the
// same, since pebble would end the process:
//
//   - on a log of writes: pebble panics when it cannot close one or begin the next, with its mutex
//     unlocked, and the unlock that it has deferred cannot be recovered from;
//   - while pebble opens: it closes what a flush in the background still uses, and that panics.
//
// Other operations that fail return after a pause: pebble tries again at once what it does in the background, and a
// full file system would have it write tens of thousands of log lines a second.
type syncs struct {
	vfs.FS
	poison *poison
	opened *atomic.Bool // pebble is open
	stop   <-chan struct{}
}

// pauseAfterFailure is the pause.
const pauseAfterFailure = time.Second

// Unwrap returns the file system beneath.
func (s syncs) Unwrap() vfs.FS { return s.FS }

func (s syncs) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := s.FS.Create(name, c)
	return s.wrap("create", name, f, err)
}

func (s syncs) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := s.FS.OpenReadWrite(name, c, o...)
	return s.wrap("open", name, f, err)
}

func (s syncs) OpenDir(name string) (vfs.File, error) {
	f, err := s.FS.OpenDir(name)
	return s.wrap("open", name, f, err)
}

func (s syncs) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := s.FS.ReuseForWrite(from, to, c)
	return s.wrap("reuse", to, f, err)
}

func (s syncs) Rename(from, to string) error {
	return s.needed("rename", to, s.FS.Rename(from, to))
}

func (s syncs) List(dir string) ([]string, error) {
	names, err := s.FS.List(dir)
	return names, s.needed("list", dir, err)
}

func (s syncs) wrap(op, name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, s.needed(op, name, err)
	}
	return syncFile{f, name, s}, nil
}

// needed returns the error of an operation, unless pebble must not see it. Pebble can take it that
// something is missing.
func (s syncs) needed(op, name string, err error) error {
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist):
	case !s.opened.Load() || strings.HasSuffix(name, ".log"):
		s.fail(op, name, err)
	default:
		pause := time.NewTimer(pauseAfterFailure)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-s.stop:
		}
	}
	return err
}

// fail marks the disk and never returns.
func (s syncs) fail(op, name string, err error) {
	s.poison.mark(fmt.Errorf("%s of %s: %w", op, name, err))
	hang()
}

type syncFile struct {
	vfs.File
	name string
	fs   syncs
}

func (f syncFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.fs.needed("write", f.name, err)
}

func (f syncFile) Close() error { return f.fs.needed("close", f.name, f.File.Close()) }

func (f syncFile) Sync() error     { return f.synced(f.File.Sync()) }
func (f syncFile) SyncData() error { return f.synced(f.File.SyncData()) }

func (f syncFile) SyncTo(length int64) (bool, error) {
	full, err := f.File.SyncTo(length)
	return full, f.synced(err)
}

func (f syncFile) synced(err error) error {
	if err != nil {
		f.fs.fail("sync", f.name, err)
	}
	return nil
}
