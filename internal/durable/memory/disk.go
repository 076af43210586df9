package memory

import (
	"errors"
	"fmt"
	"slices"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// Disk is the use of a Folder by one process. It is safe for concurrent use.
type Disk struct {
	folder *Folder // its lock guards what follows
	later  func(func())

	waiting   []request
	running   bool // a commit was given to later and has not run
	committed int  // the first of waiting, which only wait for their answers
	over      error
	crashed   bool // nothing is answered any more
	failed    chan struct{}
	streams   map[uint64]*stream
	snapshots int
	coming    int64 // bytes that Puts were announced that have not ended
}

// request is a Write that was not answered, or the wish for a snapshot.
type request struct {
	step     step
	snapshot *snapshot // to fill; nil: a Write
	done     func(error)
	err      error // of a committed one
}

var _ durable.Store = (*Disk)(nil)

// lock locks the folder. The error is why the disk cannot be used any more.
func (d *Disk) lock() error {
	d.folder.mu.Lock()
	return d.over
}

func (d *Disk) unlock() { d.folder.mu.Unlock() }

// Apply implements durable.Replica. It never blocks.
func (d *Disk) Apply(w ledger.Write, done func(error)) {
	d.add(request{step: step{write: w}, done: done})
}

func (d *Disk) add(r request) {
	_ = d.lock() // commit answers with the error
	if !d.crashed {
		d.waiting = append(d.waiting, r)
	}
	d.unlock()
	d.kick()
}

// kick has what waits committed and answered later.
func (d *Disk) kick() {
	_ = d.lock() // what waits is answered in any case
	start := !d.running && len(d.waiting) > 0
	d.running = d.running || start
	d.unlock()
	if start {
		d.later(d.run)
	}
}

// run commits and answers all that waits now.
func (d *Disk) run() {
	_ = d.lock() // what waits is answered in any case
	d.commit()
	answers := d.waiting
	d.waiting, d.committed = nil, 0
	d.unlock()
	for _, r := range answers {
		r.done(r.err)
	}
	_ = d.lock()
	d.running = false
	d.unlock()
	d.kick()
}

// commit makes all Writes that wait one batch, and syncs it if one of them asks for it.
func (d *Disk) commit() {
	f, sync := d.folder, false
	for i := d.committed; i < len(d.waiting) && d.over == nil; i++ {
		if s := d.waiting[i].snapshot; s != nil {
			d.waiting[i].err = s.fill(d)
			continue
		}
		s := &d.waiting[i].step
		err := d.prepare(s)
		if err == nil {
			err = f.current.apply(s)
		}
		if err != nil {
			d.poison(fmt.Errorf("write %d: %w", s.write.Number, err))
			break
		}
		f.unsynced = append(f.unsynced, *s)
		sync = sync || s.write.Sync
	}
	for i := d.committed; i < len(d.waiting) && d.over != nil; i++ {
		d.waiting[i].err = d.over
	}
	if d.over == nil && sync {
		f.sync()
	}
	d.committed = len(d.waiting)
}

// prepare gives a step the rows of the stream that it installs.
func (d *Disk) prepare(s *step) error {
	in := s.write.Install
	if in == nil || s.begin {
		return nil
	}
	one := d.streams[in.Stream]
	if one == nil || !one.complete {
		return invalid("stream %d is not complete", in.Stream)
	}
	if one.index != in.Index || one.term != in.Term {
		return invalid("stream %d is a snapshot of index %d and term %d, not of %d and %d", in.Stream, one.index, one.term, in.Index, in.Term)
	}
	delete(d.streams, in.Stream)
	s.rows = one.rows
	return nil
}

// waitingSteps returns what waits and is not committed.
func (d *Disk) waitingSteps() []step {
	var steps []step
	for _, r := range d.waiting[d.committed:] {
		if r.snapshot != nil {
			continue
		}
		if d.prepare(&r.step) != nil {
			break
		}
		steps = append(steps, r.step)
	}
	return steps
}

// poison ends the disk: a sync has failed, or the core is wrong.
func (d *Disk) poison(cause error) {
	if d.over != nil {
		return
	}
	d.over = fmt.Errorf("%w: %w", durable.ErrPoisoned, cause)
	close(d.failed)
}

// Failed implements durable.Folder.
func (d *Disk) Failed() <-chan struct{} { return d.failed }

// Err implements durable.Folder.
func (d *Disk) Err() error {
	select {
	case <-d.failed:
		_ = d.lock() // it is the error
		defer d.unlock()
		return d.over
	default:
		return nil
	}
}

// Close implements durable.Folder. What waits is answered later.
func (d *Disk) Close() error {
	_ = d.lock() // closing twice is safe
	f := d.folder
	if d.over == nil {
		d.over = durable.ErrClosed
	}
	var err error
	if !errors.Is(d.over, durable.ErrClosed) {
		err = d.over
	}
	if f.used == d && err == nil {
		f.sync() // the operating system writes it in the end
		f.used = nil
	}
	d.unlock()
	d.kick()
	return err
}

// State implements durable.Replica.
func (d *Disk) State() (ledger.State, error) {
	if err := d.lock(); err != nil {
		d.unlock()
		return ledger.State{}, err
	}
	defer d.unlock()
	return d.folder.current.state(d.folder.identity.Disk), nil
}

// Get implements durable.Replica.
func (d *Disk) Get(key string) ([]byte, bool, error) {
	err := d.lock()
	defer d.unlock()
	if err != nil {
		return nil, false, err
	}
	value, found := d.folder.current.rows[key]
	return slices.Clone(value), found, nil
}

// Scan implements durable.Replica.
func (d *Disk) Scan(prefix string, f func(ledger.Row) bool) error {
	return d.scan(func(m *image) []string { return m.keys(prefix) }, f)
}

// Range implements durable.Replica.
func (d *Disk) Range(key, end string, limit int, f func(ledger.Row) bool) error {
	return d.scan(func(m *image) []string {
		keys := slices.DeleteFunc(m.keys(""), func(k string) bool { return k < key || end != "" && k >= end })
		if limit > 0 && len(keys) > limit {
			keys = keys[:limit]
		}
		return keys
	}, f)
}

// scan calls f for rows of one moment.
func (d *Disk) scan(keys func(*image) []string, f func(ledger.Row) bool) error {
	err := d.lock()
	var rows []ledger.Row
	if err == nil {
		rows = d.folder.current.copies(keys(&d.folder.current))
	}
	d.unlock()
	for _, row := range rows {
		if !f(row) {
			break
		}
	}
	return err
}
