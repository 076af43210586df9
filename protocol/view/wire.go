package view

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// A raft message travels as the hash of the cluster's name, the form of the cluster and a
// hash of its forming node, the hash of the rest, and the message. The first keeps clusters
// apart that use an address one after the other. The second keeps a group of an earlier form
// from this one. The third keeps damaged bytes from raft, which would panic.
const envelope = 24

var marshal = proto.MarshalOptions{Deterministic: true}

func seal(v View, m *raftpb.Message) []byte {
	body, err := marshal.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("view: a raft message that cannot be encoded: %v", err))
	}
	data := make([]byte, envelope, envelope+len(body))
	binary.BigEndian.PutUint64(data, fnv(v.Cluster))
	binary.BigEndian.PutUint32(data[8:], uint32(v.Form()))
	binary.BigEndian.PutUint32(data[12:], uint32(fnv(v.Former)))
	binary.BigEndian.PutUint64(data[16:], fnv(body))
	return append(data, body...)
}

// open returns the message in data, which came to a node with the view v, and the form to
// which it belongs.
func open(v View, data []byte) (Form, *raftpb.Message, error) {
	if len(data) < envelope {
		return 0, nil, errors.New("it is too short")
	}
	if binary.BigEndian.Uint64(data) != fnv(v.Cluster) {
		return 0, nil, errors.New("it belongs to another cluster")
	}
	form, former := Form(binary.BigEndian.Uint32(data[8:])), binary.BigEndian.Uint32(data[12:])
	if form == v.Form() && former != uint32(fnv(v.Former)) {
		return 0, nil, errors.New("it belongs to another form of this cluster")
	}
	body := data[envelope:]
	if binary.BigEndian.Uint64(data[16:]) != fnv(body) {
		return 0, nil, errors.New("its checksum is wrong")
	}
	m := new(raftpb.Message)
	if err := proto.Unmarshal(body, m); err != nil {
		return 0, nil, err
	}
	return form, m, nil
}

// check says why m, which came from from, must not be given to to's raft, whose
// log ends at last and which leads the term leads, or 0. Raft trusts its peers: it panics on
// messages that break its rules. It takes no acknowledgements of another term: they may be of
// entries that this node has taken back.
func check(m *raftpb.Message, from, to, last, leads uint64) error {
	switch {
	case m.GetFrom() != from:
		return errors.New("it names another sender")
	case m.GetTo() != to:
		return errors.New("it is for another node")
	case m.GetTerm() == 0 || m.GetTerm() == math.MaxUint64:
		return fmt.Errorf("its term is %d", m.GetTerm())
	case m.GetIndex() >= math.MaxUint32<<20 || m.GetRejectHint() >= math.MaxUint32<<20:
		return errors.New("its index is out of range")
	case len(m.GetResponses()) != 0:
		return errors.New("it carries other messages")
	}
	switch m.GetType() {
	case raftpb.MsgVote, raftpb.MsgVoteResp, raftpb.MsgTimeoutNow, raftpb.MsgHeartbeatResp:
		return nil
	case raftpb.MsgAppResp:
		if m.GetTerm() == leads && !m.GetReject() && m.GetIndex() > last {
			return errors.New("it acknowledges what was never sent")
		}
		return nil
	case raftpb.MsgHeartbeat:
		if m.GetCommit() > last {
			return errors.New("it commits what was never acknowledged")
		}
		return nil
	case raftpb.MsgApp:
		return checkEntries(m)
	case raftpb.MsgSnap:
		return checkSnapshot(m)
	}
	return fmt.Errorf("voters do not send a %v", m.GetType())
}

func checkEntries(m *raftpb.Message) error {
	index, term := m.GetIndex(), m.GetLogTerm()
	for _, e := range m.GetEntries() {
		index++
		if e.GetIndex() != index || e.GetTerm() < term || e.GetTerm() > m.GetTerm() {
			return errors.New("its entries do not follow each other")
		}
		term = e.GetTerm()
		if e.GetType() != raftpb.EntryNormal && e.GetType() != raftpb.EntryConfChangeV2 {
			return fmt.Errorf("it has an entry of type %v", e.GetType())
		}
	}
	if m.GetLogTerm() > m.GetTerm() {
		return errors.New("its log is newer than its term")
	}
	return nil
}

func checkSnapshot(m *raftpb.Message) error {
	s := m.GetSnapshot()
	conf := s.GetMetadata().GetConfState()
	switch {
	case s.GetMetadata().GetIndex() == 0 || s.GetMetadata().GetIndex() >= math.MaxUint32<<20:
		return errors.New("its snapshot's index is out of range")
	case s.GetMetadata().GetTerm() == 0 || s.GetMetadata().GetTerm() > m.GetTerm():
		return errors.New("its snapshot's term is out of range")
	case len(conf.GetVoters()) == 0 || len(conf.GetLearners()) != 0 || len(conf.GetLearnersNext()) != 0:
		return errors.New("its snapshot's voters cannot be")
	case conf.GetAutoLeave() != (len(conf.GetVotersOutgoing()) != 0):
		return errors.New("its snapshot's change of voters cannot be")
	}
	for _, ids := range [][]uint64{conf.GetVoters(), conf.GetVotersOutgoing()} {
		seen := map[uint64]bool{0: true}
		for _, id := range ids {
			if seen[id] {
				return errors.New("its snapshot has a voter twice")
			}
			seen[id] = true
		}
	}
	_, err := decodeState(s.GetData())
	return err
}

// stamped returns the leader's clock in a heartbeat or its response.
func stamped(m *raftpb.Message) (time.Duration, bool) {
	if len(m.GetContext()) != 8 {
		return 0, false
	}
	return time.Duration(binary.BigEndian.Uint64(m.GetContext())), true
}

func stamp(m *raftpb.Message, now time.Duration) {
	m.Context = binary.BigEndian.AppendUint64(nil, uint64(now))
}

// Describe returns the content of a Send's Data, in one line.
func Describe(data []byte) string {
	m := new(raftpb.Message)
	if len(data) < envelope || proto.Unmarshal(data[envelope:], m) != nil {
		return fmt.Sprintf("%d bytes that are no message", len(data))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s term=%d", strings.TrimPrefix(m.GetType().String(), "Msg"), m.GetTerm())
	switch m.GetType() {
	case raftpb.MsgVote, raftpb.MsgApp:
		fmt.Fprintf(&b, " after=%d/%d", m.GetLogTerm(), m.GetIndex())
	case raftpb.MsgAppResp:
		fmt.Fprintf(&b, " to=%d", m.GetIndex())
	case raftpb.MsgSnap:
		fmt.Fprintf(&b, " at=%d/%d", m.GetSnapshot().GetMetadata().GetTerm(), m.GetSnapshot().GetMetadata().GetIndex())
	}
	for _, e := range m.GetEntries() {
		fmt.Fprintf(&b, " [%s]", describeEntry(e))
	}
	if m.Commit != nil {
		fmt.Fprintf(&b, " commit=%d", m.GetCommit())
	}
	if m.GetReject() {
		b.WriteString(" reject")
	}
	return b.String()
}

func describeEntry(e *raftpb.Entry) string {
	if e.GetType() == raftpb.EntryConfChangeV2 {
		cc := new(raftpb.ConfChangeV2)
		if proto.Unmarshal(e.GetData(), cc) != nil || len(cc.GetContext()) == 0 {
			return "voters changed"
		}
		return "voters " + string(cc.GetContext())
	}
	if len(e.GetData()) == 0 {
		return "empty"
	}
	cmd, err := DecodeCommand(e.GetData())
	if err != nil {
		return err.Error()
	}
	return cmd.String()
}
