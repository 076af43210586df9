package disk

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// syncs is the file system that pebble gets. A sync that fails marks the disk and never returns:
// neither what pebble tries again nor what it ignores can succeed later.
type syncs struct {
	vfs.FS
	poison *poison
}

// Unwrap returns the file system beneath.
func (s syncs) Unwrap() vfs.FS { return s.FS }

func (s syncs) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return s.wrap(name)(s.FS.Create(name, c))
}

func (s syncs) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return s.wrap(name)(s.FS.OpenReadWrite(name, c, o...))
}

func (s syncs) OpenDir(name string) (vfs.File, error) { return s.wrap(name)(s.FS.OpenDir(name)) }

func (s syncs) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return s.wrap(to)(s.FS.ReuseForWrite(from, to, c))
}

func (s syncs) wrap(name string) func(vfs.File, error) (vfs.File, error) {
	return func(f vfs.File, err error) (vfs.File, error) {
		if err != nil {
			return nil, err
		}
		return syncFile{f, name, s.poison}, nil
	}
}

type syncFile struct {
	vfs.File
	name   string
	poison *poison
}

func (f syncFile) Sync() error     { return f.hold(f.File.Sync()) }
func (f syncFile) SyncData() error { return f.hold(f.File.SyncData()) }

func (f syncFile) SyncTo(length int64) (bool, error) {
	full, err := f.File.SyncTo(length)
	return full, f.hold(err)
}

func (f syncFile) hold(err error) error {
	if err != nil {
		f.poison.mark(fmt.Errorf("sync of %s: %w", f.name, err))
		hang()
	}
	return nil
}
