package disk

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/internal/durable"
)

// Options of a Disk. The zero Options are valid.
type Options struct {
	Cluster string             // the cluster's id, if it is known: a folder of another one is refused
	Log     logrus.FieldLogger // nil: nothing is logged
	FS      vfs.FS             // nil: the operating system's
}

// Disk is a folder that this process uses. It is safe for concurrent use.
type Disk struct {
	dir      string
	fs       vfs.FS // without syncs: what marks the disk there is explicit
	log      logrus.FieldLogger
	lock     io.Closer
	db       *pebble.DB
	poison   *poison
	readOnly bool // pebble writes nothing: somebody only reads the folder

	queue     *queue
	answering sync.Mutex    // held while done functions are called
	committed chan struct{} // closed when the committer has ended
	stop      chan struct{} // ends the watcher
	watched   chan struct{} // closed when the watcher has ended
	replica   replica
	streams   streams

	known struct { // what Folder answers
		mu         sync.Mutex
		members    []string
		boot       uint64
		generation uint64
	}
	identity durable.Identity // Cluster under known.mu

	users struct { // those that read pebble
		mu     sync.Mutex
		n      int
		closed bool
		none   chan struct{} // closed when it is closed and n is 0
	}
	snapshots struct {
		mu   sync.Mutex
		open map[*snapshot]bool
	}
	blobs blobs

	closing     sync.Once
	closed      error
	closeWithin time.Duration
}

var _ durable.Store = (*Disk)(nil)

// Failed implements durable.Folder.
func (d *Disk) Failed() <-chan struct{} { return d.poison.marked }

// Err implements durable.Folder.
func (d *Disk) Err() error { return d.poison.err() }

// Close ends the use of the folder. It waits for readers and for what is being written, up to 10 s in all: then it
// poisons the disk, which may hang. A poisoned disk keeps goroutines of pebble and the lock of the folder until the
// process ends: pebble may still hold files open.
func (d *Disk) Close() error {
	d.closing.Do(func() { d.closed = d.close() })
	return d.closed
}

// closeWithin is how long Close waits.
const closeWithin = 10 * time.Second

func (d *Disk) close() error {
	late := time.AfterFunc(d.closeWithin, func() {
		d.poison.mark(fmt.Errorf("the disk, or a reader of it, has held up Close for %v", d.closeWithin))
	})
	defer late.Stop()
	d.queue.end(durable.ErrClosed)
	select {
	case <-d.committed:
	case <-d.poison.marked:
	}
	close(d.stop)
	<-d.watched // on a marked disk it answers all that wait
	select {
	case <-d.endReads():
	case <-d.poison.marked:
	}
	err := d.poison.guard(d.closeSnapshots)
	if d.poison.err() == nil {
		err = errors.Join(err, d.poison.guard(d.db.Close))
	}
	if marked := d.poison.err(); marked != nil {
		return marked
	}
	return errors.Join(err, d.lock.Close())
}

// endReads lets no reader enter. The channel is closed when the last has left.
func (d *Disk) endReads() <-chan struct{} {
	d.users.mu.Lock()
	defer d.users.mu.Unlock()
	d.users.closed = true
	d.users.none = make(chan struct{})
	if d.users.n == 0 {
		close(d.users.none)
	}
	return d.users.none
}
