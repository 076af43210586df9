package view

import (
	"fmt"
	"math"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
)

// transferTicks is after how many heartbeats a leader gives up handing over.
const transferTicks = 10

// newVoter returns a voter with an empty log, which learns the rest from the
// leader.
func (c *Core) newVoter(log *raft.MemoryStorage) *voter {
	return &voter{node: c.newRaft(log, 0), log: log, conf: &raftpb.ConfState{}}
}

// newRaft returns raft as a follower with a log, of which the entries up to applied, or of its
// snapshot, are carried out.
func (c *Core) newRaft(log *raft.MemoryStorage, applied uint64) *raft.RawNode {
	node, err := raft.NewRawNode(&raft.Config{
		ID:                        c.id,
		ElectionTick:              transferTicks,
		HeartbeatTick:             1,
		Storage:                   log,
		Applied:                   applied,
		MaxSizePerMsg:             1 << 20,
		MaxInflightMsgs:           64,
		DisableProposalForwarding: true,
		StepDownOnRemoval:         true,
		Logger:                    quiet{},
	})
	if err != nil {
		panic(err)
	}
	return node
}

// bootVoter makes this node the only voter of a new group, of a new cluster or a new form.
// The log begins with a snapshot, so that all nodes start from the same state.
func (c *Core) bootVoter(first state, term uint64) {
	conf := &raftpb.ConfState{Voters: []uint64{c.id}}
	log := raft.NewMemoryStorage()
	must(log.ApplySnapshot(&raftpb.Snapshot{
		Metadata: &raftpb.SnapshotMetadata{Index: new(uint64(1)), Term: new(term), ConfState: conf},
		Data:     encode(first),
	}))
	must(log.SetHardState(&raftpb.HardState{Term: new(term), Commit: new(uint64(1))}))
	c.voter = c.newVoter(log)
	c.voter.conf, c.voter.state, c.voter.applied = conf, first, 1
}

// stepVoter gives raft a message that from sent.
func (c *Core) stepVoter(from phalanx.NodeID, m *raftpb.Message) error {
	if c.voter == nil {
		c.voter = c.newVoter(raft.NewMemoryStorage())
	}
	v := c.voter
	if slices.Contains(v.state.Gone, from) {
		c.push(from) // it would disturb for ever, so tell it
		return fmt.Errorf("%s was removed", from)
	}
	status := v.node.BasicStatus()
	leads := uint64(0)
	if c.lead != nil {
		leads = c.lead.term
	}
	if err := check(m, raftID(from), c.id, v.last(), leads); err != nil {
		return err
	}
	c.peers[m.GetFrom()] = from
	switch m.GetType() {
	case raftpb.MsgApp, raftpb.MsgHeartbeat, raftpb.MsgSnap:
		if m.GetTerm() >= status.GetTerm() {
			c.hearLeader()
		} else { // an older leader, or a leader against which this node campaigned in vain: it must be elected again
			c.send(&raftpb.Message{Type: raftpb.MsgAppResp.Enum(), From: new(c.id), To: m.From, Term: new(status.GetTerm())})
		}
	case raftpb.MsgHeartbeatResp:
		if at, ok := stamped(m); ok && c.lead != nil && m.GetTerm() == c.lead.term {
			c.lead.contacted(m.GetFrom(), min(at, c.now))
			c.grantAll()
		}
		m.Context = nil // raft would take it for its own
	case raftpb.MsgVote:
		if m.GetTerm() == status.GetTerm() && status.RaftState == raft.StateCandidate {
			c.rival(from)
		}
	}
	_ = v.node.Step(m) // fails only for messages that came too late
	switch m.GetType() {
	case raftpb.MsgVoteResp:
		if m.GetTerm() > status.GetTerm() && status.RaftState == raft.StateCandidate {
			c.outdated()
		}
	case raftpb.MsgVote:
		now := v.node.BasicStatus()
		switch {
		case now.GetVote() == m.GetFrom() && now.GetTerm() == m.GetTerm():
			c.election.yield(c)
		case now.GetTerm() > status.GetTerm() && v.votes(m.GetFrom()): // it is asked for its vote itself
		case now.GetTerm() > m.GetTerm(): // raft says nothing
			c.send(&raftpb.Message{Type: raftpb.MsgVoteResp.Enum(), From: new(c.id), To: m.From, Term: new(now.GetTerm()), Reject: new(true)})
		}
	}
	return nil
}

// heartbeat tells raft the leader, and nothing else.
func (v *voter) heartbeat(from, to, term uint64) {
	_ = v.node.Step(&raftpb.Message{
		Type: raftpb.MsgHeartbeat.Enum(), From: new(from), To: new(to), Term: new(term), Commit: new(uint64(0)),
	})
}

// settle carries out raft's work until there is none left.
func (c *Core) settle() {
	for again := true; again && c.voter != nil && !c.fenced; {
		c.ready()
		if c.fenced {
			return
		}
		c.observe()
		again = c.lead != nil && c.steer()
	}
	if c.lead != nil {
		c.renew()
	}
}

