package view

import (
	"bytes"
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/tracker"

	"github.com/phalanx-go/phalanx"
)

// leading is the state that only the leader of a term has.
type leading struct {
	term    uint64
	since   time.Duration // leases of older leaders end LeaseFor later at the latest
	beat    time.Duration // the last heartbeat to the voters
	contact map[uint64]time.Duration
	acked   map[phalanx.NodeID]uint64        // the newest view that a member has
	pushed  map[phalanx.NodeID]time.Duration // when it was last sent the newest
	heard   map[phalanx.NodeID]time.Duration
	leases  map[phalanx.NodeID]time.Duration // no lease that this leader gave ends later
	pending map[phalanx.NodeID]pending       // heartbeats that wait for a majority
	stirred time.Duration                    // when something was last decided
	held    []held

	reminded time.Duration // when the missing were last told that there is a later view

	wanted   []phalanx.NodeID // the voters to which is to be changed; nil: the present ones
	wantedAt time.Duration    // since when
}

// held is a command that is not decided yet. It is proposed when that is safe,
// and must stay safe until it is applied.
type held struct {
	cmd      Command
	since    time.Duration // a node asks for it
	heard    time.Duration // when a node last asked for it
	proposed bool
}

// observe notes the leader and whether that is this node.
func (c *Core) observe() {
	status := c.voter.node.BasicStatus()
	term := status.GetTerm()
	if status.Lead != raft.None {
		c.follow(c.peers[status.Lead], term)
		if term > c.election.term {
			c.election.on = false
		}
	} else if term > c.term && c.leader != "" && c.canStand() {
		c.leader = ""
		c.emit(Lead{Term: term})
	}
	if status.RaftState != raft.StateLeader {
		if c.lead != nil { // it cannot have heard the next leader yet
			c.lead = nil
			c.hearLeader()
		}
		return
	}
	if c.lead != nil && c.lead.term == term {
		return
	}
	c.lead = &leading{
		term: term, since: c.now, beat: never, reminded: never,
		contact: map[uint64]time.Duration{},
		acked:   map[phalanx.NodeID]uint64{},
		pushed:  map[phalanx.NodeID]time.Duration{},
		heard:   map[phalanx.NodeID]time.Duration{},
		leases:  map[phalanx.NodeID]time.Duration{},
		pending: map[phalanx.NodeID]pending{},
		stirred: c.now,
	}
	if c.voter.booted {
		c.lead.since, c.voter.booted = never, false // there was no leader before
	}
	c.pushAll(View{})
	c.tickLeader()
	for _, p := range c.own {
		c.offer(p.cmd)
	}
}

func (c *Core) tickLeader() {
	if c.now-c.lead.beat >= c.voterEvery() {
		c.askVoters()
	}
	c.remindMissing()
	for _, m := range c.view.Members {
		if at, ok := c.lead.pushed[m.ID]; m.ID != c.cfg.Self.ID && c.lead.acked[m.ID] < c.view.Number &&
			(!ok || c.now-at >= c.cfg.HeartbeatEvery) {
			c.push(m.ID)
		}
	}
}

// askVoters sends the voters a heartbeat. A leader with many requests does so for these, and may
// never be late by its timer.
func (c *Core) askVoters() {
	c.freeSnapshots()
	c.seek()
	c.lead.beat = c.now
	c.voter.node.Tick()
}

// freeSnapshots has raft send a snapshot again, which it would not do before it
// is told that the first was lost.
func (c *Core) freeSnapshots() {
	var waiting []uint64
	c.voter.node.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		if p.State == tracker.StateSnapshot {
			waiting = append(waiting, id)
		}
	})
	for _, id := range waiting {
		c.voter.node.ReportSnapshot(id, raft.SnapshotFailure)
	}
}

// offer takes a command that a node wants decided. Steer proposes it.
func (c *Core) offer(cmd Command) {
	if v := c.voter.state.View; c.voter.state.removes(cmd) == c.cfg.Self.ID {
		// No node can remove the leader, so it hands over first. All have to know that it
		// wants to, or the next leader could hand back.
		cmd = Leaving{Node: c.cfg.Self.ID}
		if len(v.Members) == 1 {
			return
		}
	}
	if c.voter.state.void(cmd) {
		return
	}
	data := EncodeCommand(cmd)
	i := slices.IndexFunc(c.lead.held, func(h held) bool { return bytes.Equal(EncodeCommand(h.cmd), data) })
	if i < 0 {
		i = len(c.lead.held)
		c.lead.held = append(c.lead.held, held{cmd: cmd, since: c.now})
		if _, dead := buried(cmd); dead {
			c.askVoters() // see buries
		}
	}
	c.lead.held[i].heard = c.now
}

