package ledger

import (
	"fmt"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// mark is a place in the log.
type mark struct{ index, term uint64 }

// log is the part of the log that the disk keeps, in memory. Raft reads it as its Storage.
//
// Entries are in it as soon as they are to be written. Raft still takes them from its own list
// until it hears that they are written.
type log struct {
	base    mark // the entry before the first
	entries []*raftpb.Entry
	bytes   int // of entries
	hard    *raftpb.HardState
	conf    *raftpb.ConfState // of the applied entries, as raft begins
	last    shot              // what a snapshot of the disk's rows would be
}

// shot is the state of the disk after the writes that the host has been given.
type shot struct {
	at   mark
	conf *raftpb.ConfState
}

var _ raft.Storage = (*log)(nil)

func (l *log) end() uint64 { return l.base.index + uint64(len(l.entries)) }

func (l *log) InitialState() (*raftpb.HardState, *raftpb.ConfState, error) {
	return l.hard, l.conf, nil
}

func (l *log) FirstIndex() (uint64, error) { return l.base.index + 1, nil }

func (l *log) LastIndex() (uint64, error) { return l.end(), nil }

func (l *log) Term(index uint64) (uint64, error) {
	switch {
	case index < l.base.index:
		return 0, raft.ErrCompacted
	case index == l.base.index:
		return l.base.term, nil
	case index > l.end():
		return 0, raft.ErrUnavailable
	}
	return l.entries[index-l.base.index-1].GetTerm(), nil
}

// Entries returns those from low on, before high, of together at most size bytes, but at least one.
func (l *log) Entries(low, high, size uint64) ([]*raftpb.Entry, error) {
	if low <= l.base.index {
		return nil, raft.ErrCompacted
	}
	if high > l.end()+1 || low >= high {
		return nil, raft.ErrUnavailable
	}
	all := l.entries[low-l.base.index-1 : high-l.base.index-1]
	sum := uint64(0)
	for i, e := range all {
		if sum += uint64(proto.Size(e)); i > 0 && sum > size {
			return all[:i:i], nil
		}
	}
	return slices.Clip(all), nil
}

// Snapshot returns what names the rows of the disk, which are not in it. A replica that is newer
// than these does not take them, and raft sends others then.
func (l *log) Snapshot() (*raftpb.Snapshot, error) {
	if l.last.at.index == 0 {
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	return &raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{
		Index: new(l.last.at.index), Term: new(l.last.at.term), ConfState: clone(l.last.conf),
	}}, nil
}

// put replaces the log from the first of the entries on, of which there is at least one.
func (l *log) put(entries []*raftpb.Entry) {
	at := entries[0].GetIndex()
	if at <= l.base.index || at > l.end()+1 {
		panic(fmt.Sprintf("ledger: entry %d does not follow a log from %d to %d", at, l.base.index+1, l.end()))
	}
	keep := l.entries[:at-l.base.index-1]
	for _, e := range l.entries[len(keep):] {
		l.bytes -= weight(e)
	}
	for _, e := range entries {
		l.bytes += weight(e)
	}
	if len(keep) < len(l.entries) {
		keep = slices.Clip(keep) // raft may have what is replaced
	}
	l.entries = append(keep, entries...)
}

// compact drops the entries up to index, which is in the log.
func (l *log) compact(index uint64) {
	term, err := l.Term(index)
	if err != nil {
		panic(fmt.Sprintf("ledger: the log from %d to %d is cut at %d", l.base.index+1, l.end(), index))
	}
	gone := int(index - l.base.index)
	for _, e := range l.entries[:gone] {
		l.bytes -= weight(e)
	}
	l.entries = slices.Clone(l.entries[gone:]) // frees the rest
	l.base = mark{index, term}
}

// restart drops all entries: a snapshot takes their place.
func (l *log) restart(at mark) {
	l.base, l.entries, l.bytes = at, nil, 0
}

// weight is about the memory that an entry takes, in bytes.
func weight(e *raftpb.Entry) int { return len(e.GetData()) + 100 }

func clone(conf *raftpb.ConfState) *raftpb.ConfState {
	return proto.Clone(conf).(*raftpb.ConfState)
}
