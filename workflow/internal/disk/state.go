package disk

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// Bounds of the entries that State loads, in bytes. At most 16 MB of appends are uncommitted
// (workflow specification 3.9); what is committed already can be left out.
const (
	loadCommitted = 32 << 20  // older entries that are applied stay on the disk
	loadAll       = 512 << 20 // a longer log that is not applied is not ours
)

// State implements durable.Replica.
func (d *Disk) State() (ledger.State, error) {
	var s ledger.State
	err := d.read(func() error {
		it, err := d.db.NewIter(nil)
		if err != nil {
			return corrupt(err)
		}
		s, err = loadState(it, d.identity.Disk)
		return errors.Join(err, corrupt(it.Close()))
	})
	if err != nil {
		return ledger.State{}, err
	}
	return s, nil
}

// loadState reads what the replica holds.
func loadState(it *pebble.Iterator, disk uint64) (s ledger.State, err error) {
	m := meta{it: it}
	replica := m.number(keyNumber)
	if replica == 0 || m.err != nil {
		return s, m.err
	}
	s.Replica = replicaID(disk, replica)
	s.Applied = m.number(keyApplied)
	s.Hard, s.Conf = &raftpb.HardState{}, &raftpb.ConfState{}
	m.message(keyHard, s.Hard)
	m.message(keyConf, s.Conf)
	base := m.base()
	if m.err != nil {
		return s, m.err
	}
	if s.Entries, err = loadEntries(it, s.Applied); err != nil {
		return s, err
	}
	s.First = s.Applied + 1
	if len(s.Entries) > 0 {
		s.First = s.Entries[0].GetIndex()
	}
	s.AppliedTerm, err = appliedTerm(&s, base)
	return s, err
}

// appliedTerm returns the term of the entry at Applied: compact leaves it in the log, and after an
// install it is the snapshot's.
func appliedTerm(s *ledger.State, base base) (uint64, error) {
	if s.Applied >= s.First && s.Applied-s.First < uint64(len(s.Entries)) {
		return s.Entries[s.Applied-s.First].GetTerm(), nil
	}
	if s.Applied == base.index {
		return base.term, nil
	}
	if len(s.Entries) == 0 { // a log that begins with what every replica has
		return 0, nil
	}
	return 0, fmt.Errorf("%w: the log begins at %d, but %d is applied", durable.ErrCorrupt, s.First, s.Applied)
}

// loadEntries reads the log from its end, so that what is left out is its beginning. It includes
// the entry at applied.
func loadEntries(it *pebble.Iterator, applied uint64) ([]*raftpb.Entry, error) {
	it.SetBounds([]byte{entrySpace}, []byte{entrySpace + 1})
	var back []*raftpb.Entry
	size := 0
	for ok := it.Last(); ok; ok = it.Prev() {
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, corrupt(err)
		}
		e := &raftpb.Entry{}
		if err := proto.Unmarshal(value, e); err != nil {
			return nil, corrupt(fmt.Errorf("an entry of the log: %w", err))
		}
		if key := it.Key(); len(key) != 9 || e.GetIndex() != binary.BigEndian.Uint64(key[1:]) ||
			len(back) > 0 && e.GetIndex()+1 != back[len(back)-1].GetIndex() {
			return nil, fmt.Errorf("%w: the log has a gap at entry %d", durable.ErrCorrupt, e.GetIndex())
		}
		size += len(value)
		if e.GetIndex() < applied && size > loadCommitted {
			break
		}
		if size > loadAll {
			return nil, fmt.Errorf("%w: the log has more than %d bytes after entry %d, which is applied", durable.ErrCorrupt, loadAll, applied)
		}
		back = append(back, e)
	}
	if err := it.Error(); err != nil {
		return nil, corrupt(err)
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back, nil
}

// replicaID is raft's id of a replica.
func replicaID(disk, number uint64) uint64 { return disk<<16 | number }

// base is the last snapshot that was installed.
type base struct{ index, term uint64 }

// meta reads metaSpace and keeps the first error. What is not there is zero.
type meta struct {
	it  *pebble.Iterator
	err error
}

func (m *meta) value(key []byte) []byte {
	if m.err != nil || !m.it.SeekGE(key) || string(m.it.Key()) != string(key) {
		m.keep(m.it.Error())
		return nil
	}
	value, err := m.it.ValueAndErr()
	m.keep(err)
	return value
}

func (m *meta) keep(err error) {
	if m.err == nil {
		m.err = corrupt(err)
	}
}

func (m *meta) number(key []byte) uint64 {
	value := m.value(key)
	if value == nil || m.err != nil {
		return 0
	}
	if len(value) != 8 {
		m.keep(fmt.Errorf("%w: %q has %d bytes", durable.ErrCorrupt, key, len(value)))
		return 0
	}
	return binary.BigEndian.Uint64(value)
}

func (m *meta) base() base {
	value := m.value(keyBase)
	if value == nil || m.err != nil {
		return base{}
	}
	if len(value) != 16 {
		m.keep(fmt.Errorf("%w: %q has %d bytes", durable.ErrCorrupt, keyBase, len(value)))
		return base{}
	}
	return base{binary.BigEndian.Uint64(value), binary.BigEndian.Uint64(value[8:])}
}

// term returns the term of the entry at index, or that of the snapshot that ends there.
func (m *meta) term(index uint64, base base) uint64 {
	if index == base.index {
		return base.term
	}
	var e raftpb.Entry
	m.message(entryKey(index), &e)
	return e.GetTerm()
}

func (m *meta) message(key []byte, to proto.Message) {
	if value := m.value(key); m.err == nil {
		m.keep(proto.Unmarshal(value, to))
	}
}
