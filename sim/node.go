package sim

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/ask"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/node/idle"
	"github.com/phalanx-go/phalanx/node/leave"
	"github.com/phalanx-go/phalanx/node/member"
	"github.com/phalanx-go/phalanx/node/owner"
	"github.com/phalanx-go/phalanx/node/pace"
	"github.com/phalanx-go/phalanx/node/put"
	"github.com/phalanx-go/phalanx/protocol/detect"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/join"
	"github.com/phalanx-go/phalanx/protocol/transfer"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// node is one life of a simulated node: its cores and the code between them.
type node struct {
	w       *world
	host    *host
	process *Process
	life    uint64
	id      phalanx.NodeID
	born    time.Duration // its clock starts here
	over    bool          // it has ended
	kept    map[phalanx.ObjectID]*copied

	core     *view.Core
	todo     []view.Effect // in order
	doing    bool
	view     view.View
	majority *view.Majority // the loss of the majority of the voters, as the node sees it; nil: it is not lost
	member   bool           // it was in a view
	joining  joining
	detector *detect.Core
	routes   *detect.Routes
	overdue  *detect.Overdue
	refusing map[phalanx.NodeID]bool // nodes that it suspects since they refuse connections
	gone     map[phalanx.NodeID]bool // nodes that the view has removed
	viewDue  time.Duration           // when the view's core needs a tick; 0: not looked at since the last
	wanted   time.Duration           // when the node last wanted a lease
	gate     idle.Gate[toShard]      // events that wait for a lease
	shards   []*directory.Shard      // nil where the node has no replica
	short    []owner.Room            // by shard: requests for whose inline bytes there is no memory
	crammed  time.Duration           // until then there is none

	client  *client
	memory  *memory
	table   *copies.Table
	owns    map[phalanx.ObjectID]*own // callers that wait for objects that this node makes
	fetches map[phalanx.ObjectID]*fetcher
	creates put.Running[*create]
	makers  []*maker
	down    pace.Downlink
	pace    *pace.Pace  // of those in out
	leases  pace.Leases // under which they run
	out     []*outgoing // streams to others, and to local readers
	in      map[uint64]*incoming
	reduces *reduces

	leaver  *leaver // while it tries to leave
	refuses bool    // the node leaves, and refuses new calls
	going   bool    // it leaves, or has failed to and tries again
	back    bool    // its process comes back after the node has left
	owes    bool    // so it must: it has left although services had something to hand over
}

// Messages between nodes to a shard replica or about the view.
type (
	toShard struct { // an event for a replica
		shard int
		ev    directory.Event
	}
	toClient struct{ directory.Reply }
	toHolder struct { // an order of the owner
		shard int
		directory.Push
	}
	toWatcher struct {
		shard int
		directory.Readiness
	}
	ackHoldings struct {
		shard int
		epoch uint64
	}
	askLease struct {
		shard  int
		object phalanx.ObjectID
		lease  uint64
		move   bool
	}
	toView   struct{ data []byte }
	pushView struct {
		term uint64
		view view.View
	}
	beat    struct{ view.Beat }
	reply   struct{ view.Reply }
	halt    struct{ view.Halt }
	halted  struct{ view.Halted }
	forward struct {
		relayed bool
		cmd     view.Command
	}
	joinAsk struct {
		num  uint64
		says join.Answer
	}
	joinReply struct {
		num  uint64
		says join.Answer
		view view.View
	}
)

// clock is the time since the node's start, the only time that its cores see.
func (n *node) clock() time.Duration { return n.w.now - n.born }

