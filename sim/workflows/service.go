package workflows

import (
	"errors"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	lnode "github.com/phalanx-go/phalanx/node/ledger"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	"github.com/phalanx-go/phalanx/protocol/leave"
	"github.com/phalanx-go/phalanx/protocol/view"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
	"github.com/phalanx-go/phalanx/sim"
)

const ms = time.Millisecond

// Kind is the workflows as a service of a run.
var Kind = sim.Kind{Name: "workflows", Crowded: true, Durable: true, New: func(w *sim.World) sim.Service {
	s := &service{World: w, hosts: map[*sim.Process]*host{}, machines: map[string]*machine{}, blobs: map[string][]uint64{}, rotted: map[string][]uint64{}, carried: map[carried]bool{}, versions: map[flow.ActorAt]uint64{}}
	s.store = newStore(s)
	s.outside = newOutside(s)
	s.check = newChecker(s)
	s.work = newWorkload(s)
	return s
}}

// service hosts the cores.
type service struct {
	*sim.World
	hosts      map[*sim.Process]*host
	machines   map[string]*machine
	disks      uint64              // folders that there were
	stream     uint64              // the number of the last snapshot
	blobs      map[string][]uint64 // by place: the disks that have a good checkpoint
	rotted     map[string][]uint64 // those that have other bytes, which nobody knows yet
	sacrificed bool                // a disk was lost for good
	retired    bool                // with its machine: others take it for away
	counted    time.Duration       // when nodes have named the runs of which they have something
	calm       bool                // the workload and the faults are over
	store      *store
	outside    *outside
	check      *checker
	work       *workload
	carried    map[carried]bool        // calls to actors
	versions   map[flow.ActorAt]uint64 // the states of actors
}

// host is the service's part of a process: the keeper of the ledger, the executor and the calls of clients.
type host struct {
	*service
	p       *sim.Process
	machine *machine
	over    bool

	keeper keeper

	self        phalanx.NodeID // of the incarnation that members know; "": there was none yet
	view        core.Members
	member      *flow.Member // of that incarnation
	life        uint64       // counts incarnations
	attempts    map[core.AttemptID]*attempt
	follows     flow.Follows
	caller      *flow.Caller
	calls       map[uint64]*call
	has         *flow.Belongings          // of that incarnation
	actorCaller *flow.ActorCaller         // of that incarnation
	calling     map[uint64]*actorAsk      // calls to actors that have not ended
	called      map[phalanx.NodeID]uint64 // the highest number of the calls to each node
	actorHost   *flow.ActorHost           // of that incarnation
	instances   map[string]*instance      // of its actors
	queued      map[actorCallOf]bool      // calls that actors have not begun to carry out; true: nobody waits for it
	deaf        time.Duration             // until then it takes no calls to its actors
	restorer    *flow.Restorer
	wishes      map[uint64]func(flow.Granted)
	laid        map[uint64]phalanx.ObjectID // objects of checkpoints that others copy
	number      uint64                      // of the last call
	copier      *flow.Copier                // nil: the machine has no disk that lasts
	remains     flow.Remains
}

// Started opens the machine's folder.
func (s *service) Started(p *sim.Process) ([]string, bool) {
	h := &host{service: s, p: p, machine: s.machineOf(p.Name()), attempts: map[core.AttemptID]*attempt{}, caller: flow.NewCaller(), calls: map[uint64]*call{}, restorer: flow.NewRestorer(), wishes: map[uint64]func(flow.Granted){}, laid: map[uint64]phalanx.ObjectID{}}
	h.number = s.R.Uint64() >> 16 // numbers of an earlier process of the same name may be under way
	s.hosts[p] = h
	h.open()
	if d := h.keeper.disk; d != nil {
		p.Offer(folder)
		if !h.machine.temp {
			h.copier = flow.NewCopier()
			if i := d.Identity(); i.Cluster == "" {
				p.Offer(markOf(i.Disk))
			}
		}
	}
	return h.resumes()
}