// steer gives raft the next proposal, and reports whether there was one. While the voters
// change there is none: former voters could have it, and the voters not. The voters may not
// know yet that the change has ended, and would ask the former voters, whose logs are
// longer, in vain for their votes, for ever.
func (c *Core) steer() bool {
	v := c.voter
	current := v.current(c.lead.term)
	if current {
		c.lead.held = slices.DeleteFunc(c.lead.held, func(h held) bool {
			return v.state.void(h.cmd) || !h.proposed && c.lapses(h.cmd) && c.now-h.heard >= c.cfg.SilentAfter
		})
	}
	if v.joint() {
		return false
	}
	for i := range c.lead.held {
		h := &c.lead.held[i]
		if !h.proposed && (c.buries(*h) || current && c.due(h.cmd)) && v.node.Propose(EncodeCommand(h.cmd)) == nil {
			h.proposed = true
			return true
		}
	}
	return current && c.steerVoters()
}

// buries reports whether h removes a node whose process is known to be gone: it neither votes
// nor answers, whatever is decided before it is removed. If it votes, the voters that stay have
// to be a majority, and to follow since it is to be removed. A firewall that refuses connections
// makes living nodes look gone: they would vote for their removals, and no majority of the
// voters would be left.
func (c *Core) buries(h held) bool {
	node, dead := buried(h.cmd)
	return dead && (!c.voter.votes(raftID(node)) || c.majorityOf(c.remains) >= h.since)
}

// remains reports whether a voter is a member that no node wants removed.
func (c *Core) remains(id uint64) bool {
	return slices.ContainsFunc(c.voter.state.View.Members, func(m Member) bool { return raftID(m.ID) == id && !c.condemned(m.ID) })
}

// buried returns the node that cmd removes, if its process is said to be gone.
func buried(cmd Command) (phalanx.NodeID, bool) {
	remove, ok := cmd.(RemoveMember)
	return remove.Node, ok && remove.Dead
}

// due reports whether cmd may be proposed. A removed node must vote no more:
// the change of voters may need its vote. And a silent owner may still answer
// for its shards until its lease ends; an unapplied decision could make it one.
func (c *Core) due(cmd Command) bool {
	if id := c.voter.state.removes(cmd); id != "" {
		settled := c.voter.applied == c.voter.last()
		return settled && !c.voter.votes(raftID(id)) && c.leaseEnded(id)
	}
	if drop, ok := cmd.(Drop); ok && drop.counts(c.voter.state.View) && c.voter.state.View.Shards[drop.Shard].Owner == drop.Node {
		return !c.silent(drop.Node) || c.leaseEnded(drop.Node)
	}
	return true
}

// condemned reports whether node is to be removed, and gets no more leases.
func (c *Core) condemned(node phalanx.NodeID) bool {
	return slices.ContainsFunc(c.lead.held, func(h held) bool { return c.voter.state.removes(h.cmd) == node })
}

// leaseEnded reports whether node cannot answer for any shard, unless it is
// given another lease.
func (c *Core) leaseEnded(node phalanx.NodeID) bool {
	owns := slices.ContainsFunc(c.voter.state.View.Shards, func(s Shard) bool { return s.Owner == node })
	return !owns || c.now >= c.lead.leases[node] && c.now-c.lead.since >= c.cfg.LeaseFor
}

// silent reports whether node missed two heartbeats, so that it may not learn
// decisions at once.
func (c *Core) silent(node phalanx.NodeID) bool {
	at, ok := c.lead.heard[node]
	return node != c.cfg.Self.ID && (!ok || c.now-at > 2*c.cfg.HeartbeatEvery)
}

// pushAll sends the view to all members, and to former members that old still
// has.
func (c *Core) pushAll(old View) {
	clear(c.lead.pushed)
	for _, m := range c.view.Members {
		if m.ID != c.cfg.Self.ID {
			c.push(m.ID)
		}
	}
	for _, m := range old.Members {
		if !c.view.Has(m.ID) && m.ID != c.cfg.Self.ID {
			c.push(m.ID)
			delete(c.lead.acked, m.ID)
			delete(c.lead.pushed, m.ID)
			delete(c.lead.heard, m.ID)
			delete(c.lead.leases, m.ID)
			delete(c.lead.pending, m.ID)
		}
	}
}

func (c *Core) push(to phalanx.NodeID) {
	if c.view.Number == 0 {
		return
	}
	term := uint64(0)
	if c.lead != nil {
		term, c.lead.pushed[to] = c.lead.term, c.now
	}
	c.emit(Push{To: to, Term: term, View: c.view})
}
