package view

import (
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
)

// Quorums returns, as this node has applied the decisions up to index, the groups of nodes
// in which a majority has to agree to the next: the voters, and while they change the
// former ones. It is for simulators and tests, which must know when nothing can be
// decided any more.
func (c *Core) Quorums() (index uint64, all [][]phalanx.NodeID) {
	if c.voter == nil {
		return 0, nil
	}
	for _, half := range [][]uint64{c.voter.conf.GetVoters(), c.voter.conf.GetVotersOutgoing()} {
		if len(half) > 0 {
			all = append(all, c.named(half))
		}
	}
	return c.voter.applied, all
}

// Changing returns the voters to which this node wants to change as the leader, or to
// which its log changes without its knowing that this is decided, and for how long; or
// nil. It is for simulators and tests, like Quorums.
func (c *Core) Changing(now time.Duration) (to []phalanx.NodeID, since time.Duration) {
	if c.voter == nil {
		return nil, 0
	}
	if c.lead != nil && c.lead.wanted != nil {
		to, since = c.lead.wanted, now-c.lead.wantedAt
	}
	entries, err := c.voter.log.Entries(c.voter.applied+1, c.voter.last()+1, 1<<20)
	if err != nil {
		return to, since
	}
	for _, e := range entries {
		cc := new(raftpb.ConfChangeV2)
		if !changesVoters(e) || proto.Unmarshal(e.GetData(), cc) != nil {
			continue
		}
		if voters, ok := decodeVoters(cc.GetContext()); ok {
			to, since = voters, now-c.voter.began
		}
	}
	return to, since
}

func changesVoters(e *raftpb.Entry) bool { return e.GetType() == raftpb.EntryConfChangeV2 }

// named returns the nodes of raft's names; a forgotten node is "".
func (c *Core) named(ids []uint64) []phalanx.NodeID {
	all := make([]phalanx.NodeID, len(ids))
	for i, id := range ids {
		all[i] = c.peers[id]
	}
	return all
}