// begin starts a life, which joins. If the process was a member before, it has kept copies, and knows
// other members.
func (h *host) begin(kept map[phalanx.ObjectID]*copied, known []string) *node {
	w := h.w
	h.next = nil
	h.lives++
	n := &node{w: w, host: h, life: h.lives, id: phalanx.MakeNodeID(h.name, h.lives), born: w.now, kept: kept,
		gone: map[phalanx.NodeID]bool{}, refusing: map[phalanx.NodeID]bool{}, table: copies.NewTable(), owns: map[phalanx.ObjectID]*own{}, fetches: map[phalanx.ObjectID]*fetcher{}, in: map[uint64]*incoming{}}
	if h.process == nil {
		h.process = &Process{w: w, host: h, born: w.now, ticks: make([]time.Duration, len(w.services))}
		h.process.started()
	}
	n.process = h.process
	n.joining = newJoining(n, known)
	n.client = newClient(n)
	n.memory, n.pace, n.leases = newMemory(n), pace.New(paceLimits), pace.Leases{}
	n.reduces = newReduces(n)
	n.core = view.New(view.Config{Self: n.asMember(), Shards: w.shape.shards, GiveUpAfter: w.giveUpAfter, IdleAfter: idleAfter})
	n.detector = detect.New(detect.Config{Self: n.id})
	n.routes, n.overdue = detect.NewRoutes(n.id), detect.NewOverdue()
	n.shards, n.short = make([]*directory.Shard, w.shape.shards), make([]owner.Room, w.shape.shards)
	for _, id := range sortedObjects(kept) {
		c := kept[id]
		c.n = n
		n.memory.step(taken(c.room))
		n.table.Enter(&c.Copy)
		n.table.Unuse(&c.Copy)
	}
	w.nodes = append(w.nodes, n)
	w.byID[n.id] = n
	h.life = n
	n.joins(join.Start{})
	n.after(0, n.tick)
	return n
}

// asMember returns the node's entry in the view.
func (n *node) asMember() view.Member {
	return view.Member{ID: n.id, Control: n.host.name, Data: "-", Features: slices.Concat(n.w.features, n.process.features)}
}

// tickEvery is how often a node looks at its timers; aloneEvery, where no caller uses the store.
const (
	tickEvery  = 10 * time.Millisecond
	aloneEvery = 25 * time.Millisecond
)

func (n *node) tick() {
	if n.tickJoin(); n.over {
		return
	}
	if n.tickView(); n.over {
		return
	}
	n.watched()
	n.releaseLate()
	for i, s := range n.shards {
		if s == nil {
			continue
		}
		if at, ok := s.Due(); ok && at <= n.clock() {
			n.want()
			n.stepShard(i, directory.Tick{})
		}
	}
	n.client.tick()
	if n.leaver != nil {
		n.leaver.tick()
	}
	n.tickStreams()
	n.tickProbes()
	n.memory.tick()
	n.reduces.tick()
	n.admitted()
	n.after(n.w.every, n.tick)
	n.w.step(n, "tick")
}

// tickView ticks the view's core when it is due. As in a node, events do not put the timer off:
// steady events would put it off for ever.
func (n *node) tickView() {
	if due := n.core.Due(); n.viewDue == 0 || due < n.viewDue {
		n.viewDue = due
	}
	if n.viewDue <= n.clock() {
		n.viewDue = 0
		n.look()
	}
}

// look has the view's core see which nodes this one suspects.
func (n *node) look() {
	n.stepView(view.Tick{Suspects: n.detector.Suspects(), Now: n.clock()})
}

