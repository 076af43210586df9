package ledger

import (
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/tracker"
)

// compact makes the log shorter when it has become longer than Config allows: to half of that.
// The disk keeps the last entry of which it has the rows, since that tells its term.
//
// Replicas that need what is gone get a snapshot. While one streams, the leader keeps what comes
// behind it, up to Config.StreamBytes: else the replica would be too far behind again.
func (c *Core) compact() {
	l := c.log
	if len(l.entries) <= c.cfg.LogEntries && l.bytes <= c.cfg.LogBytes {
		return
	}
	last := l.last.at.index // not applied: the disk may not have these rows yet
	if c.lead != nil && l.bytes <= c.cfg.StreamBytes {
		c.endStreams()
		for _, index := range c.lead.streams {
			last = min(last, index)
		}
	}
	at, bytes := l.base.index, l.bytes
	for at+1 < last && (int(l.end()-at) > c.cfg.LogEntries/2 || bytes > c.cfg.LogBytes/2) {
		bytes -= weight(l.entries[at-l.base.index])
		at++
	}
	if at > l.base.index {
		l.compact(at)
		c.disk.next.Compact = at
	}
}

// endStreams forgets the streams of replicas that have caught up, or are none any more.
func (c *Core) endStreams() {
	match := map[uint64]uint64{}
	c.node.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) { match[id] = p.Match })
	for to, index := range c.lead.streams {
		if has, ok := match[to]; !ok || has >= index {
			delete(c.lead.streams, to)
		}
	}
}
