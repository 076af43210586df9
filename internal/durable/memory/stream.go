package memory

import (
	"bytes"
	"fmt"
	"io"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx/internal/durable"
)

// stream is a snapshot that is received and not installed.
type stream struct {
	index, term uint64
	rows        map[string][]byte
	complete    bool
	abandoned   bool
}

// Receive implements durable.Replica.
func (d *Disk) Receive(id uint64, r io.Reader) error {
	one, err := d.beginStream(id)
	if err != nil {
		return err
	}
	index, term, err := durable.Decode(r, func(key, value []byte) error {
		if err := d.receiving(id, one); err != nil {
			return err
		}
		one.rows[string(key)] = append([]byte{}, value...)
		return nil
	})
	if err == nil {
		err = d.receiving(id, one)
	}
	_ = d.lock() // receiving has looked
	defer d.unlock()
	if err != nil {
		delete(d.streams, id)
		return err
	}
	one.index, one.term, one.complete = index, term, true
	return nil
}

func (d *Disk) beginStream(id uint64) (*stream, error) {
	err := d.lock()
	defer d.unlock()
	if err != nil {
		return nil, err
	}
	if d.streams[id] != nil {
		return nil, invalid("stream %d has begun already", id)
	}
	if len(d.streams) >= durable.MaxStreams {
		return nil, durable.ErrBusy
	}
	one := &stream{rows: map[string][]byte{}}
	d.streams[id] = one
	return one, nil
}

// receiving returns an error if a stream is wanted no more.
func (d *Disk) receiving(id uint64, one *stream) error {
	err := d.lock()
	defer d.unlock()
	if err == nil && one.abandoned {
		err = fmt.Errorf("%w: stream %d was abandoned", durable.ErrClosed, id)
	}
	return err
}

// Abandon implements durable.Replica.
func (d *Disk) Abandon(id uint64) error {
	err := d.lock()
	defer d.unlock()
	if one := d.streams[id]; one != nil {
		if one.abandoned = true; one.complete {
			delete(d.streams, id)
		}
	}
	return err
}

// snapshot is a copy of the rows.
type snapshot struct {
	d           *Disk
	index, term uint64
	conf        *raftpb.ConfState
	rows        image
	closed      bool
}

// Snapshot implements durable.Replica.
func (d *Disk) Snapshot(done func(durable.Snapshot, error)) {
	s := &snapshot{d: d}
	d.add(request{snapshot: s, done: func(err error) {
		if err != nil {
			done(nil, err)
		} else {
			done(s, nil)
		}
	}})
}

// fill takes the rows of this moment.
func (s *snapshot) fill(d *Disk) error {
	if d.snapshots >= durable.MaxSnapshots {
		return durable.ErrBusy
	}
	d.snapshots++
	now := &d.folder.current
	s.index, s.term, s.conf, s.rows = now.applied, now.term(), proto.CloneOf(now.conf), now.clone()
	return nil
}

func (s *snapshot) Index() uint64           { return s.index }
func (s *snapshot) Term() uint64            { return s.term }
func (s *snapshot) Conf() *raftpb.ConfState { return s.conf }

// WriteTo writes the rows.
func (s *snapshot) WriteTo(w io.Writer) (int64, error) {
	err := s.d.lock()
	closed := s.closed
	s.d.unlock()
	if err != nil {
		return 0, err
	}
	if closed {
		return 0, durable.ErrClosed
	}
	encoder, b := durable.NewEncoder(s.index, s.term)
	for _, row := range s.rows.copies(s.rows.keys("")) {
		b = encoder.Row(b, []byte(row.Key), row.Value)
	}
	return io.Copy(w, bytes.NewReader(encoder.End(b)))
}

// Close implements durable.Snapshot.
func (s *snapshot) Close() error {
	_ = s.d.lock() // closing is always possible
	defer s.d.unlock()
	if !s.closed {
		s.closed = true
		s.d.snapshots--
	}
	return nil
}