// ready is raft's loop: everything is "persisted" at once, in memory.
func (c *Core) ready() {
	v := c.voter
	for v.node.HasReady() {
		rd := v.node.Ready()
		if !raft.IsEmptySnap(rd.Snapshot) {
			c.restore(rd.Snapshot)
		}
		must(v.log.Append(rd.Entries))
		if slices.ContainsFunc(rd.Entries, changesVoters) {
			v.began = c.now
		}
		if !raft.IsEmptyHardState(rd.HardState) {
			must(v.log.SetHardState(rd.HardState))
		}
		for _, m := range rd.Messages {
			c.send(m)
		}
		for _, e := range rd.CommittedEntries {
			c.apply(e)
		}
		v.node.Advance(rd)
	}
	v.compact(uint64(c.cfg.CompactEvery))
}

func (c *Core) send(m *raftpb.Message) {
	to, ok := c.peers[m.GetTo()]
	if !ok {
		return // removed meanwhile
	}
	if m.GetType() == raftpb.MsgHeartbeat {
		stamp(m, c.now)
	}
	c.emit(Send{To: to, Data: seal(c.view, m)})
}

func (c *Core) restore(s *raftpb.Snapshot) {
	v := c.voter
	must(v.log.ApplySnapshot(s))
	decoded, err := decodeState(s.GetData())
	must(err) // was checked when it came
	v.state, v.conf, v.applied = decoded, s.GetMetadata().GetConfState(), s.GetMetadata().GetIndex()
	c.know(v.state.View)
}

// apply must do the same on every node, so it skips entries that make no sense.
func (c *Core) apply(e *raftpb.Entry) {
	v := c.voter
	v.applied = e.GetIndex()
	if c.lead != nil {
		c.lead.stirred = c.now
	}
	changed := false
	switch {
	case e.GetType() == raftpb.EntryConfChangeV2:
		cc := new(raftpb.ConfChangeV2)
		if proto.Unmarshal(e.GetData(), cc) != nil || !v.makesSense(cc) {
			return
		}
		v.conf = v.node.ApplyConfChange(cc)
		voters, _ := decodeVoters(cc.GetContext())
		for _, id := range voters {
			c.peers[raftID(id)] = id
		}
		v.snapshot()
	case len(e.GetData()) > 0:
		cmd, err := DecodeCommand(e.GetData())
		if err != nil {
			return
		}
		v.state, changed = v.state.apply(cmd)
	}
	if changed {
		c.know(v.state.View)
	}
}

// compact replaces most of the log by a snapshot once it has grown by every.
func (v *voter) compact(every uint64) {
	first, err := v.log.FirstIndex()
	must(err)
	if v.applied < first+every {
		return
	}
	v.snapshot()
	must(v.log.Compact(v.applied - every/4)) // the rest is for voters that lag a little
}

// snapshot makes the snapshot for voters whose log is too short. A new voter takes
// only a snapshot that names it, so there is one for every change of voters.
func (v *voter) snapshot() {
	if old, err := v.log.Snapshot(); err != nil || old.GetMetadata().GetIndex() >= v.applied {
		return
	}
	_, err := v.log.CreateSnapshot(v.applied, v.conf, encode(v.state))
	must(err)
}

func (v *voter) last() uint64 {
	last, err := v.log.LastIndex()
	must(err)
	return last
}

// current reports whether everything that older leaders may have committed has
// been applied here.
func (v *voter) current(term uint64) bool {
	at, err := v.log.Term(v.applied)
	return err == nil && at == term
}

func (v *voter) joint() bool { return len(v.conf.GetVotersOutgoing()) > 0 }

func (v *voter) votes(id uint64) bool {
	return slices.Contains(v.conf.GetVoters(), id) || slices.Contains(v.conf.GetVotersOutgoing(), id)
}

func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("view: the log in memory: %v", err))
	}
}

// quiet is a raft logger that says nothing.
type quiet struct{}

var _ raft.Logger = quiet{}

func (quiet) Debug(...any)              {}
func (quiet) Debugf(string, ...any)     {}
func (quiet) Info(...any)               {}
func (quiet) Infof(string, ...any)      {}
func (quiet) Warning(...any)            {}
func (quiet) Warningf(string, ...any)   {}
func (quiet) Error(...any)              {}
func (quiet) Errorf(string, ...any)     {}
func (quiet) Fatal(v ...any)            { panic(fmt.Sprint(v...)) }
func (quiet) Fatalf(f string, v ...any) { panic(fmt.Sprintf(f, v...)) }
func (quiet) Panic(v ...any)            { panic(fmt.Sprint(v...)) }
func (quiet) Panicf(f string, v ...any) { panic(fmt.Sprintf(f, v...)) }

// never is before every time that can be heard of.
const never = math.MinInt64 / 2

// level reports whether every other voter has the whole log of this leader, and all decided
// entries are applied.
func (v *voter) level() bool {
	last := v.last()
	level := v.applied == last
	v.node.WithProgress(func(_ uint64, _ raft.ProgressType, p tracker.Progress) {
		level = level && p.Match == last
	})
	return level
}
