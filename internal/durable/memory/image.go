package memory

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// image is what a replica's part of a folder holds at one moment.
type image struct {
	number  uint64 // of the replica; 0: none
	rows    map[string][]byte
	applied uint64
	base    ledger.Install // the last that was installed
	conf    *raftpb.ConfState
	hard    *raftpb.HardState
	entries []*raftpb.Entry
}

// step is a change of an image.
type step struct {
	write ledger.Write
	rows  map[string][]byte // of the stream that write installs
	begin bool              // a new replica begins instead
}

func (m *image) clone() image {
	c := *m
	c.rows, c.entries = maps.Clone(m.rows), slices.Clone(m.entries)
	return c
}

func (m *image) first() uint64 {
	if len(m.entries) == 0 {
		return m.applied + 1
	}
	return m.entries[0].GetIndex()
}

func (m *image) last() uint64 { return m.first() + uint64(len(m.entries)) - 1 }

// apply makes a step. After an error the image is of no use.
func (m *image) apply(s *step) error {
	if s.begin {
		*m = image{number: m.number + 1, rows: map[string][]byte{}, conf: &raftpb.ConfState{}, hard: &raftpb.HardState{}}
		return nil
	}
	w := &s.write
	if m.number == 0 {
		return invalid("no replica has begun")
	}
	if w.Install != nil {
		if w.Install.Index <= m.applied {
			return invalid("a snapshot of %d would be installed over %d", w.Install.Index, m.applied)
		}
		m.rows, m.applied, m.base, m.entries = maps.Clone(s.rows), w.Install.Index, *w.Install, nil
		if w.Install.Conf != nil {
			m.conf = proto.CloneOf(w.Install.Conf)
		}
	}
	committed := m.applied
	if err := m.put(w.Rows); err != nil {
		return err
	}
	if err := m.extend(w, committed); err != nil {
		return err
	}
	if w.Conf != nil {
		m.conf = proto.CloneOf(w.Conf)
	}
	if w.Hard != nil {
		m.hard = proto.CloneOf(w.Hard)
	}
	return m.compact(w.Compact)
}

func (m *image) put(rows []ledger.Row) error {
	for _, row := range rows {
		if len(row.Key) > durable.MaxKey || len(row.End) > durable.MaxKey || len(row.Value) > durable.MaxValue {
			return invalid("a row of %d and %d bytes", len(row.Key), len(row.Value))
		}
		switch {
		case row.End != "":
			maps.DeleteFunc(m.rows, func(key string, _ []byte) bool { return row.Key <= key && key < row.End })
		case row.Value == nil:
			delete(m.rows, row.Key)
		default:
			m.rows[row.Key] = append([]byte{}, row.Value...)
		}
	}
	return nil
}

// extend replaces the log from the first new entry on, and moves applied.
func (m *image) extend(w *ledger.Write, committed uint64) error {
	if w.Applied != 0 && w.Applied < m.applied {
		return invalid("applied would go back from %d to %d", m.applied, w.Applied)
	}
	first, last := m.first(), m.last()
	if len(w.Entries) > 0 {
		from := w.Entries[0].GetIndex()
		if from <= committed || from < first || from > last+1 {
			return invalid("entry %d does not follow a log of %d to %d with %d applied", from, first, last, committed)
		}
		m.entries = m.entries[:from-first]
		for i, e := range w.Entries {
			if e.GetIndex() != from+uint64(i) {
				return invalid("entry %d comes at the place of %d", e.GetIndex(), from+uint64(i))
			}
			m.entries = append(m.entries, proto.CloneOf(e))
		}
	}
	m.applied = max(m.applied, w.Applied)
	if len(m.entries) > 0 && (m.applied > m.last() || m.applied+1 < m.first()) {
		return invalid("applied is %d with a log of %d to %d", m.applied, m.first(), m.last())
	}
	return nil
}

func (m *image) compact(index uint64) error {
	if index > m.applied {
		return invalid("entries up to %d would be deleted, but only %d are applied", index, m.applied)
	}
	if len(m.entries) > 0 && index > m.first() {
		m.entries = m.entries[index-m.first():]
	}
	return nil
}

// state copies what the replica holds.
func (m *image) state(disk uint64) ledger.State {
	if m.number == 0 {
		return ledger.State{}
	}
	s := ledger.State{Replica: disk<<16 | m.number, Hard: proto.CloneOf(m.hard), Conf: proto.CloneOf(m.conf),
		Applied: m.applied, AppliedTerm: m.term(), First: m.first()}
	for _, e := range m.entries {
		s.Entries = append(s.Entries, proto.CloneOf(e))
	}
	return s
}

// term returns the term of the entry at applied.
func (m *image) term() uint64 {
	if m.applied == m.base.Index {
		return m.base.Term
	}
	if at := m.applied - m.first(); at < uint64(len(m.entries)) {
		return m.entries[at].GetTerm()
	}
	return 0
}

// keys returns the keys that begin with prefix, in order.
func (m *image) keys(prefix string) []string {
	var keys []string
	for key := range m.rows {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// copies returns the rows under keys.
func (m *image) copies(keys []string) []ledger.Row {
	var rows []ledger.Row
	for _, key := range keys {
		rows = append(rows, ledger.Row{Key: key, Value: bytes.Clone(m.rows[key])})
	}
	return rows
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", durable.ErrInvalid, fmt.Sprintf(format, args...))
}
