package disk

import (
	"fmt"
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// receiveBytes is how much of a stream goes into one batch, in bytes.
const receiveBytes = 256 << 10

// streams are the sets of rows that are received and not installed. They are safe for concurrent use.
type streams struct {
	mu  sync.Mutex
	all map[uint64]*stream
	set uint64 // the greatest number of a set so far
}

type stream struct {
	set         uint64 // of its rows
	index, term uint64
	complete    bool
	abandoned   bool
}

// begin returns a new stream.
func (s *streams) begin(id uint64) (*stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[id] != nil {
		return nil, invalid("stream %d has begun already", id)
	}
	if len(s.all) >= durable.MaxStreams {
		return nil, durable.ErrBusy
	}
	s.set++
	s.all[id] = &stream{set: s.set}
	return s.all[id], nil
}

// next returns the number of a new set.
func (s *streams) next() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set++
	return s.set
}

// installed forgets the stream that in names and returns the set of its rows.
func (s *streams) installed(in *ledger.Install) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[in.Stream]
	if one == nil || !one.complete || one.abandoned {
		return 0, invalid("stream %d is not complete", in.Stream)
	}
	if one.index != in.Index || one.term != in.Term {
		return 0, invalid("stream %d is a snapshot of index %d and term %d, not of %d and %d", in.Stream, one.index, one.term, in.Index, in.Term)
	}
	delete(s.all, in.Stream)
	return one.set, nil
}

// finish completes a stream, or returns false if it was abandoned.
func (s *streams) finish(one *stream, index, term uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.index, one.term, one.complete = index, term, true
	return !one.abandoned
}

func (s *streams) isAbandoned(one *stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return one.abandoned
}

// abandon marks a stream and returns it if nobody receives it: then the caller clears it.
func (s *streams) abandon(id uint64) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[id]
	if one == nil || one.abandoned {
		return nil
	}
	one.abandoned = true
	if !one.complete {
		return nil
	}
	return one
}

func (s *streams) forget(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
}

// Receive implements durable.Replica. Its rows are not synced: the sync of the Write that installs
// them covers all of pebble's log before it.
func (d *Disk) Receive(id uint64, r io.Reader) error {
	if err := d.enter(); err != nil {
		return err
	}
	d.leave() // Close does not wait for r: the committer takes nothing any more then
	one, err := d.streams.begin(id)
	if err != nil {
		return err
	}
	to := &sink{d: d, set: one.set}
	index, term, err := durable.Decode(r, func(key, value []byte) error {
		if d.streams.isAbandoned(one) {
			return errAbandoned(id)
		}
		return to.row(key, value)
	})
	if err == nil {
		err = to.flush()
	}
	if err == nil && !d.streams.finish(one, index, term) {
		err = errAbandoned(id)
	}
	if err != nil {
		return d.clear(id, one, err)
	}
	return nil
}

func errAbandoned(id uint64) error {
	return fmt.Errorf("%w: stream %d was abandoned", durable.ErrClosed, id)
}

// Abandon implements durable.Replica.
func (d *Disk) Abandon(id uint64) error {
	if one := d.streams.abandon(id); one != nil {
		return d.clear(id, one, nil)
	}
	return nil
}

// clear deletes the rows of a stream and forgets it. It returns the cause, or why it failed.
func (d *Disk) clear(id uint64, one *stream, cause error) error {
	err := d.change(0, false, func(b *pebble.Batch) error {
		return b.DeleteRange(rowKey(one.set, ""), setEnd(one.set), nil)
	})
	d.streams.forget(id)
	if cause != nil {
		return cause
	}
	return err
}

// sink collects rows and hands them to the committer.
type sink struct {
	d    *Disk
	set  uint64
	rows []ledger.Row
	size int
}

func (s *sink) row(key, value []byte) error {
	s.rows = append(s.rows, ledger.Row{Key: string(key), Value: append(make([]byte, 0, len(value)), value...)})
	if s.size += 64 + len(key) + len(value); s.size < receiveBytes {
		return nil
	}
	return s.flush()
}

func (s *sink) flush() error {
	err := s.d.change(s.size, false, func(b *pebble.Batch) error {
		fill := filler{b: b}
		if err := fill.rows(s.set, s.rows); err != nil {
			return err
		}
		return fill.err
	})
	s.rows, s.size = nil, 0
	return err
}