// Learned gives the cores a view. A new incarnation is another member: what the one before has run is lost.
func (s *service) Learned(p *sim.Process) {
	h, v, self := s.hosts[p], p.View, p.Self
	h.post(func() {
		h.ledger(lnode.Viewed{Self: self, Number: v.Number, Restarts: v.Restarts, First: h.first(self, v), Members: ledgerMembers(v)})
		if h.over {
			return
		}
		if h.member == nil || h.self != self {
			h.rebirth(self)
		}
		nodes, leaving := v.IDs(Kind.Name)
		disks, _ := v.IDs(folder)
		around := flow.Around{Self: self, Nodes: nodes, Disks: disks, First: v.First(folder)}
		h.view = core.Members{View: core.ViewNumber{Boot: v.Restarts, Number: v.Number}, Nodes: nodes, Leaving: leaving}
		h.actorsHere(around)
		h.actorCalls(around)
		if c := h.keeper.controller; c != nil {
			c.step(flow.View{Members: h.view})
		}
		h.call(around)
		h.restore(around)
		h.copy(disksOf(self, v))
	})
}

// first reports whether the node's folder was the first one of the cluster.
func (h *host) first(self phalanx.NodeID, v view.View) bool {
	return h.keeper.disk != nil && v.WasFirst(self, folder, markOf(h.keeper.disk.Identity().Disk))
}

// Leased tells the cores of the lease.
func (s *service) Leased(p *sim.Process, until time.Duration) {
	h := s.hosts[p]
	h.post(func() {
		h.ledger(lnode.Leased{Until: until})
		if h.member != nil {
			h.local(flow.Local{Event: core.Leased{Until: until}})
		}
		if len(h.attempts) > 0 {
			p.Want()
		}
	})
}

// NoLease tells the keeper that there is no lease to be had.
func (s *service) NoLease(p *sim.Process) {
	h := s.hosts[p]
	h.post(func() { h.ledger(lnode.NoLease{}) })
}

// The kinds of messages.
const (
	isHello = iota
	isLetter
	isRows
	isTaken
	isWorkflow
)

// letter is a message about workflows.
type letter struct{ any }

// Encode returns a message as nodes send it.
func (s *service) Encode(from, to phalanx.NodeID, m any) ([]byte, error) {
	var kind byte
	var p proto.Message
	switch m := m.(type) {
	case lnode.Hello:
		kind, p = isHello, messages.LedgerHelloToProto(m)
	case *messages.LedgerLetter:
		kind, p = isLetter, m
	case *messages.LedgerRows:
		kind, p = isRows, m
	case *messages.LedgerRowsTaken:
		kind, p = isTaken, m
	case letter:
		w, err := messages.WorkflowToProto(from, to, m.any)
		if err != nil {
			return nil, err
		}
		kind, p = isWorkflow, w
	}
	b, err := proto.Marshal(p)
	return append([]byte{kind}, b...), err
}

// Decode is the inverse of Encode.
func (s *service) Decode(b []byte) (any, error) {
	kind, b := b[0], b[1:]
	switch kind {
	case isHello:
		m := &messages.LedgerHello{}
		if err := proto.Unmarshal(b, m); err != nil {
			return nil, err
		}
		return messages.LedgerHelloFromProto(m)
	case isLetter:
		m := &messages.LedgerLetter{}
		return m, errors.Join(proto.Unmarshal(b, m), messages.CheckLedgerLetter(m))
	case isRows:
		m := &messages.LedgerRows{}
		return m, errors.Join(proto.Unmarshal(b, m), messages.CheckLedgerRows(m))
	case isTaken:
		m := &messages.LedgerRowsTaken{}
		return m, proto.Unmarshal(b, m)
	}
	m := &messages.WorkflowLetter{}
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, err
	}
	_, _, l, err := messages.WorkflowFromProto(m)
	return letter{l}, err
}

// Posted gives the keeper a message.
func (s *service) Posted(p *sim.Process, from string, m any) {
	h := s.hosts[p]
	switch m := m.(type) {
	case lnode.Hello:
		h.ledger(lnode.Heard{Hello: m})
	case *messages.LedgerLetter:
		h.ledger(lnode.Letter{Address: m.GetAddress(), From: m.GetFrom(), To: m.GetTo(), Data: m.GetData()})
	case *messages.LedgerRows:
		h.take(from, m)
	case *messages.LedgerRowsTaken:
		h.taken(m)
	}
	s.Wake(p)
}

