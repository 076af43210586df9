package view

import (
	"encoding/json"
	"slices"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/phalanx-go/phalanx"
)

// How many voters there are if the configuration does not say: two of five may
// die at once in a cluster that is large enough for that to happen.
const (
	usualVoters  = 3
	largeVoters  = 5
	largeCluster = 12 // members
)

// wantedVoters returns the oldest members, an odd number of them, without those
// that are about to go.
func (c *Core) wantedVoters() []phalanx.NodeID {
	var staying, pool []phalanx.NodeID
	for _, m := range c.voter.state.View.Members {
		if c.condemned(m.ID) {
			continue
		}
		pool = append(pool, m.ID)
		if !m.Leaving {
			staying = append(staying, m.ID)
		}
	}
	if len(staying) == 0 {
		staying = pool
	}
	most := c.cfg.Voters
	if most == 0 {
		most = usualVoters
		if len(staying) >= largeCluster {
			most = largeVoters
		}
	}
	n := min(len(staying), most)
	if n%2 == 0 && n > 0 {
		n--
	}
	return staying[:n]
}

// steerVoters brings raft's voters nearer to the wanted ones, and reports
// whether it gave raft something to do. A leader that should not vote hands
// over first, so that no change of voters leaves the cluster without a leader.
func (c *Core) steerVoters() bool {
	v := c.voter
	if v.joint() || v.applied < v.last() {
		return false
	}
	want := c.wantedVoters()
	if len(want) == 0 {
		return false
	}
	if !slices.Contains(want, c.cfg.Self.ID) {
		heirs := slices.DeleteFunc(slices.Clone(want), func(id phalanx.NodeID) bool {
			return !slices.Contains(v.conf.GetVoters(), raftID(id))
		})
		if len(heirs) > 0 {
			return c.handOver(heirs)
		}
		want = append([]phalanx.NodeID{c.cfg.Self.ID}, want...)
	}
	cc := changeVoters(v.conf.GetVoters(), want)
	return cc != nil && v.node.ProposeConfChange(cc) == nil
}

// handOver has the first of heirs that was heard lately campaign.
func (c *Core) handOver(heirs []phalanx.NodeID) bool {
	if c.voter.node.BasicStatus().LeadTransferee != 0 {
		return false
	}
	for _, id := range heirs {
		if at, ok := c.lead.contact[raftID(id)]; ok && c.now-at <= c.cfg.LeaseFor {
			c.voter.node.TransferLeader(raftID(id))
			return true
		}
	}
	return false
}

// changeVoters returns the change from have to want, or nil if there is none.
func changeVoters(have []uint64, want []phalanx.NodeID) *raftpb.ConfChangeV2 {
	cc := &raftpb.ConfChangeV2{Context: encode(want)}
	change := func(t raftpb.ConfChangeType, id uint64) {
		cc.Changes = append(cc.Changes, &raftpb.ConfChangeSingle{Type: t.Enum(), NodeId: new(id)})
	}
	for _, id := range want {
		if !slices.Contains(have, raftID(id)) {
			change(raftpb.ConfChangeAddNode, raftID(id))
		}
	}
	for _, id := range have {
		if !slices.ContainsFunc(want, func(w phalanx.NodeID) bool { return raftID(w) == id }) {
			change(raftpb.ConfChangeRemoveNode, id)
		}
	}
	if len(cc.Changes) == 0 {
		return nil
	}
	return cc
}

func decodeVoters(context []byte) (voters []phalanx.NodeID, ok bool) {
	return voters, json.Unmarshal(context, &voters) == nil && len(voters) > 0
}

// makesSense reports whether cc can be applied; raft panics if it cannot.
func (v *voter) makesSense(cc *raftpb.ConfChangeV2) bool {
	if len(cc.GetChanges()) == 0 {
		return v.joint() && cc.GetTransition() == raftpb.ConfChangeTransitionAuto
	}
	if v.joint() || len(v.conf.GetVoters()) == 0 || cc.GetTransition() != raftpb.ConfChangeTransitionAuto {
		return false
	}
	after := slices.Clone(v.conf.GetVoters())
	for _, ch := range cc.GetChanges() {
		switch ch.GetType() {
		case raftpb.ConfChangeAddNode:
			after = append(after, ch.GetNodeId())
		case raftpb.ConfChangeRemoveNode:
			after = slices.DeleteFunc(after, func(id uint64) bool { return id == ch.GetNodeId() })
		default:
			return false
		}
	}
	_, ok := decodeVoters(cc.GetContext())
	return ok && len(after) > 0 && !slices.Contains(after, 0)
}
