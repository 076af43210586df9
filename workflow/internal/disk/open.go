package disk

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/internal/durable"
)

// Files of a folder.
const (
	markerName = "phalanx.json"
	lockName   = "lock"
	dbName     = "db"
	blobsName  = "blobs"
)

// format is that of the folder. It rises with any change that older versions cannot read, pebble's format
// included.
const format = 1

// pebbleFormat is the least that tells damage of the synced part of pebble's log from its torn end.
const pebbleFormat = pebble.FormatWALSyncChunks

// Open opens the folder dir, or makes it. Its errors are *durable.OpenError.
func Open(dir string, o Options) (*Disk, error) {
	d := &Disk{dir: dir, fs: o.FS, log: o.Log, poison: newPoison(), queue: newQueue(),
		committed: make(chan struct{}), stop: make(chan struct{}), watched: make(chan struct{}), closeWithin: closeWithin}
	if d.fs == nil {
		d.fs = vfs.Default
	}
	if d.log == nil {
		silent := logrus.New()
		silent.SetOutput(io.Discard)
		d.log = silent
	}
	d.streams.all = map[uint64]*stream{}
	d.snapshots.open = map[*snapshot]bool{}
	if err := d.open(o.Cluster); err != nil {
		return nil, problem(dir, err)
	}
	go d.commits()
	go d.watch()
	return d, nil
}

func (d *Disk) open(cluster string) (err error) {
	if err := d.enterFolder(); err != nil {
		return err
	}
	defer func() {
		if err != nil && d.poison.err() == nil { // pebble may use a poisoned folder still
			if d.db != nil {
				err = errors.Join(err, d.db.Close())
			}
			err = errors.Join(err, d.lock.Close())
		}
	}()
	m, err := d.marker()
	if err != nil {
		return err
	}
	if !m.Ready {
		if m, err = d.create(); err != nil {
			return err
		}
	}
	if err := d.checkLogs(); err != nil {
		return err
	}
	if d.db, err = d.pebble(false); err != nil {
		return err
	}
	if err := d.load(m.Disk, cluster); err != nil {
		return err
	}
	return d.sweepBlobs()
}

// enterFolder makes the folder if there is none, and locks it. It leaves a stranger's folder as it is.
func (d *Disk) enterFolder() (err error) {
	if err := d.makeDir(d.dir, ownerOnly); err != nil {
		return notMade(err)
	}
	if d.fs == vfs.Default { // a lock of the same process counts by its name only
		if d.dir, err = unique(d.dir); err != nil {
			return err
		}
	}
	names, err := d.fs.List(d.dir)
	if err != nil {
		return err
	}
	if !slices.Contains(names, markerName) && slices.ContainsFunc(names, stranger) {
		return durable.ErrNotOurs
	}
	if d.lock, err = d.fs.Lock(d.fs.PathJoin(d.dir, lockName)); err != nil {
		return locked(err)
	}
	return nil
}

