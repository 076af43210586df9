package ledger

import (
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// disk is what this replica's disk was asked to do. One Write is under way at a time; what
// comes meanwhile goes into the next one.
type disk struct {
	number  uint64 // of the last Write
	busy    *order // under way; nil: none
	next    order  // what the next Write will have
	visible uint64 // the disk has the rows of all entries up to it
	failed  bool   // for ever
}

// order is a Write with what depends on it.
type order struct {
	Write
	after []*raftpb.Message // messages to others or to raft itself that wait until it is written
	since time.Duration     // when it was given to the host
}

func (o *order) empty() bool {
	return o.Install == nil && o.Applied == 0 && len(o.Entries) == 0 && o.Hard == nil && o.Compact == 0
}

// note takes up what raft wants written, and the messages that promise it: votes and
// acknowledgements of entries.
func (c *Core) note(m *raftpb.Message) {
	w := &c.disk.next
	if s := m.GetSnapshot(); !raft.IsEmptySnap(s) {
		c.install(s)
	}
	if entries := m.GetEntries(); len(entries) > 0 {
		keep := len(w.Entries)
		if keep > 0 { // a new leader may replace entries that were never handed out
			first := w.Entries[0].GetIndex()
			keep = int(min(max(entries[0].GetIndex(), first)-first, uint64(keep)))
		}
		w.Entries = append(slices.Clip(w.Entries[:keep]), entries...)
		w.Sync = true
		c.log.put(entries)
	}
	if m.Vote != nil { // then raft's hard state has changed
		old := c.log.hard
		w.Hard = &raftpb.HardState{Term: new(m.GetTerm()), Vote: new(m.GetVote()), Commit: new(m.GetCommit())}
		// What is committed can be learned again from others; a vote cannot.
		w.Sync = w.Sync || m.GetTerm() != old.GetTerm() || m.GetVote() != old.GetVote()
		c.log.hard = w.Hard
	}
	for _, r := range m.GetResponses() {
		w.await(r)
	}
}

// await has a message wait until the Write is done. Of several of a kind to the same replica the
// last says all, so that a disk that does not answer keeps only a few.
func (o *order) await(m *raftpb.Message) {
	o.after = slices.DeleteFunc(o.after, func(old *raftpb.Message) bool {
		return old.GetType() == m.GetType() && old.GetTo() == m.GetTo() && raft.IsEmptySnap(old.GetSnapshot())
	})
	o.after = append(o.after, m)
}

// persist gives the host the next Write, if none is under way, and reports whether raft got
// something to do instead: without a Write nothing has to be waited for.
func (c *Core) persist() bool {
	d := &c.disk
	if d.busy != nil || d.failed {
		return false
	}
	if d.next.empty() {
		after := d.next.after
		d.next.after = nil
		c.release(after)
		return len(after) > 0
	}
	d.number++
	busy := d.next
	busy.Number, busy.since = d.number, c.now
	d.busy, d.next = &busy, order{}
	c.emit(Persist{Write: busy.Write})
	if c.applied.index > 0 {
		c.log.last = shot{at: c.applied, conf: c.conf}
	}
	return false
}

// written carries out what waited for the Write that was under way.
func (c *Core) written(number uint64) {
	d := &c.disk
	if d.busy == nil || d.busy.Number != number || d.failed {
		return // for instance a host that answers twice
	}
	busy := d.busy
	d.busy = nil
	if busy.Install != nil {
		d.visible = max(d.visible, busy.Install.Index)
	}
	d.visible = max(d.visible, busy.Applied)
	c.release(busy.after)
}

// release sends messages whose promises are kept. What a raft that was dropped told itself is lost.
func (c *Core) release(after []*raftpb.Message) {
	for _, m := range after {
		switch {
		case m.GetTo() != c.id:
			c.post(m)
		case c.node != nil:
			_ = c.node.Step(m) // fails only for an acknowledgement of this replica that votes no more
		}
	}
}

// late reports whether the disk does not answer.
func (c *Core) late() bool {
	return c.disk.busy != nil && c.now-c.disk.busy.since >= c.cfg.LateAfter
}
