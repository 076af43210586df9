package ledger

import (
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
)

// receive gives raft a message of another replica.
func (c *Core) receive(ev Receive) {
	m, err := c.unseal(ev.From, ev.Data)
	if err == nil {
		err = c.check(m)
	}
	if err == nil && m.GetType() == raftpb.MsgSnap {
		err = errors.New("a snapshot comes behind its rows")
	}
	switch {
	case errors.Is(err, errStale) || errors.Is(err, errLost):
		c.halt(err)
	case err != nil:
		c.reject(ev.From, err)
	case c.node != nil:
		c.step(m)
	}
}

func (c *Core) reject(from uint64, err error) {
	c.emit(Reject{From: from, Err: fmt.Errorf("ledger: a message of replica %x: %w", from, err)})
}

// step gives raft a message that was checked.
func (c *Core) step(m *raftpb.Message) {
	c.stir(m)
	switch m.GetType() {
	case raftpb.MsgApp, raftpb.MsgHeartbeat, raftpb.MsgSnap:
		if m.GetTerm() >= c.node.BasicStatus().GetTerm() {
			c.hear(m.GetFrom(), m.GetTerm())
		}
	case raftpb.MsgAppResp, raftpb.MsgHeartbeatResp:
		known := c.votes(m.GetFrom()) || slices.Contains(c.conf.GetLearners(), m.GetFrom())
		if c.lead != nil && m.GetTerm() == c.lead.term && known {
			c.lead.contact[m.GetFrom()] = c.now
		}
	}
	_ = c.node.Step(m) // fails only for answers of a replica that is none any more
	if m.GetType() == raftpb.MsgVote && c.node.BasicStatus().GetVote() == m.GetFrom() {
		c.yield()
	}
}

// votes reports whether a replica votes, before or after a change that is under way.
func (c *Core) votes(id uint64) bool {
	return slices.Contains(c.conf.GetVoters(), id) || slices.Contains(c.conf.GetVotersOutgoing(), id)
}

// voters returns all that vote, in ascending order.
func (c *Core) voters() []uint64 {
	all := slices.Concat(c.conf.GetVoters(), c.conf.GetVotersOutgoing())
	slices.Sort(all)
	return slices.Compact(all)
}

func (c *Core) joint() bool { return len(c.conf.GetVotersOutgoing()) > 0 }
