package ledger

import (
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
)

// A group in which nothing happens sleeps (docs/adr/0026). The leader has it sleep when all replicas
// have the whole log, know that it is committed, and nothing is asked for Config.SleepAfter. Then its
// heartbeats are rare and say so, by the place where the log ends. A follower that has the same log
// sleeps too: it waits longer for the next heartbeat until it begins an election.
//
// An event of its host wakes a leader, and so does any message but an answer to a heartbeat; all that
// it sends wakes its followers. A follower is woken by its host (Wake, Left), or by another one that
// campaigns, and then wakes the leader. A sleeping leader that one replica does not answer wakes by
// itself, and finds out whether a majority follows still.

// rouse ends the sleep. The leader has a heartbeat leave in this Step.
func (c *Core) rouse() {
	slept := c.asleep
	c.asleep = false
	switch {
	case c.lead != nil:
		c.lead.stirred = c.now
		if slept {
			c.lead.beat = c.now - c.cfg.HeartbeatEvery
			for id := range c.lead.contact { // all have answered the last heartbeat but one
				c.lead.contact[id] = c.now
			}
		}
	case slept && c.node != nil:
		c.heard = c.now
		if c.leader != raft.None && c.leader != c.id {
			c.post(&raftpb.Message{Type: raftpb.MsgHeartbeatResp.Enum(), From: new(c.id), To: new(c.leader), Term: new(c.term), LogTerm: new(c.term)})
		}
	}
}

// beatEvery returns how often the leader sends heartbeats.
func (c *Core) beatEvery() time.Duration {
	if c.asleep {
		return c.cfg.SleepEvery
	}
	return c.cfg.HeartbeatEvery
}

// restOrRouse has the leader decide, before it sends a heartbeat, whether the group sleeps.
func (c *Core) restOrRouse() {
	switch l := c.lead; {
	case !c.asleep:
		c.asleep = c.rests()
	case slices.ContainsFunc(c.voters(), func(id uint64) bool { return id != c.id && l.contact[id] < l.beat }):
		c.rouse()
	}
}

// rests reports whether nothing remains to be done.
func (c *Core) rests() bool {
	l := c.lead
	switch {
	case !l.began || l.ended || l.handing || c.now-l.stirred < c.cfg.SleepAfter:
	case len(l.appends.queue)+len(l.appends.flight)+l.reads.len() > 0:
	case c.disk.busy != nil || c.disk.failed || !c.disk.next.empty():
	case c.joint() || len(c.conf.GetLearners()) > 0 || len(c.want) > 0 && !slices.Equal(c.want, c.voters()):
	case c.applied.index < max(c.log.end(), l.settles):
	default:
		whole := true
		c.node.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
			whole = whole && p.Match == c.log.end() && c.recent(id)
		})
		return whole
	}
	return false
}

// mark has a heartbeat of a sleeping leader say where the log ends, which is all committed.
func (c *Core) mark(m *raftpb.Message) {
	if c.lead != nil && c.asleep && m.GetType() == raftpb.MsgHeartbeat {
		m.Index, m.LogTerm = new(c.log.end()), new(c.lead.term)
	}
}

// stir takes up whether a message ends the sleep, or begins it.
func (c *Core) stir(m *raftpb.Message) {
	switch m.GetType() {
	case raftpb.MsgHeartbeat:
		if m.GetTerm() >= c.node.BasicStatus().GetTerm() && !c.gone(m.GetFrom(), m.GetTerm()) {
			c.asleep = c.lead == nil && m.GetLogTerm() != 0 && c.hasAll(m)
		}
	case raftpb.MsgApp, raftpb.MsgSnap:
		if m.GetTerm() >= c.node.BasicStatus().GetTerm() {
			c.asleep = false
		}
	case raftpb.MsgHeartbeatResp, raftpb.MsgAppResp:
		if c.lead == nil || m.GetTerm() != c.lead.term || m.GetReject() || m.GetType() == raftpb.MsgHeartbeatResp && m.GetLogTerm() != 0 {
			c.rouse()
		}
	default:
		c.rouse()
	}
}

// hasAll reports whether this replica has the whole log of the leader that sent a heartbeat.
func (c *Core) hasAll(m *raftpb.Message) bool {
	term, err := c.log.Term(c.log.end())
	return err == nil && c.log.end() == m.GetIndex() && term == m.GetLogTerm() && m.GetCommit() == m.GetIndex()
}
