package view

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/phalanx-go/phalanx"
)

// Core is one node's knowledge of the view, and its part in deciding it.
type Core struct {
	cfg Config
	id  uint64 // raft's name for this node
	now time.Duration
	out []Effect

	view   View                      // the newest; Number 0: none yet. Published, unless only learned before joining
	member bool                      // Invariant: view.Has(Self.ID), as of the last change of view
	fenced bool                      // for ever
	peers  map[uint64]phalanx.NodeID // raft's names

	leader   phalanx.NodeID // of term, or "": not known, or another voter campaigns
	term     uint64         // the highest that is known to have a leader
	heard    time.Duration  // when something was last heard of the leader, or this node's own clock was late
	asked    time.Duration  // when the first own heartbeat was sent since then; 0: none was
	expected time.Duration  // when the next Step was expected
	behind   time.Duration  // by how much one came later, since the last tick
	woke     time.Duration  // when this node went on after it had hung
	wanted   time.Duration  // when a lease was last wanted
	beat     time.Duration  // when the last own heartbeat was sent
	turn     int            // which voter is asked when the leader is not known
	seed     phalanx.NodeID // asked before any of them: it answered
	lease    time.Duration
	detour   detour

	own      []proposal
	leaving  bool          // this node has asked to leave
	stays    time.Duration // until then it takes back that it leaves
	voter    *voter        // nil until raft's first message, or Boot
	election election
	alarm    alarm
	promise  promise
	forming  *forming // not nil while this node forms the cluster anew
	lead     *leading // Invariant: not nil exactly while raft says that this node leads
}

// voter is this node's part in raft. It is kept when the node is no voter any
// more, because it may become one again and must remember its vote.
//
// Invariant: between two Steps nothing is left in raft to be carried out.
type voter struct {
	node    *raft.RawNode
	log     *raft.MemoryStorage
	conf    *raftpb.ConfState
	state   state // after entry applied
	applied uint64
	booted  bool
	began   time.Duration // when a change of the voters was last added to the log
}

// New returns a Core that knows nothing. It panics if cfg is not valid.
func New(cfg Config) *Core {
	if err := cfg.Validate(); err != nil {
		panic(err)
	}
	cfg = cfg.withDefaults()
	c := &Core{cfg: cfg, id: raftID(cfg.Self.ID), peers: map[uint64]phalanx.NodeID{}, woke: never, wanted: never}
	c.peers[c.id] = cfg.Self.ID
	return c
}

// View returns the newest view, which is the zero View at first.
func (c *Core) View() View { return c.view }

// Leader returns the leader, as far as this node knows, or "".
func (c *Core) Leader() phalanx.NodeID { return c.leader }

// Settled reports whether this node leads and nothing is on its way to be decided:
// the view then shows all decisions of the voters.
func (c *Core) Settled() bool {
	return c.lead != nil && len(c.lead.held) == 0 && !c.voter.joint() && c.voter.applied == c.voter.last()
}

// Step applies ev and returns what the shell must do, in that order.
func (c *Core) Step(ev Event) []Effect {
	if c.fenced {
		return nil
	}
	c.now = max(c.now, ev.at())
	c.wake()
	switch ev := ev.(type) {
	case Boot:
		c.boot(ev.Restarts)
	case Tick:
		c.tick(ev)
	case Want:
		c.want()
	case Learn:
		c.learn(ev)
	case Receive:
		c.receive(ev)
	case Propose:
		c.propose(ev)
	case PeerBroken:
		c.broken(ev.Node)
	case HearBeat:
		c.hearBeat(ev.From, ev.Beat)
	case HearReply:
		c.hearReply(ev.From, ev.Reply)
	case Recover:
		c.startForming(ev.Force)
	case HearHalt:
		c.hearHalt(ev.From, ev.Halt)
	case HearHalted:
		c.hearHalted(ev.From, ev.Halted)
	}
	c.settle()
	c.expected = c.Due()
	out := c.out
	c.out = nil
	return out
}

// wake notes by how much this Step came later than expected.
func (c *Core) wake() {
	if late := c.now - c.expected; c.expected > 0 && late > 0 {
		c.behind = max(c.behind, late)
		if c.hung(late) {
			c.woke = c.now
		}
	}
}

// hung reports whether this node hung if it came so late.
func (c *Core) hung(late time.Duration) bool { return late > c.cfg.VoterEvery+c.cfg.HeartbeatEvery }

func (c *Core) emit(e Effect) { c.out = append(c.out, e) }

func (c *Core) reject(from phalanx.NodeID, err error) {
	c.emit(Reject{From: from, Err: &phalanx.Error{Op: "view", Node: from, Kind: phalanx.ErrInvalid, Err: err}})
}

