package view

import (
	"encoding/json"
	"math"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/phalanx-go/phalanx"
)

// How many voters there are if the configuration does not say: two of five may
// die at once in a cluster that is large enough for that to happen.
const (
	usualVoters  = 3
	largeVoters  = 5
	largeCluster = 7 // members
)

// wantedVoters returns the oldest members, an odd number of them, without members
// that are about to go.
func (c *Core) wantedVoters() []phalanx.NodeID {
	members := c.voter.state.View.Members
	staying := make([]phalanx.NodeID, 0, len(members))
	for _, leaving := range []bool{false, true} { // those that leave only if no other stays
		for _, m := range members {
			if m.Leaving == leaving && !c.condemned(m.ID) {
				staying = append(staying, m.ID)
			}
		}
		if len(staying) > 0 {
			break
		}
	}
	return staying[:voterCount(len(staying), c.cfg.Voters)]
}

// voterCount returns how many of so many members are to vote, an odd number: most, if
// that is not 0.
func voterCount(members, most int) int {
	if most == 0 {
		most = usualVoters
		if members >= largeCluster {
			most = largeVoters
		}
	}
	n := min(members, most)
	if n%2 == 0 && n > 0 {
		n--
	}
	return n
}

// Redundant reports whether as many members vote as are wanted, at most so many as in
// Config.Voters, and every shard has a backup: with three voters the cluster survives the
// death of one then, if the members of the view live, which a view does not tell.
func (v View) Redundant(voters int) bool {
	stay, vote := 0, 0
	for _, m := range v.Members {
		if !m.Leaving {
			stay++
			if slices.Contains(v.Voters, m.ID) {
				vote++
			}
		}
	}
	return vote >= voterCount(stay, voters) && (stay < 2 || v.Bare() == 0)
}

// Bare returns how many shards have no backup.
func (v View) Bare() int {
	n := 0
	for _, s := range v.Shards {
		if s.Backup == "" {
			n++
		}
	}
	return n
}

// Critical returns the voters, then the members that own a shard or back one up: at most most
// of them, each once.
func (v View) Critical(most int) []phalanx.NodeID {
	out := slices.Clone(v.Voters)
	add := func(n phalanx.NodeID) {
		if n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	for _, s := range v.Shards {
		add(s.Owner)
		add(s.Backup)
	}
	return out[:min(len(out), most)]
}

// steerVoters brings raft's voters nearer to the wanted ones, the view's to raft's, and
// reports whether it gave raft something to do. A leader that should not vote hands
// over first, so that no change of voters leaves the cluster without a leader.
func (c *Core) steerVoters() bool {
	v := c.voter
	if v.joint() || v.applied < v.last() {
		return false
	}
	if s := (seat{c.seated()}); len(s.Voters) > 0 && !s.settled(v.state.View) {
		return v.node.Propose(EncodeCommand(s)) == nil
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
		want = c.withSelf(want)
	}
	cc := changeVoters(v.conf.GetVoters(), want)
	if cc == nil {
		c.lead.wanted = nil
		return false
	}
	if !slices.Equal(c.lead.wanted, want) {
		c.lead.wanted, c.lead.wantedAt = want, c.now
		c.askVoters()
		for _, id := range want {
			if id != c.cfg.Self.ID && !v.votes(raftID(id)) {
				c.push(id) // which it answers
			}
		}
		return true
	}
	return c.majority() >= c.lead.wantedAt && c.mostAnswer(want) && v.node.ProposeConfChange(cc) == nil
}

// withSelf returns the voters for as long as this node still leads, which wants to hand over to
// one of want: an odd number, since an even one survives no more deaths than one less. Of only two
// voters none could die: this node goes soon, and may end before it has handed over. So a third
// member votes with them, if there is one, best one that stays.
func (c *Core) withSelf(want []phalanx.NodeID) []phalanx.NodeID {
	out := append([]phalanx.NodeID{c.cfg.Self.ID}, want...)
	if len(want) > 1 {
		return out[:len(out)-1]
	}
	for _, leaves := range []bool{false, true} {
		for _, m := range c.voter.state.View.Members {
			if m.Leaving == leaves && !slices.Contains(out, m.ID) && !c.condemned(m.ID) {
				return append(out, m.ID)
			}
		}
	}
	return out
}

// seated returns the members that vote, in joining order.
func (c *Core) seated() []phalanx.NodeID {
	ids := make([]phalanx.NodeID, 0, largeVoters)
	for _, m := range c.voter.state.View.Members {
		if slices.Contains(c.voter.conf.GetVoters(), raftID(m.ID)) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// mostAnswer reports whether a majority of the wanted voters was heard since they are wanted. No
// node can take back a change of the voters that a majority has, and from then on a majority of the
// old ones and one of the new ones have to agree. If the leader began one while it hears no voter,
// the wanted ones could die before any has agreed, and nothing could be decided any more although
// most of the old ones live.
func (c *Core) mostAnswer(want []phalanx.NodeID) bool {
	answer := 0
	fresh := max(c.lead.wantedAt, c.woke+c.cfg.HeartbeatEvery) // first this node hears the messages that came while it hung
	for _, id := range want {
		voted, votes := c.lead.contact[raftID(id)]
		said, says := c.lead.heard[id]
		if id == c.cfg.Self.ID || votes && voted >= c.lead.wantedAt || says && said >= fresh {
			answer++
		}
	}
	return answer > len(want)/2
}

// takeBack has a leader that has begun a change of the voters, and has heard no majority for
// SilentAfter, drop the change from its log and lead no more. Its messages may all have been
// lost, and the wanted voters may die before they go through. If an old voter then came back and
// the leader kept the change, both would decide it, and would need the dead for all that follows.
//
// The leader has not decided the change, and no other node can decide an entry of the leader's
// term. It never leads that term again: it keeps the term and its own vote. A voter that has the
// change may still win a later term and decide it there.
func (c *Core) takeBack() {
	v := c.voter
	if c.lead == nil || v.joint() || c.now-max(v.began, c.majority()) < c.cfg.SilentAfter {
		return
	}
	at := v.change(c.lead.term)
	if at == 0 {
		return
	}
	v.cut(at)
	v.node, v.booted = c.newRaft(v.log, v.applied), false
	c.leader = ""
	c.emit(Lead{Term: c.lead.term})
	c.observe()
}

// change returns the first entry of term that begins a change of the voters and is not decided
// as far as this node knows, or 0.
func (v *voter) change(term uint64) uint64 {
	entries, err := v.log.Entries(v.applied+1, v.last()+1, math.MaxUint64)
	must(err)
	for _, e := range entries {
		if e.GetTerm() == term && changesVoters(e) {
			return e.GetIndex()
		}
	}
	return 0
}

// cut drops the entries from index on, which are not decided.
func (v *voter) cut(index uint64) {
	snapshot, err := v.log.Snapshot()
	must(err)
	hard, _, err := v.log.InitialState()
	must(err)
	log := raft.NewMemoryStorage()
	must(log.ApplySnapshot(snapshot))
	must(log.SetHardState(hard))
	if first := snapshot.GetMetadata().GetIndex() + 1; first < index {
		entries, err := v.log.Entries(first, index, math.MaxUint64)
		must(err)
		must(log.Append(entries))
	}
	v.log = log
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
	cc := &raftpb.ConfChangeV2{}
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
	cc.Context = encode(want)
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