// receive handles one message.
func (n *node) receive(from phalanx.NodeID, m any) {
	if n.w.trace.out != nil {
		n.w.trace.say(n.w.now, string(n.id), "<- %s %T%+v", from, m, m)
	}
	switch m := m.(type) {
	case toShard:
		if n.shards[m.shard] == nil { // the node has not learned of its replica yet, or has it no more
			n.w.met["shard not there yet"]++
			n.notHere(m)
			break
		}
		n.toReplica(m.shard, m.ev)
	case toClient:
		n.client.answered(from, m.Reply)
	case toHolder:
		n.pushed(from, m.shard, m.Push)
	case toWatcher:
		n.client.readiness(from, m.Readiness)
	case ackHoldings:
		n.client.owing.Step(n.clock(), ask.Taken{From: from, Shard: m.shard, Epoch: m.epoch})
	case askLease:
		f := n.fetches[m.object]
		known := f != nil && f.core.Locating() != 0 || n.table.Leased(m.object, m.lease) // the lease may be on its way
		n.w.met["lease asked about"]++
		if f != nil && m.move {
			n.w.met["receiver moved"]++
			f.step(transfer.Move{Lease: m.lease, Held: int64(len(f.buf.bytes))})
		}
		n.post(from, toShard{m.shard, directory.LeaseKnown{From: n.id, Object: m.object, Lease: m.lease, Known: known}})
	case toView:
		n.stepView(view.Receive{From: from, Data: m.data, Now: n.clock()})
	case pushView:
		n.stepView(view.Learn{From: from, Term: m.term, View: m.view, Now: n.clock()})
	case beat:
		n.stepView(view.HearBeat{From: from, Beat: m.Beat, Now: n.clock()})
	case reply:
		n.stepView(view.HearReply{From: from, Reply: m.Reply, Now: n.clock()})
	case halt:
		n.stepView(view.HearHalt{From: from, Halt: m.Halt, Now: n.clock()})
	case halted:
		n.stepView(view.HearHalted{From: from, Halted: m.Halted, Now: n.clock()})
	case forward:
		n.stepView(view.Propose{From: from, Relayed: m.relayed, Command: m.cmd, Now: n.clock()})
	case accusation:
		n.stepDetector(detect.Accused{By: from, Node: m.node, Cause: m.cause, Told: m.told, Now: n.clock()})
	case carried:
		n.bring(from, m)
	case joinAsk:
		n.welcome(from, m)
	case joinReply:
		n.welcomed(from, m)
	case open:
		n.opened(from, m)
	case closing:
		n.closed(from, m.stream)
	case piece:
		n.arrived(from, m)
	case waiting:
		n.waits(from, m)
	case ending:
		n.streamEnds(from, m)
	default:
		n.reduces.receive(from, m)
	}
	n.admitted()
	n.w.step(n, "message")
}

func (n *node) stepView(ev view.Event) {
	n.todo = append(n.todo, n.core.Step(ev)...)
	if n.doing {
		return
	}
	n.doing = true
	for len(n.todo) > 0 && !n.over {
		e := n.todo[0]
		n.todo = n.todo[1:]
		n.doView(e)
	}
	n.doing = false
}

func (n *node) doView(e view.Effect) {
	switch e := e.(type) {
	case view.Send:
		n.post(e.To, toView{e.Data})
	case view.Push:
		n.post(e.To, pushView{e.Term, e.View})
	case view.SendBeat:
		if e.By != "" {
			n.postBy(e.By, e.To, beat{e.Beat})
			break
		}
		n.post(e.To, beat{e.Beat})
	case view.Unanswered:
		n.w.met["leader that does not answer"]++
		n.stepDetector(detect.Broken{Node: e.Node, Now: n.clock()})
	case view.Majority:
		n.sees(e)
		n.tellLeaver()
	case view.SendReply:
		n.post(e.To, reply{e.Reply})
	case view.SendHalt:
		n.post(e.To, halt{e.Halt})
	case view.SendHalted:
		n.post(e.To, halted{e.Halted})
	case view.Formed:
		n.w.audit.formed(n)
	case view.NotFormed:
		n.w.anew.refused = e.Err.Kind
		n.w.met["forming refused: "+e.Err.Kind.Error()]++
	case view.Forward:
		n.post(e.To, forward{e.Relayed, e.Command})
	case view.Publish:
		n.publish(e.View)
	case view.Lease:
		n.client.lease = e.Until
		for i, s := range n.shards {
			if s != nil {
				n.stepShard(i, directory.Lease{Until: e.Until})
			}
		}
		n.gate.Leased(e.Until)
		n.release()
		n.process.leased(n, e.Until)
	case view.Fenced:
		if n.leaver != nil {
			n.leaver.step(leave.Fenced(n.id, n.view))
			return
		}
		n.w.audit.fenced(n)
		n.fenced()
	case view.GaveUp: // its proposer in the node proposes it again
		n.w.met["command given up"]++
	case view.Reject:
		n.w.met["view message refused"]++
	}
}

