package ledger

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Core is one replica of the ledger.
type Core struct {
	cfg    Config
	id     uint64
	now    time.Duration
	awake  bool // a Step has told the time
	out    []Effect
	halted bool

	node    *raft.RawNode // nil: dropped, until the disk has done what it was asked to
	log     *log
	conf    *raftpb.ConfState // after the entry applied
	applied mark              // the rows up to it are in a Write, or wait for the next
	disk    disk
	stream  uint64 // of the snapshot that just arrived; 0: it is taken, or there is none

	leader   uint64 // of term; 0: none is known
	asleep   bool   // the group sleeps, as its leader says; of a leader: as it decided
	term     uint64
	heard    time.Duration // when the leader was last heard
	left     left
	election election
	want     []uint64 // the last Want, in ascending order
	lead     *leading // Invariant: not nil exactly while raft says that this replica leads
	openings openings
}

// Holds is about the memory that the replica takes, in bytes: its log, and the appends that are not committed.
func (c *Core) Holds() int {
	bytes := c.log.bytes
	if c.lead != nil {
		bytes += c.lead.appends.bytes
	}
	return bytes
}

// New returns the replica whose disk holds s. It returns an error if cfg is not valid, or if
// the disk's state cannot be: then the disk is corrupt and has to be replaced.
func New(cfg Config, s State) (*Core, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	log, err := open(s)
	if err != nil {
		return nil, fmt.Errorf("ledger: the state of replica %x: %w", s.Replica, err)
	}
	c := &Core{
		cfg: cfg.withDefaults(), id: s.Replica, log: log,
		conf: clone(log.conf), applied: mark{s.Applied, s.AppliedTerm}, openings: openings{},
	}
	if term, err := log.Term(s.Applied); err == nil {
		c.applied.term = term
	}
	c.disk.visible = s.Applied
	c.term = log.hard.GetTerm()
	c.node = c.newRaft()
	return c, nil
}

// open returns the log that a disk holds.
func open(s State) (*log, error) {
	l := &log{hard: &raftpb.HardState{}, conf: &raftpb.ConfState{}}
	if s.Hard != nil {
		l.hard = s.Hard
	}
	if s.Conf != nil {
		l.conf = s.Conf
	}
	entries := s.Entries
	switch {
	case s.Replica == raft.None || raft.IsLocalMsgTarget(s.Replica):
		return nil, errors.New("its id cannot be")
	case s.Applied > 0 && len(entries) > 0 && s.First <= s.Applied: // the first entry only tells its term
		l.base, entries = mark{s.First, entries[0].GetTerm()}, entries[1:]
		if s.First == 0 || s.First != s.Entries[0].GetIndex() || s.First+uint64(len(entries)) < s.Applied {
			return nil, fmt.Errorf("the log of %d entries from %d on does not reach entry %d, which is applied", len(s.Entries), s.First, s.Applied)
		}
	case len(entries) > 0 && s.First != s.Applied+1:
		return nil, fmt.Errorf("the log begins at %d, and entry %d is applied", s.First, s.Applied)
	default:
		l.base = mark{s.Applied, s.AppliedTerm}
	}
	if s.Applied > 0 && l.base.term == 0 {
		return nil, fmt.Errorf("the term of entry %d is not known", l.base.index)
	}
	if s.Applied > 0 && checkConf(l.conf) != nil {
		return nil, checkConf(l.conf)
	}
	if s.Applied == 0 && len(l.conf.GetVoters()) > 0 {
		return nil, errors.New("it names replicas, and no entry is applied")
	}
	if err := follow(l.base, l.hard.GetTerm(), entries); err != nil {
		return nil, err
	}
	if len(entries) > 0 {
		l.put(entries)
	}
	if l.hard.GetCommit() > l.end() {
		return nil, fmt.Errorf("entry %d is committed, and the log ends at %d", l.hard.GetCommit(), l.end())
	}
	if l.hard.GetCommit() < s.Applied {
		l.hard = &raftpb.HardState{Term: new(l.hard.GetTerm()), Vote: new(l.hard.GetVote()), Commit: new(s.Applied)}
	}
	l.last = shot{at: mark{s.Applied, s.AppliedTerm}, conf: clone(l.conf)}
	if term, err := l.Term(s.Applied); err == nil {
		l.last.at.term = term
	}
	return l, nil
}

