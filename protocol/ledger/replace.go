package ledger

import (
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
	"google.golang.org/protobuf/proto"
)

// The leader brings the replicas to those that are wanted. A new one first learns: it gets a
// snapshot or the log, and does not vote. When it has caught up, one change makes it a voter
// and takes the vote of the one that it replaces (a joint change: while it is under way a
// majority of the old and one of the new voters have to agree). If replicas are only added, as
// from one to three, they are added in one change, since two survive no more than one.

// near is by how many entries a learner that has caught up may be behind.
const near = 64

// wantVoters takes up a Want, unless it makes no sense or is old.
func (c *Core) wantVoters(w Want) {
	if len(w.Of) > 0 && !slices.Equal(w.Of, c.voters()) {
		return
	}
	ids := slices.Clone(w.Voters)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) == 0 || len(ids) > maxReplicas || ids[0] == raft.None || raft.IsLocalMsgTarget(ids[0]) || raft.IsLocalMsgTarget(ids[len(ids)-1]) {
		return
	}
	if !slices.Equal(ids, c.want) {
		c.want = ids
		if c.lead != nil {
			c.rouse()
		}
	}
}

// doubtWant forgets what was wanted once the replicas become others than that, by another leader. A leader that went on with it
// would undo what the one before has done, and begin that before its host can tell it what is wanted now: it could wait for
// ever for the vote of a disk that is lost.
func (c *Core) doubtWant(old *raftpb.ConfState) {
	if c.lead != nil && c.lead.began {
		return
	}
	wanted := func(ids, but []uint64) bool { // all of them, or all but some
		return !slices.ContainsFunc(ids, func(id uint64) bool { return !c.wants(id) && !slices.Contains(but, id) })
	}
	dropped := without(slices.Concat(old.GetVoters(), old.GetLearners()), slices.Concat(c.conf.GetVoters(), c.conf.GetLearners()))
	added := len(old.GetVoters()) > 0 && !wanted(c.conf.GetVoters(), old.GetVoters())
	if added || !wanted(c.conf.GetLearners(), nil) || slices.ContainsFunc(dropped, c.wants) {
		c.want = nil
	}
}

func without(all, those []uint64) []uint64 {
	return slices.DeleteFunc(all, func(id uint64) bool { return slices.Contains(those, id) })
}

// wants reports whether a replica is wanted.
func (c *Core) wants(id uint64) bool { return slices.Contains(c.want, id) }

// stays reports whether a replica votes, and still will when a change that is under way has ended.
func (c *Core) stays(id uint64) bool { return slices.Contains(c.conf.GetVoters(), id) }

// steerGroup begins the next change of the replicas, and reports whether it gave raft a proposal.
func (c *Core) steerGroup() bool {
	l := c.lead
	if !l.began || l.ended || l.handing || c.applied.index < l.proposed {
		return false
	}
	if c.log.end() < l.settles {
		return c.node.Propose(nil) == nil
	}
	cc := c.nextChange()
	if cc == nil {
		return false
	}
	at := c.log.end() + 1
	if c.node.ProposeConfChange(cc) != nil {
		return false
	}
	l.proposed = at
	return true
}

// nextChange returns the change that brings the replicas nearer to those that are wanted, if it
// can be made now.
func (c *Core) nextChange() *raftpb.ConfChangeV2 {
	if len(c.want) == 0 {
		return nil
	}
	for _, id := range c.conf.GetLearners() {
		if !c.wants(id) {
			return learn(raftpb.ConfChangeRemoveNode, id)
		}
	}
	var add, remove []uint64
	for _, id := range c.want {
		if !c.stays(id) {
			add = append(add, id)
		}
	}
	heir := false
	for _, id := range c.conf.GetVoters() {
		if !c.wants(id) {
			remove = append(remove, id)
		} else if id != c.id && c.caughtUp([]uint64{id}) {
			heir = true
		}
	}
	if !c.wants(c.id) {
		if heir {
			c.handOver("its disk is replaced")
			return nil
		}
		// Some wanted replica has to vote, and to have caught up, before this one can go.
		remove = slices.DeleteFunc(remove, func(id uint64) bool { return id == c.id })
	}
	if len(add) > 0 && len(remove) > 0 {
		add, remove = add[:1], remove[:1]
	}
	for _, id := range add {
		if !slices.Contains(c.conf.GetLearners(), id) {
			return learn(raftpb.ConfChangeAddLearnerNode, id)
		}
	}
	if len(add)+len(remove) == 0 || !c.caughtUp(add) || !c.mostAnswer(add, remove) {
		return nil
	}
	var all []*raftpb.ConfChangeSingle
	for _, id := range add {
		all = append(all, single(raftpb.ConfChangeAddNode, id))
	}
	for _, id := range remove {
		all = append(all, single(raftpb.ConfChangeRemoveNode, id))
	}
	return vote(all...)
}

