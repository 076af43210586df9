package disk

import (
	"errors"
	"io"
	"sync"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/phalanx-go/phalanx/internal/durable"
)

// sendBytes is how much of a snapshot is read before it is written, in bytes.
const sendBytes = 256 << 10

// snapshot is the rows of one moment. It keeps what pebble deletes later on the disk until Close.
type snapshot struct {
	d           *Disk
	index, term uint64
	conf        *raftpb.ConfState

	mu     sync.Mutex // held while the iterator moves, never while bytes are written
	view   view
	closed bool
}

// Snapshot implements durable.Replica.
func (d *Disk) Snapshot(done func(durable.Snapshot, error)) {
	var s *snapshot
	d.submit(change{
		after: func() (err error) {
			s, err = d.openSnapshot()
			return err
		},
		done: func(err error) {
			if err != nil {
				done(nil, err) // on a poisoned disk s may be open, and goes with all of pebble
			} else {
				done(s, nil)
			}
		},
	})
}

// openSnapshot returns the rows of this moment.
func (d *Disk) openSnapshot() (*snapshot, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	d.snapshots.mu.Lock()
	defer d.snapshots.mu.Unlock()
	if len(d.snapshots.open) >= durable.MaxSnapshots {
		return nil, durable.ErrBusy
	}
	s := &snapshot{d: d, conf: &raftpb.ConfState{}}
	v, err := d.newView(withPrefix(""), func(m *meta) {
		s.index = m.number(keyApplied)
		base := m.base()
		m.message(keyConf, s.conf)
		s.term = m.term(s.index, base)
	})
	if err != nil {
		return nil, err
	}
	s.view = v
	d.snapshots.open[s] = true
	return s, nil
}

func (s *snapshot) Index() uint64           { return s.index }
func (s *snapshot) Term() uint64            { return s.term }
func (s *snapshot) Conf() *raftpb.ConfState { return s.conf }

// WriteTo writes the rows. A writer that is slow keeps the snapshot open, but does not hold up Close.
func (s *snapshot) WriteTo(w io.Writer) (int64, error) {
	encoder, b := durable.NewEncoder(s.index, s.term)
	var written int64
	for first, over := true, false; !over; first = false {
		var err error
		if b, over, err = s.fill(encoder, b, first); err != nil {
			return written, err
		}
		n, err := w.Write(b)
		written += int64(n)
		if err != nil {
			return written, err
		}
		b = b[:0]
	}
	return written, nil
}

// fill appends rows to b, and the end if there are no more.
func (s *snapshot) fill(e *durable.Encoder, b []byte, first bool) (_ []byte, over bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.d.poison.err(); err != nil {
		return nil, false, err
	}
	if s.closed {
		return nil, false, durable.ErrClosed
	}
	next := s.view.it.Next
	if first {
		next = s.view.it.First
	}
	for len(b) < sendBytes {
		if !next() {
			if err := s.view.it.Error(); err != nil {
				return nil, false, corrupt(err)
			}
			return e.End(b), true, nil
		}
		next = s.view.it.Next
		value, err := s.view.it.ValueAndErr()
		if err != nil {
			return nil, false, corrupt(err)
		}
		b = e.Row(b, s.view.it.Key()[s.view.skip:], value)
	}
	return b, false, nil
}

// Close lets the rows go. Closing twice is safe.
func (s *snapshot) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.d.poison.guard(func() error { return corrupt(s.view.it.Close()) })
	s.d.snapshots.mu.Lock()
	defer s.d.snapshots.mu.Unlock()
	delete(s.d.snapshots.open, s) // pebble may be closed from now on
	return err
}

// closeSnapshots closes all that are open. None is opened any more.
func (d *Disk) closeSnapshots() error {
	d.snapshots.mu.Lock()
	var open []*snapshot
	for s := range d.snapshots.open {
		open = append(open, s)
	}
	d.snapshots.mu.Unlock()
	var errs []error
	for _, s := range open {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
