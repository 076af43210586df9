package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/phalanx-go/phalanx/internal/durable"
)

// marker is the file that tells that a folder is ours.
type marker struct {
	Format int    `json:"format"`
	Disk   uint64 `json:"disk"`
	Ready  bool   `json:"ready"` // false: the folder was never used
}

// maxMarker is how much of a marker is read, in bytes.
const maxMarker = 4096

// tmpSuffix is at the end of the name of a marker that is being written.
const tmpSuffix = ".tmp"

// marker reads the marker. It is zero if there is none.
func (d *Disk) marker() (m marker, err error) {
	f, err := d.fs.Open(d.fs.PathJoin(d.dir, markerName))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxMarker))
	if err = errors.Join(err, f.Close()); err != nil {
		return m, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("%w: %s: %w", durable.ErrCorrupt, markerName, err)
	}
	if m.Format > format {
		return m, fmt.Errorf("%w: the folder has format %d, this version reads up to %d", durable.ErrLater, m.Format, format)
	}
	if m.Format < 1 || m.Disk == 0 {
		return m, fmt.Errorf("%w: %s has no format or no disk", durable.ErrCorrupt, markerName)
	}
	return m, nil
}

// writeMarker replaces the marker.
func (d *Disk) writeMarker(m marker) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	name := d.fs.PathJoin(d.dir, markerName)
	f, err := d.fs.Create(name+tmpSuffix, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err == nil {
		err = d.sync(f, name)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := d.fs.Rename(name+tmpSuffix, name); err != nil {
		return err
	}
	return d.syncDir(d.dir)
}

// sync syncs f. If that fails, the disk is poisoned.
func (d *Disk) sync(f vfs.File, name string) error {
	if err := f.Sync(); err != nil {
		d.poison.mark(fmt.Errorf("sync of %s: %w", name, err))
		return d.poison.err()
	}
	return nil
}

// syncDir makes the names in a folder durable.
func (d *Disk) syncDir(dir string) error {
	f, err := d.fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.sync(f, dir), f.Close())
}