// newRaft returns raft as a follower with the log.
//
// Raft writes asynchronously: a leader whose disk is slow still sends heartbeats, and entries
// before its own disk has them (raft thesis, section 10.2.1). It commits such an entry when a
// majority has it, with or without its own disk, and applies it when its own disk has it too.
func (c *Core) newRaft() *raft.RawNode {
	c.log.conf = clone(c.conf)
	node, err := raft.NewRawNode(&raft.Config{
		ID:                        c.id,
		ElectionTick:              c.cfg.electionTicks(),
		HeartbeatTick:             1,
		Storage:                   c.log,
		Applied:                   c.applied.index,
		AsyncStorageWrites:        true,
		MaxSizePerMsg:             maxMessage / 4,
		MaxCommittedSizePerReady:  16 << 20,
		MaxInflightMsgs:           64,
		MaxInflightBytes:          16 << 20,
		CheckQuorum:               true,
		PreVote:                   true,
		DisableProposalForwarding: true,
		StepDownOnRemoval:         true,
		Logger:                    quiet{},
	})
	if err != nil {
		panic(fmt.Sprintf("ledger: %v", err))
	}
	return node
}

// Step applies ev and returns what the host must do, in that order. Now is the time since some
// start, by the host's clock. A now that is less than an earlier one counts as that.
func (c *Core) Step(now time.Duration, ev Event) []Effect {
	if !c.awake {
		c.awake, c.now, c.heard = true, now, now
		c.greet()
	}
	c.now = max(c.now, now)
	if c.halted {
		c.decline(ev)
	} else {
		c.take(ev)
		c.settle()
	}
	out := c.out
	c.out = nil
	return out
}

// greet tells the other voters of this opening of the disk, so that they refuse an earlier one, and wakes
// a leader. The message says no more than that this replica runs.
func (c *Core) greet() {
	for _, id := range c.voters() {
		if id != c.id {
			c.post(&raftpb.Message{Type: raftpb.MsgHeartbeatResp.Enum(), From: new(c.id), To: new(id), Term: new(c.log.hard.GetTerm()), LogTerm: new(c.log.hard.GetTerm())})
		}
	}
}

func (c *Core) take(ev Event) {
	switch ev := ev.(type) {
	case Tick:
	case Receive:
		c.receive(ev)
	case Written:
		c.written(ev.Number)
	case WriteFailed:
		c.writeFailed()
	case Append:
		c.rouse()
		c.append(ev)
	case Read:
		c.rouse()
		c.read(ev.ID)
	case Wake:
		c.rouse()
	case Left:
		c.nodeLeft(ev.Replica)
	case Want:
		c.wantVoters(ev)
	case HandOver:
		if c.lead != nil && len(ev.To) > 0 {
			c.rouse()
			c.handOver("its node is about to leave", ev.To...)
		}
	case GiveUp:
		if c.serves(ev.Epoch) {
			c.rouse()
			c.endTenure() // so that the leadership ends, too
		}
	case SnapshotSent:
		c.snapshotSent(ev.To, raft.SnapshotFinish)
	case SnapshotFailed:
		c.snapshotSent(ev.To, raft.SnapshotFailure)
	case SnapshotArrived:
		c.snapshotArrived(ev)
	}
	c.tick()
}

// decline answers an event after the Core has halted.
func (c *Core) decline(ev Event) {
	switch ev := ev.(type) {
	case Append:
		c.emit(Refused{Epoch: ev.Epoch, Number: ev.Number, Reason: Fenced})
	case Read:
		c.emit(NotReadable(ev))
	case SnapshotArrived:
		c.emit(DropStream{Stream: ev.Stream})
	}
}

// halt ends all that this replica does.
func (c *Core) halt(err error) {
	c.stopLeading()
	c.node, c.halted = nil, true
	c.emit(Halted{Err: err})
}

// tick does what the time asks for.
func (c *Core) tick() {
	switch {
	case c.halted || c.node == nil:
	case c.lead != nil:
		c.tickLeader()
	default:
		c.tickElection()
	}
}

