package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// check says why raft must not get m. Raft trusts its peers: it panics on messages that break
// its rules. It takes no acknowledgements of another term: they may be of entries that this
// replica has taken back.
func (c *Core) check(m *raftpb.Message) error {
	switch {
	case m.GetFrom() == raft.None || m.GetFrom() == c.id || raft.IsLocalMsgTarget(m.GetFrom()):
		return errors.New("its sender cannot be")
	case m.GetTerm() == 0 || m.GetTerm() >= math.MaxUint64>>1:
		return fmt.Errorf("its term is %d", m.GetTerm())
	case !c.belongs(m.GetTerm()):
		return fmt.Errorf("it is of generation %d of the ledger, and this replica of generation %d", GenerationOf(m.GetTerm()), c.Generation())
	case max(m.GetIndex(), m.GetRejectHint(), m.GetCommit()) >= math.MaxUint64>>1:
		return errors.New("its index is out of range")
	case len(m.GetResponses()) != 0:
		return errors.New("it carries other messages")
	case m.Snapshot != nil && m.GetType() != raftpb.MsgSnap || len(m.GetEntries()) > 0 && m.GetType() != raftpb.MsgApp:
		return errors.New("it carries what is not its own")
	}
	leads := c.lead != nil && m.GetTerm() == c.lead.term
	switch m.GetType() {
	case raftpb.MsgPreVote, raftpb.MsgPreVoteResp, raftpb.MsgVote, raftpb.MsgVoteResp, raftpb.MsgTimeoutNow:
		return nil
	case raftpb.MsgAppResp:
		if leads && !m.GetReject() && m.GetIndex() > c.log.end() {
			return errors.New("it acknowledges what was never sent")
		}
		return nil
	case raftpb.MsgHeartbeatResp:
		if n := len(m.GetContext()); n != 0 && n != 8 {
			return errors.New("its context cannot be")
		}
		if leads && len(m.GetContext()) == 8 && binary.LittleEndian.Uint64(m.GetContext()) > c.lead.rounds {
			return errors.New("it confirms a read that was never asked for")
		}
		return nil
	case raftpb.MsgHeartbeat:
		if m.GetTerm() >= c.log.hard.GetTerm() && m.GetCommit() > c.log.end() {
			return errLost
		}
		return nil
	case raftpb.MsgApp:
		if m.GetLogTerm() > m.GetTerm() || (m.GetIndex() == 0) != (m.GetLogTerm() == 0) {
			return errors.New("its place in the log cannot be")
		}
		return follow(mark{m.GetIndex(), m.GetLogTerm()}, m.GetTerm(), m.GetEntries())
	case raftpb.MsgSnap:
		return checkSnapshot(m)
	}
	return fmt.Errorf("replicas do not send a %v", m.GetType())
}

// errLost says that this replica has acknowledged entries, or a copy of its disk has, that the
// disk does not have. It must never vote again.
var errLost = errors.New("ledger: this replica's disk has lost what it acknowledged")

// follow says why entries cannot be those after a place in the log, as a replica of a term may
// have them.
func follow(after mark, term uint64, entries []*raftpb.Entry) error {
	for _, e := range entries {
		if e.GetIndex() != after.index+1 || e.GetTerm() < after.term || e.GetTerm() > term {
			return fmt.Errorf("entry %d of term %d does not follow entry %d of term %d in term %d",
				e.GetIndex(), e.GetTerm(), after.index, after.term, term)
		}
		after = mark{e.GetIndex(), e.GetTerm()}
		if err := checkEntry(e); err != nil {
			return fmt.Errorf("entry %d: %w", e.GetIndex(), err)
		}
	}
	return nil
}

// checkEntry says why an entry could not be applied.
func checkEntry(e *raftpb.Entry) error {
	switch e.GetType() {
	case raftpb.EntryNormal:
		if len(e.GetData()) == 0 {
			return nil
		}
		b, err := decodeBatch(e.GetData())
		if err == nil && b.term != e.GetTerm() {
			err = fmt.Errorf("it has rows of the tenure %d, and is of term %d", b.term, e.GetTerm())
		}
		return err
	case raftpb.EntryConfChangeV2:
		if len(e.GetData()) > maxChange {
			return errors.New("the change of the replicas is too long")
		}
		return proto.Unmarshal(e.GetData(), new(raftpb.ConfChangeV2))
	}
	return fmt.Errorf("its type is %v", e.GetType())
}

// maxChange bounds an encoded change of the replicas, in bytes; maxReplicas bounds how many of
// each kind there are.
const (
	maxChange   = 4 << 10
	maxReplicas = 64
)

func checkSnapshot(m *raftpb.Message) error {
	meta := m.GetSnapshot().GetMetadata()
	switch {
	case meta.GetIndex() == 0 || meta.GetIndex() >= math.MaxUint64>>1:
		return errors.New("its snapshot's index is out of range")
	case meta.GetTerm() == 0 || meta.GetTerm() > m.GetTerm():
		return errors.New("its snapshot's term is out of range")
	case len(m.GetSnapshot().GetData()) > 0:
		return errors.New("its snapshot has data in it")
	}
	return checkConf(meta.GetConfState())
}

// checkConf says why replicas cannot be as conf says. Raft panics if they cannot.
func checkConf(conf *raftpb.ConfState) error {
	switch {
	case len(conf.GetVoters()) == 0:
		return errors.New("no replica votes")
	case len(conf.GetLearnersNext()) != 0:
		return errors.New("a voter is to become a learner")
	case conf.GetAutoLeave() != (len(conf.GetVotersOutgoing()) != 0):
		return errors.New("its change of voters cannot be")
	}
	for _, lists := range [][][]uint64{{conf.GetVoters(), conf.GetLearners()}, {conf.GetVotersOutgoing(), conf.GetLearners()}} {
		ids := slices.Concat(lists...)
		if len(ids) > maxReplicas {
			return errors.New("it has too many replicas")
		}
		slices.Sort(ids)
		if len(slices.Compact(slices.Clone(ids))) != len(ids) {
			return errors.New("a replica is in it twice")
		}
		for _, id := range ids {
			if id == raft.None || raft.IsLocalMsgTarget(id) {
				return errors.New("it has a replica whose id cannot be")
			}
		}
	}
	return nil
}