func single(kind raftpb.ConfChangeType, id uint64) *raftpb.ConfChangeSingle {
	return &raftpb.ConfChangeSingle{Type: kind.Enum(), NodeId: new(id)}
}

// learn returns a change of the learners.
func learn(kind raftpb.ConfChangeType, id uint64) *raftpb.ConfChangeV2 {
	return &raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{single(kind, id)}}
}

// vote returns a change of the voters. It is a joint one, which ends by itself, even if only one
// voter comes or goes: see steer.
func vote(all ...*raftpb.ConfChangeSingle) *raftpb.ConfChangeV2 {
	return &raftpb.ConfChangeV2{Transition: raftpb.ConfChangeTransitionJointImplicit.Enum(), Changes: all}
}

// caughtUp reports whether replicas have nearly the whole log, and were heard lately.
func (c *Core) caughtUp(ids []uint64) bool {
	ready := 0
	c.node.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		if slices.Contains(ids, id) && p.State == tracker.StateReplicate && p.Match+near >= c.log.end() && c.recent(id) {
			ready++
		}
	})
	return ready == len(ids)
}

// mostAnswer reports whether most of the voters after a change were heard lately. A leader that
// began a change without them could commit nothing more if they are gone.
func (c *Core) mostAnswer(add, remove []uint64) bool {
	after, answer := 0, 0
	for _, id := range slices.Concat(c.conf.GetVoters(), add) {
		if slices.Contains(remove, id) {
			continue
		}
		after++
		if c.recent(id) {
			answer++
		}
	}
	return 2*answer > after
}

// change applies an entry that changes the replicas. All replicas skip one that makes no sense.
func (c *Core) change(e *raftpb.Entry) {
	cc := new(raftpb.ConfChangeV2)
	if proto.Unmarshal(e.GetData(), cc) != nil || !c.makesSense(cc) {
		return
	}
	old := c.conf
	c.conf = c.node.ApplyConfChange(cc)
	c.doubtWant(old)
	c.disk.next.Conf = clone(c.conf)
	if c.lead != nil {
		c.lead.settles = c.log.end() + 1
		if c.alone() && len(c.lead.reads.asked) > 0 {
			c.beginRound()
		}
	}
}

// makesSense reports whether cc can be applied; raft panics if it cannot.
func (c *Core) makesSense(cc *raftpb.ConfChangeV2) bool {
	joins := cc.GetTransition() == raftpb.ConfChangeTransitionJointImplicit
	if !joins && cc.GetTransition() != raftpb.ConfChangeTransitionAuto || len(cc.GetChanges()) > maxReplicas {
		return false
	}
	if len(cc.GetChanges()) == 0 {
		return c.joint() && !joins
	}
	if c.joint() || len(c.conf.GetVoters()) == 0 {
		return false
	}
	voters := slices.Clone(c.conf.GetVoters())
	var seen []uint64
	for _, ch := range cc.GetChanges() {
		id := ch.GetNodeId()
		if id == raft.None || raft.IsLocalMsgTarget(id) || slices.Contains(seen, id) {
			return false
		}
		seen = append(seen, id)
		votes := slices.Contains(voters, id)
		switch ch.GetType() {
		case raftpb.ConfChangeAddNode:
			if votes {
				return false
			}
			voters = append(voters, id)
		case raftpb.ConfChangeAddLearnerNode:
			if votes {
				return false
			}
		case raftpb.ConfChangeRemoveNode:
			voters = slices.DeleteFunc(voters, func(v uint64) bool { return v == id })
		default:
			return false
		}
	}
	return len(voters) > 0 && len(voters) <= maxReplicas
}

// sayGroup tells the host which replicas there are, if that is news.
//
// A change is settled when an entry is committed that was proposed after the change was applied.
// The voters that acknowledged that entry got with it that the change is committed, and their
// disks have both: none of them will ever ask a former voter for its vote again. An entry that
// only comes after the change in the log does not do: the voters may have got it before.
func (c *Core) sayGroup() {
	l := c.lead
	if !l.began || l.ended {
		return
	}
	g := Group{
		Voters: c.voters(), Learners: slices.Sorted(slices.Values(c.conf.GetLearners())),
		Settled: !c.joint() && c.applied.index >= l.settles,
	}
	if !slices.Equal(g.Voters, l.group.Voters) || !slices.Equal(g.Learners, l.group.Learners) || g.Settled != l.group.Settled {
		l.group = g
		c.emit(g)
	}
}