func (c *Core) boot(restarts uint64) {
	if c.voter != nil || c.view.Number != 0 {
		return
	}
	c.view.Cluster = c.cfg.Self.ID
	c.bootVoter(state{View: View{
		Cluster:  c.cfg.Self.ID,
		Common:   c.cfg.Common,
		Voters:   []phalanx.NodeID{c.cfg.Self.ID},
		Shards:   make([]Shard, c.cfg.Shards),
		Restarts: restarts,
	}}, 1)
	c.voter.booted = true // there was no leader before
	c.campaign()
	c.settle()
	c.propose(Propose{Command: AddMember{Member: c.cfg.Self, Common: c.cfg.Common}})
}

func (c *Core) tick(ev Tick) {
	behind := c.behind
	c.behind = 0
	if c.hung(behind) { // its silence then says nothing about the others, and callers may have wanted a lease unheard
		c.hearLeader()
		c.wanted = c.now
		c.detour.lacks, c.detour.tried = 0, 0
	}
	if c.apart() { // requests may have come meanwhile, and services ask again only with a lease
		c.wanted = c.now
	}
	c.watchMajority(ev.Suspects, behind)
	c.retry()
	c.goOn()
	c.tickForming()
	c.takeBack()
	switch {
	case c.halted():
	case c.lead != nil:
		c.tickLeader()
		return
	default:
		c.tickElection()
	}
	if c.member && c.now-c.beat >= c.beatEvery() {
		c.sendBeat()
	}
}

// hearLeader notes a sign of life of the leader.
func (c *Core) hearLeader() { c.heard, c.asked = c.now, 0 }

// learn takes over a view that came from outside, and its leader.
func (c *Core) learn(ev Learn) {
	if err := ev.View.valid(); err != nil {
		c.reject(ev.From, err)
		return
	}
	if c.view.Cluster != "" && c.view.Cluster != ev.View.Cluster {
		c.reject(ev.From, fmt.Errorf("the view belongs to the cluster of %s, this node to that of %s", ev.View.Cluster, c.view.Cluster))
		return
	}
	if err := ev.View.Common.Admit(c.cfg.Common); err != nil {
		c.reject(ev.From, err)
		return
	}
	switch form := ev.View.Form(); {
	case form < c.view.Form():
		c.push(ev.From) // it does not know yet that the cluster was formed anew
		return
	case form > c.view.Form():
		c.enterForm(ev.View)
	case ev.View.Former != c.view.Former && c.view.Number > 0:
		c.reject(ev.From, fmt.Errorf("%s and %s have formed the cluster anew at the same time, by force: end one of the two", c.view.Former, ev.View.Former))
		return
	}
	if ev.Term > 0 && ev.View.Has(ev.From) {
		c.heed(ev.From, ev.Term)
	}
	if !c.member {
		c.seed = ev.From
	}
	c.know(ev.View)
	if ev.Term > 0 && ev.From == c.leader && c.member {
		c.sendBeat() // acknowledges
	}
}

// know makes v the view of this node if it is newer than its own.
func (c *Core) know(v View) {
	if v.Number <= c.view.Number {
		return
	}
	was, old := c.member, c.view
	c.view, c.member = v, v.Has(c.cfg.Self.ID)
	for _, m := range v.Members {
		c.peers[raftID(m.ID)] = m.ID
	}
	for _, id := range v.Voters {
		c.peers[raftID(id)] = id
	}
	if c.member && !was {
		c.alarm.entered(c.now)
		c.wanted = c.now
	}
	c.emit(Publish{View: v})
	c.settleOwn()
	if c.lead != nil {
		c.pushAll(old)
	}
	c.goOn()
	heir, ok := v.Namesake(c.cfg.Self.ID)
	if !c.member && (was || ok && younger(heir.ID, c.cfg.Self.ID)) {
		c.fence()
	}
}

func (c *Core) fence() {
	c.foundMajority() // it has decided without this node
	c.fenced = true
	c.emit(Fenced{})
}

// heed takes notice of a sign of life of the leader of term. To raft it is a
// heartbeat: a leader that was deposed and voted out while it was cut off would
// not hear of it otherwise.
func (c *Core) heed(leader phalanx.NodeID, term uint64) {
	c.follow(leader, term)
	if leader != c.leader {
		return
	}
	c.hearLeader()
	if c.voter != nil && c.voter.node.BasicStatus().GetTerm() < term {
		c.voter.heartbeat(raftID(leader), c.id, term)
	}
}

// follow notes that leader leads term, if that is news.
func (c *Core) follow(leader phalanx.NodeID, term uint64) {
	if term > c.term || term == c.term && c.leader == "" {
		c.leader, c.term = leader, term
		c.hearLeader()
		c.emit(Lead{Term: term, Leader: leader})
	}
}

func (c *Core) receive(ev Receive) {
	if c.view.Cluster == "" {
		c.reject(ev.From, errors.New("this node is in no cluster yet"))
		return
	}
	form, m, err := open(c.view, ev.Data)
	switch {
	case err != nil:
	case form < c.view.Form():
		c.push(ev.From)
	case form > c.view.Form():
		c.askForView(ev.From)
	case c.halted():
	default:
		err = c.stepVoter(ev.From, m)
	}
	if err != nil {
		c.reject(ev.From, fmt.Errorf("raft message: %w", err))
	}
}
