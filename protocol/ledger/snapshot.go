package ledger

import (
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// A replica whose log ends before the leader's begins gets the rows of the leader's disk, as a
// stream that the hosts carry. Raft's message only names the place in the log to which the rows
// belong, and comes behind them.

// sendSnapshot asks the host for the rows that m names.
func (c *Core) sendSnapshot(m *raftpb.Message) {
	to, index := m.GetTo(), m.GetSnapshot().GetMetadata().GetIndex()
	if c.lead != nil {
		c.lead.streams[to] = index
	}
	c.emit(SendSnapshot{To: to, Index: index, Data: c.seal(m)})
}

// snapshotSent is told how a SendSnapshot ended. Raft looks again what the replica has.
func (c *Core) snapshotSent(to uint64, how raft.SnapshotStatus) {
	if c.lead == nil || c.node == nil {
		return
	}
	if how == raft.SnapshotFailure {
		delete(c.lead.streams, to)
	}
	c.node.ReportSnapshot(to, how)
}

// snapshotArrived gives raft a snapshot, of which the host has the rows.
func (c *Core) snapshotArrived(ev SnapshotArrived) {
	c.stream = ev.Stream
	m, err := c.unseal(ev.From, ev.Data)
	if err == nil {
		err = c.check(m)
	}
	if err == nil && m.GetType() != raftpb.MsgSnap {
		err = fmt.Errorf("it is a %v and no snapshot", m.GetType())
	}
	taken := false
	switch {
	case err == errStale:
		c.halt(err)
	case err != nil:
		c.reject(ev.From, err)
	case c.node != nil:
		before := c.disk.next.Install
		c.step(m)
		c.ready()
		taken = c.disk.next.Install != before
	}
	if !taken {
		c.emit(DropStream{Stream: ev.Stream})
	}
}

// install has the next Write replace all rows and the log.
func (c *Core) install(s *raftpb.Snapshot) {
	meta := s.GetMetadata()
	w := &c.disk.next
	if w.Install != nil {
		c.emit(DropStream{Stream: w.Install.Stream})
	}
	c.applied = mark{meta.GetIndex(), meta.GetTerm()}
	old := c.conf
	c.conf = clone(meta.GetConfState())
	c.doubtWant(old)
	w.Install = &Install{Index: c.applied.index, Term: c.applied.term, Conf: clone(c.conf), Stream: c.stream}
	w.Rows, w.Applied, w.Conf, w.Entries, w.Compact = nil, 0, nil, nil, 0
	w.Sync = true
	c.log.restart(c.applied)
}