// Heard gives the cores of workflows a letter.
func (s *service) Heard(p *sim.Process, from phalanx.NodeID, m any) {
	s.hosts[p].heard(from, m.(letter).any)
	s.Wake(p)
}

// Quiet reports whether a message keeps the ledger together: a disk that is away may be replaced any time.
func (s *service) Quiet(m any) bool {
	switch m.(type) {
	case lnode.Hello, *messages.LedgerLetter, *messages.LedgerRowsTaken:
		return true
	case *messages.LedgerRows:
		return s.replaces()
	}
	return false
}

// replaces reports whether a disk of the ledger is being replaced: the voters change, or a new one gets the rows before
// they do.
func (s *service) replaces() bool {
	h := s.leader()
	return h != nil && (h.keeper.core.Voters() == nil || len(h.keeper.core.Learners()) > 0)
}

// Due returns when one of the cores wants a tick.
func (s *service) Due(p *sim.Process) (time.Duration, bool) {
	h := s.hosts[p]
	due := time.Duration(math.MaxInt64)
	add := func(at time.Duration, ok bool) {
		if ok {
			due = min(due, at)
		}
	}
	add(h.keeper.due())
	add(h.caller.Due())
	add(h.restorer.Due())
	if h.copier != nil {
		add(h.copier.Due())
	}
	if h.member != nil {
		add(h.member.Due())
		add(h.actorCaller.Due())
		add(h.actorHost.Due())
	}
	if c := h.keeper.controller; c != nil {
		add(c.tenure.Due())
	}
	return due, due < math.MaxInt64 && !h.over
}

// Tick tells the cores that time has passed.
func (s *service) Tick(p *sim.Process) {
	h := s.hosts[p]
	is := func(of func() (time.Duration, bool)) bool {
		at, ok := of()
		return ok && at <= p.Now() && !h.over
	}
	if is(h.keeper.due) {
		h.ledger(lnode.Tick{})
	}
	if is(h.caller.Due) {
		h.call(flow.CallerTick{})
	}
	if is(h.restorer.Due) {
		h.restore(flow.Tick{})
	}
	if h.copier != nil && is(h.copier.Due) {
		h.copy(flow.Tick{})
	}
	if h.member != nil && is(h.member.Due) {
		h.local(flow.Local{Event: core.Tick{}})
	}
	if h.actorCaller != nil && is(h.actorCaller.Due) {
		h.actorCalls(flow.Tick{})
	}
	if h.actorHost != nil && is(h.actorHost.Due) {
		h.actorsHere(flow.Tick{})
	}
	if c := h.keeper.controller; c != nil && is(c.tenure.Due) {
		c.step(flow.Tick{})
	}
	s.Wake(p)
}

// Panics has the controller end, or else the keeper.
func (s *service) Panics(p *sim.Process) bool {
	s.hosts[p].panics()
	s.Wake(p)
	return true
}

// Gone ends what a process has.
func (s *service) Gone(p *sim.Process) {
	h := s.hosts[p]
	if !p.Dead || h == nil || h.over {
		return // a removed incarnation goes on until it knows
	}
	h.over = true
	h.crash()
	for _, c := range h.sortedCalls() {
		s.work.vanished(c)
	}
}

// Remains reports whether the node still has something of the ledger, or checkpoints, to hand over.
func (s *service) Remains(p *sim.Process) bool {
	h := s.hosts[p]
	of := func(view uint64, left int) bool { return leave.Service{View: view, Left: left}.Remains(p.View.Number) }
	return of(h.keeper.remains.View, h.keeper.remains.Left) || h.copier != nil && of(h.remains.View, h.remains.Left)
}

// later has a process do something after d, if it still runs.
func (h *host) later(d time.Duration, do func()) {
	h.After(d, func() {
		h.To(h.p, func() {
			if !h.over {
				do()
				h.Wake(h.p)
			}
		})
	})
}

// post is later at once, as a message from inside the node comes: in order.
func (h *host) post(do func()) { h.later(0, do) }

// soon is later within a moment.
func (h *host) soon(do func()) { h.later(1+h.Upto(ms), do) }

func (h *host) tracef(format string, args ...any) {
	if !h.Traced() { // most runs: the text costs more than what it tells
		return
	}
	h.Tracef("%s: %s", h.p.Name(), fmt.Sprintf(format, args...))
}