// publish takes a new view. Like a node, the simulated one hears of none before it is a member.
func (n *node) publish(v view.View) {
	n.w.audit.view(n, v)
	if n.member = n.member || v.Has(n.id); !n.member {
		return // learned on the way in
	}
	n.joining.viewed = n.joining.viewed || v.Has(n.id)
	old := n.view
	n.view = v
	for _, s := range member.Learn(n.id, old, v) {
		switch s := s.(type) {
		case member.Routes:
			n.routes.Learn(members(v))
		case member.Requests:
			n.client.learn(v)
		case member.Replicas:
			n.want()
			for i, s := range v.Shards {
				n.configure(i, s)
			}
		case member.Lists:
			n.client.owing.Step(n.clock(), ask.Learn{View: v})
			n.client.tell()
		case member.Detector:
			n.overdue.Learn(members(v))
			n.stepDetector(detect.Changed{Members: members(v), Voters: v.Voters, Now: n.clock()})
		case member.Services:
			n.process.learned(n)
		case member.Leaving:
			n.reduces.leave(s.Nodes)
		case member.Gone:
			n.breakWith(s)
		case member.Leave:
			if n.leaver != nil {
				n.leaver.viewed()
				n.tellLeaver()
			}
		}
	}
}

// configure starts, tells or ends this node's replica of a shard.
func (n *node) configure(i int, s view.Shard) {
	mine := owner.Replicates(n.id, s)
	if n.shards[i] == nil {
		if !mine {
			return
		}
		n.shards[i] = n.newShard(i, 0)
	}
	n.stepShard(i, owner.Configure(n.view, i))
	if !mine {
		n.shards[i] = nil
		return
	}
	n.stepShard(i, directory.Lease{Until: n.client.lease})
}

func (n *node) newShard(i int, lostIn uint64) *directory.Shard {
	n.short[i] = owner.Room{}
	return directory.New(directory.Config{Shard: i, Self: n.id, InlineLimit: n.w.shape.inline, Fanout: n.w.shape.fanout, LostIn: lostIn})
}

// panicShard has a replica lose its state.
func (n *node) panicShard(i int) {
	n.shards[i] = n.newShard(i, n.view.Shards[i].Epoch)
	n.stepShard(i, owner.Configure(n.view, i))
	if n.shards[i] != nil { // a view that came of that may have taken it
		n.stepShard(i, directory.Lease{Until: n.client.lease})
	}
}

func (n *node) stepShard(i int, ev directory.Event) {
	if !n.admits(i, ev) {
		return
	}
	s := n.shards[i]
	unread := n.w.audit.asksToEvict(s, ev)
	effects := s.Step(n.clock(), ev)
	unread()
	for _, e := range effects {
		switch e := e.(type) {
		case directory.Reply:
			n.w.audit.answer(n, i, e)
			n.post(e.To, toClient{e})
		case directory.Push:
			n.post(e.To, toHolder{i, e})
		case directory.Readiness:
			n.post(e.To, toWatcher{i, e})
		case directory.SendReplicate:
			n.post(e.To, toShard{i, e.Replicate})
		case directory.SendConfirm:
			n.post(e.To, toShard{i, e.Confirm})
		case directory.AckHoldings:
			n.post(e.To, ackHoldings{i, e.Epoch})
		case directory.AskLease:
			n.post(e.To, askLease{i, e.Object, e.Lease, e.Move})
		case directory.CaughtUp:
			n.stepView(view.Propose{Command: view.InSync{Shards: []view.Synced{{Shard: i, Epoch: e.Epoch, Node: e.Node}}}, Now: n.clock()})
		case directory.LostState:
			n.stepView(view.Propose{Command: view.Drop{Shard: i, Epoch: e.Epoch, Node: n.id}, Now: n.clock()})
		case directory.Warm:
			n.w.met["owner is warm again"]++
		case directory.ObjectReplaced:
			n.w.met["lost object replaced by other bytes"]++
		case directory.ObjectLost:
			n.w.audit.lost(n, e)
		}
	}
	if _, tick := ev.(directory.Tick); n.shards[i] == s && (!tick || len(effects) > 0) { // a new view may have ended the replica
		n.w.audit.shard(n, i)
	}
}