// settle carries out raft's work until only the disk and others have something to do.
func (c *Core) settle() {
	for again := true; again && !c.halted; {
		c.ready()
		if c.halted {
			return
		}
		c.observe()
		if c.disk.failed && c.lead == nil {
			c.halt(errFailed)
			return
		}
		again = c.steer() || c.persist() || c.comeBack() || c.node != nil && c.node.HasReady()
	}
	if !c.halted {
		c.answer()
	}
}

// ready takes up what raft has to say.
func (c *Core) ready() {
	for c.node != nil && c.node.HasReady() {
		rd := c.node.Ready()
		for _, r := range rd.ReadStates {
			c.confirmed(r)
		}
		for _, m := range rd.Messages {
			switch {
			case m.GetTo() == raft.LocalAppendThread:
				c.note(m)
			case m.GetTo() == raft.LocalApplyThread:
				c.apply(m)
			case m.GetType() == raftpb.MsgVote:
				// A candidate that forgot its term could campaign in it again with a
				// shorter log, and count votes that it got for the longer one.
				c.disk.next.await(m)
			default:
				c.post(m)
			}
			if c.halted {
				return
			}
		}
	}
}

// apply adds the rows of committed entries to the next Write.
func (c *Core) apply(m *raftpb.Message) {
	for _, e := range m.GetEntries() {
		c.applied = mark{e.GetIndex(), e.GetTerm()}
		switch {
		case e.GetType() == raftpb.EntryConfChangeV2:
			c.change(e)
		case len(e.GetData()) > 0:
			b, err := decodeBatch(e.GetData())
			if err != nil {
				// All that came from others was checked. A replica that skipped it would differ.
				c.halt(fmt.Errorf("ledger: entry %d cannot be applied: %w", e.GetIndex(), err))
				return
			}
			if b.term != e.GetTerm() {
				c.halt(fmt.Errorf("ledger: entry %d of term %d has rows of the tenure %d", e.GetIndex(), e.GetTerm(), b.term))
				return
			}
			c.disk.next.Rows = append(c.disk.next.Rows, b.rows...)
			c.committed(e, b)
		}
		if c.lead != nil && c.lead.first == 0 && e.GetTerm() == c.lead.term {
			c.lead.first = e.GetIndex()
		}
	}
	c.disk.next.Applied = c.applied.index
	for _, r := range m.GetResponses() {
		_ = c.node.Step(r) // is for raft itself, which never refuses it
	}
	c.compact()
}

// drop has this replica lead no more and follow with a new raft, once the disk has done what it
// was asked to.
func (c *Core) drop() {
	c.stopLeading()
	c.node, c.asleep = nil, false
	c.heed(c.term, raft.None)
	c.heard, c.election = c.now, election{}
}

// comeBack begins again after drop, when nothing waits for the disk. It reports whether it did.
func (c *Core) comeBack() bool {
	if c.node != nil || c.disk.busy != nil {
		return false
	}
	c.node = c.newRaft()
	if c.alone() {
		c.elect(c.now)
	}
	return true
}

// alone reports whether this replica is the only one that votes.
func (c *Core) alone() bool {
	return len(c.conf.GetVoters()) == 1 && len(c.conf.GetVotersOutgoing()) == 0 && c.votes(c.id)
}

// writeFailed is told that this replica's disk is not to be trusted any more.
func (c *Core) writeFailed() {
	c.disk.failed = true
	c.rouse()
	if c.lead == nil || c.alone() {
		c.halt(errFailed)
		return
	}
	c.endTenure()
	c.handOver("its disk has failed") // for which it needs no disk
}

var errFailed = errors.New("ledger: the disk has failed")

func (c *Core) emit(e Effect) { c.out = append(c.out, e) }

// post sends a message to another replica.
func (c *Core) post(m *raftpb.Message) {
	if m.GetType() == raftpb.MsgSnap {
		c.sendSnapshot(m)
		return
	}
	c.mark(m)
	c.emit(Send{To: m.GetTo(), Data: c.seal(m)})
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

var marshal = proto.MarshalOptions{Deterministic: true}
