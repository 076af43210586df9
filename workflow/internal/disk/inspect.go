package disk

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// Content is what a folder holds that no process uses.
type Content struct {
	Identity   durable.Identity
	Generation uint64 // of the ledger, the greatest that the folder has heard of
	State      ledger.State
	Written    time.Time // when a file of the log or the rows was last written
}

// Inspect reads a folder and changes nothing in it but the time of its locks, which it holds meanwhile. Its errors are *durable.OpenError; it is
// durable.ErrNotOurs if the folder is empty, or not there.
func Inspect(dir string, o Options) (Content, error) {
	d := &Disk{dir: dir, fs: o.FS, log: o.Log, poison: newPoison(), readOnly: true, stop: make(chan struct{})}
	defer close(d.stop)
	if d.fs == nil {
		d.fs = vfs.Default
	}
	if d.log == nil {
		silent := logrus.New()
		silent.SetOutput(io.Discard)
		d.log = silent
	}
	c, err := d.inspect()
	if err != nil {
		return Content{}, problem(dir, err)
	}
	return c, nil
}

func (d *Disk) inspect() (c Content, err error) {
	names, err := d.fs.List(d.dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !slices.Contains(names, markerName) {
		return c, durable.ErrNotOurs
	}
	if err != nil {
		return c, err
	}
	if err := d.enterFolder(); err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, d.lock.Close()) }()
	m, err := d.marker()
	if err != nil {
		return c, err
	}
	if !m.Ready { // nobody has used it
		return c, durable.ErrNotOurs
	}
	if c.Written, err = d.written(); err != nil {
		return c, err
	}
	if err := d.checkLogs(); err != nil {
		return c, err
	}
	if d.db, err = d.pebble(false); err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, d.poison.guard(d.db.Close)) }()
	if err := d.read(func() error { return d.identify(m.Disk) }); err != nil {
		return c, err
	}
	if c.State, err = d.State(); err != nil {
		return c, err
	}
	c.Identity, c.Generation = d.identity, d.known.generation
	return c, nil
}

// written returns when a file of the database was last written.
func (d *Disk) written() (last time.Time, err error) {
	dir := d.fs.PathJoin(d.dir, dbName)
	names, err := d.fs.List(dir)
	if err != nil {
		return last, err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".log") && !strings.HasSuffix(name, ".sst") { // a lock is written to read
			continue
		}
		info, err := d.fs.Stat(d.fs.PathJoin(dir, name))
		if err != nil {
			return last, err
		}
		if t := info.ModTime(); t.After(last) {
			last = t
		}
	}
	return last, nil
}