// unique returns the one name that a folder has without links.
func unique(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// Permissions of folders. A node's folder has what tasks have returned: other users of the machine do not read it.
const (
	ownerOnly = 0o700
	forAll    = 0o755 // of the folders above
)

// makeDir makes a folder durably, with the folders above it that are missing. Each is made after the name of the one
// above is on the disk. So a process that is killed here leaves at most the lowest folder without: that name is
// synced when the folder is there, too.
func (d *Disk) makeDir(dir string, perm fs.FileMode) error {
	parent := d.fs.PathDir(dir)
	switch _, err := d.fs.Stat(dir); {
	case err == nil:
		return d.syncForeign(parent)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if parent != dir {
		if err := d.makeDir(parent, forAll); err != nil {
			return err
		}
	}
	if err := d.fs.MkdirAll(dir, perm); err != nil {
		return err
	}
	return d.syncDir(parent)
}

// syncForeign makes the names in a folder durable that may not be ours. A process that may not read it, or for whose
// file system folders are not written, has made nothing in it.
func (d *Disk) syncForeign(dir string) error {
	f, err := d.fs.OpenDir(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EROFS) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// stranger reports whether a file is none that a folder without marker may have.
func stranger(name string) bool {
	return name != lockName && name != markerName+tmpSuffix && name != "lost+found"
}

// create makes what a folder has, and closes it again (workflow specification 3.4: pebble's first log of a
// new folder has the old format). What a crash has left of an earlier try is removed.
func (d *Disk) create() (marker, error) {
	m := marker{Format: format, Disk: newID()}
	if err := d.writeMarker(m); err != nil {
		return m, err
	}
	for _, name := range []string{dbName, blobsName} {
		if err := d.fs.RemoveAll(d.fs.PathJoin(d.dir, name)); err != nil {
			return m, err
		}
		if err := d.fs.MkdirAll(d.fs.PathJoin(d.dir, name), ownerOnly); err != nil {
			return m, err
		}
	}
	db, err := d.pebble(true)
	if err != nil {
		return m, err
	}
	err = d.poison.guard(func() error {
		return errors.Join(db.Set(keyDisk, number(m.Disk), pebble.Sync), db.Close())
	})
	if err = errors.Join(err, d.poison.err()); err != nil {
		return m, err
	}
	m.Ready = true
	return m, d.writeMarker(m)
}

// newID returns a random number of 48 bits that is not 0.
func newID() uint64 {
	var b [8]byte
	for {
		_, _ = rand.Read(b[2:]) // it never fails
		if id := binary.BigEndian.Uint64(b[:]); id != 0 {
			return id
		}
	}
}

// pebble opens pebble.
func (d *Disk) pebble(create bool) (db *pebble.DB, err error) {
	files := syncs{d.fs, d.poison, &atomic.Bool{}, d.stop}
	o := &pebble.Options{
		FS:                          files,
		Logger:                      &logger{log: d.log, poison: d.poison},
		FormatMajorVersion:          pebbleFormat,
		ErrorIfExists:               create,
		ErrorIfNotExists:            !create,
		CacheSize:                   16 << 20,
		MemTableSize:                16 << 20,
		MemTableStopWritesThreshold: 4,
		MaxOpenFiles:                256,
		ReadOnly:                    d.readOnly,
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) { d.log.WithError(err).Error("pebble tries again what it does in the background") },
			DataCorruption: func(info pebble.DataCorruptionInfo) {
				d.poison.mark(corrupt(info.Details))
			},
		},
	}
	o.Experimental.ReadSamplingMultiplier = -1 // a read would take pebble's lock, which a failed sync keeps
	// Pebble's usual scheduler looks ten times a second whether a compaction that waits may begin. One waits only while another
	// runs, at whose end this one looks, too.
	o.Experimental.CompactionScheduler = pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()
	opened := make(chan *pebble.DB, 1)
	err = d.poison.guard(func() error {
		db, err := pebble.Open(d.fs.PathJoin(d.dir, dbName), o)
		opened <- db
		return err
	})
	if err != nil {
		return nil, err
	}
	files.opened.Store(true)
	return <-opened, nil
}

// load reads what the folder is, and raises its counter.
func (d *Disk) load(disk uint64, cluster string) error {
	if err := d.identify(disk); err != nil {
		return err
	}
	if bound := d.identity.Cluster; bound != "" && cluster != "" && bound != cluster {
		return fmt.Errorf("%w: it belongs to %q, not to %q", durable.ErrOtherCluster, bound, cluster)
	}
	return d.raise()
}

// identify reads what the folder is.
func (d *Disk) identify(disk uint64) error {
	it, err := d.db.NewIter(nil)
	if err != nil {
		return corrupt(err)
	}
	m := meta{it: it}
	d.loadIdentity(&m)
	d.loadReplica(&m)
	if err := errors.Join(m.err, it.Error(), it.Close()); err != nil {
		return corrupt(err)
	}
	if d.identity.Disk != disk {
		return fmt.Errorf("%w: %s is of disk %012x, but %s of disk %012x", durable.ErrCorrupt, markerName, disk, dbName, d.identity.Disk)
	}
	return nil
}

func (d *Disk) loadIdentity(m *meta) {
	d.identity = durable.Identity{Disk: m.number(keyDisk), Opens: m.number(keyOpens), Cluster: string(m.value(keyCluster))}
	d.known.boot, d.known.generation = m.number(keyBoot), m.number(keyGeneration)
	if value := m.value(keyMembers); value != nil {
		m.keep(json.Unmarshal(value, &d.known.members))
	}
}

func (d *Disk) loadReplica(m *meta) {
	r := &d.replica
	r.number, r.applied = m.number(keyNumber), m.number(keyApplied)
	r.set.Store(m.number(keyRows))
	d.streams.set = r.set.Load()
	r.first, r.last = r.applied+1, r.applied
	m.it.SetBounds([]byte{entrySpace}, []byte{entrySpace + 1})
	if m.it.First() {
		r.first = binary.BigEndian.Uint64(m.it.Key()[1:])
		m.it.Last()
		r.last = binary.BigEndian.Uint64(m.it.Key()[1:])
	}
	m.keep(m.it.Error())
}

// raise raises the counter of opens and deletes the rows of streams that were not installed. A copy
// of the folder shows by the counter, so it is synced before anybody uses the disk.
func (d *Disk) raise() error {
	d.identity.Opens++
	current := d.replica.set.Load()
	return errors.Join(d.poison.guard(func() error {
		b := d.db.NewBatch()
		fill := filler{b: b}
		fill.set(keyOpens, number(d.identity.Opens))
		fill.deleteRange(rowKey(0, ""), rowKey(current, ""))
		fill.deleteRange(setEnd(current), []byte{rowSpace + 1})
		return errors.Join(fill.err, b.Commit(pebble.Sync), b.Close())
	}), d.poison.err())
}
