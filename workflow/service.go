package workflow

import (
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/logging"
	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
	"github.com/phalanx-go/phalanx/workflow/internal/keeper"
)

// service is the actor. It owns the node's executor and the calls of the node's clients, and passes on what is for the
// controller.
type service struct {
	node   *cluster.Node
	open   *open
	wakeup actors.Wakeup
}

// The package's own messages to the service's actor.
type (
	// local is a letter from this node.
	local struct{ letter any }
	// leading says that the controller of a tenure runs here.
	leading struct {
		pid   *actor.PID
		epoch uint64
	}
	// led says that it does not any more.
	led struct{ pid *actor.PID }
	// happened is an event of the executor that a goroutine has brought about.
	happened struct {
		life  *incarnation
		event core.ExecutorEvent
	}
)

// Receive turns messages into events.
func (s *service) Receive(c actor.Context) {
	if s.wakeup.Due(c) {
		s.call(c, flow.CallerTick{})
		s.member(c, flow.Local{Event: core.Tick{}})
		s.restorer(c, flow.Tick{})
		s.copier(c, flow.Tick{})
		s.calling(c, flow.Tick{})
		s.hosting(c, flow.Tick{})
		return
	}
	switch m := c.Message().(type) {
	case *actor.Started:
		s.open.begin(c.ActorSystem().Root, c.Self())
		if v := s.node.View(); v.Has(s.node.ID()) {
			s.viewed(c, cluster.Viewed{Self: s.node.ID(), View: v})
		}
	case *actor.Stopping:
		s.open.end()
	case cluster.Viewed:
		s.viewed(c, m)
	case cluster.Leased:
		s.member(c, flow.Local{Event: core.Leased{Until: m.Until}})
		if s.open.life.runs() {
			s.node.WantLease()
		}
	case *messages.WorkflowLetter:
		if from, to, letter, err := messages.WorkflowFromProto(m); s.good(m.GetFrom(), err) && to == s.open.self {
			s.heard(c, from, letter)
		}
	case local:
		s.heard(c, s.open.self, m.letter)
	case happened:
		e, ended := m.event.(core.AttemptEnded)
		switch {
		case m.life == s.open.life && ended:
			m.life.ended(e.ID)
			fallthrough
		case m.life == s.open.life:
			s.member(c, flow.Local{Event: m.event})
		case ended: // nobody takes its outcome, and its run may be over: what it has put goes with the run
			s.member(c, flow.Local{Event: core.Kept{Runs: []core.UID{e.ID.Run}}})
		}
	case beaten:
		if m.life == s.open.life {
			if progress := m.life.latest(m.id); progress != nil {
				s.member(c, flow.Local{Event: core.Beats{ID: m.id, Progress: progress}})
			}
		}
	case leading:
		s.open.controller, s.open.epoch = m.pid, m.epoch
		c.Send(m.pid, flow.View{Members: s.open.view})
	case led:
		if s.open.controller != nil && s.open.controller.Equal(m.pid) {
			s.open.controller = nil
		}
	case *asked:
		s.ask(c, m)
	case *copiesWait:
		s.awaitsCopies(c, m)
	case noWait:
		delete(s.open.copies.waits, m.copiesWait)
	case copiesCounted:
		s.copiesCounted(c, m)
	case countCopies:
		s.open.copies.due = false
		s.countCopies(c)
	case *forsaken:
		if s.open.calls[m.asked.number] == m.asked {
			delete(s.open.calls, m.asked.number)
			s.call(c, flow.Forsaken{Number: m.asked.number})
		}
	case foundBlobs:
		if m.life == s.open.life {
			s.seeDisks(c, s.open.disks)
		}
	case forCopier:
		s.copier(c, m.event)
	case sweep:
		if s.open.life == nil {
			m.done(true)
		} else {
			s.open.life.sweep(m.done)
		}
	case *restoring:
		s.restore(c, m)
	case notRestoring:
		if n := m.wish.Number; s.open.restores[n] == m.restoring {
			delete(s.open.restores, n)
			s.restorer(c, flow.Unwished{Number: n})
		}
	case resulting:
		if s.open.life != nil {
			s.open.life.keep(m.run.String(), m.object, true)
		}
	case actors.Crash:
		panic(m)
	default:
		if !s.acts(c) {
			s.application(c)
		}
	}
}

// viewed takes a view. A new incarnation of the node is another member: what the one before has run is lost.
func (s *service) viewed(c actor.Context, m cluster.Viewed) {
	o := s.open
	if o.life == nil || o.self != m.Self {
		o.rebirth(m.Self)
	}
	nodes, leaving := m.View.IDs(Name)
	o.view = core.Members{View: core.ViewNumber{Boot: m.View.Restarts, Number: m.View.Number}, Nodes: nodes, Leaving: leaving}
	if o.controller != nil {
		c.Send(o.controller, flow.View{Members: o.view})
	}
	disks, _ := m.View.IDs(keeper.Folder)
	around := flow.Around{Self: m.Self, Nodes: nodes, Disks: disks, First: m.View.First(keeper.Folder)}
	s.call(c, around)
	s.restorer(c, around)
	s.calling(c, around)
	s.hosting(c, around)
	s.seeDisks(c, disksOf(m.Self, m.View))
	o.joiner.Keep(nodes)
}

// heard takes a letter of a node.
func (s *service) heard(c actor.Context, from phalanx.NodeID, letter any) {
	o := s.open
	switch m := letter.(type) {
	case core.Tell, core.Taken, core.Busy, core.Report, core.Beaten, core.Waits, core.Keeps, core.BlobWritten, core.Freed:
		if o.controller != nil {
			c.Send(o.controller, flow.Heard{From: from, Message: m.(core.Message)})
		}
	case core.Message:
		s.member(c, flow.Got{From: from, Message: m})
	case flow.WantRows:
		if o.controller != nil && m.Epoch == o.epoch {
			c.Send(o.controller, wanted{from, m})
		}
	case flow.HaveRows:
		s.member(c, flow.GotRows{From: from, Rows: m})
	case flow.Request:
		if o.controller != nil {
			c.Send(o.controller, flow.Asked{From: from, Request: m})
			return
		}
		s.post(c, from, flow.Elsewhere{Number: m.Number, Controller: o.follows, Epoch: o.followed, Disk: o.disk != nil})
	case flow.Withdrawn:
		if o.controller != nil {
			c.Send(o.controller, flow.Unasked{From: from, Number: m.Number})
		}
	case flow.Reply:
		s.call(c, flow.Replied{From: from, Reply: m})
	case flow.Elsewhere:
		s.call(c, flow.Redirected{From: from, Elsewhere: m})
	case flow.Restore:
		if o.life != nil {
			o.life.putAgain(from, m)
		}
	case flow.Copy:
		if o.life != nil {
			o.life.copyAgain(from, m)
		}
	case flow.Copied:
		s.copier(c, flow.CopyEnded{From: from, Copied: m})
	case flow.Which:
		if o.life != nil {
			o.life.which(from, m)
		}
	case flow.These:
		s.copier(c, flow.Counted{From: from, These: m})
	case flow.Restored:
		s.restorer(c, flow.Answered{From: from, Restored: m})
	case flow.ActorCall:
		s.hosting(c, flow.ActorCalled{From: from, Call: m})
	case flow.ActorAnswer:
		s.calling(c, flow.ActorAnswered{From: from, Answer: m})
	case flow.ActorOver:
		s.hosting(c, flow.ActorLeft{From: from, Over: m})
	case flow.Piece:
		b := o.joiner.Join(from, m)
		if b == nil {
			return
		}
		l := &messages.WorkflowLetter{}
		if !s.good(string(from), proto.Unmarshal(b, l)) {
			return
		}
		if by, to, whole, err := messages.WorkflowFromProto(l); s.good(string(from), err) && by == from && to == o.self {
			if _, again := whole.(flow.Piece); !again {
				s.heard(c, from, whole)
			}
		}
	}
}

// good reports whether a letter can be read.
func (s *service) good(from string, err error) bool {
	if err != nil {
		s.node.Log().WithError(err).WithField(logging.Peer, from).Warn("refused a message about workflows")
	}
	return err == nil
}

// post sends a letter to a node.
func (s *service) post(c actor.Context, to phalanx.NodeID, letter any) {
	if to == s.open.self {
		c.Send(c.Self(), local{letter})
		return
	}
	s.open.post(to, letter)
}

// member gives the executor an event, and carries out its effects.
func (s *service) member(c actor.Context, ev flow.MemberEvent) {
	o := s.open
	if o.life == nil {
		return
	}
	for _, e := range o.life.member.Step(s.node.Now(), ev) {
		switch e := e.(type) {
		case flow.Want:
			s.post(c, e.To, e.Letter)
		case flow.Follows:
			o.follows, o.followed = e.Node, e.Epoch
			s.call(c, flow.Leads(e))
			s.member(c, flow.Local{Event: core.Kept{Runs: o.life.cast.host.Runs()}}) // this controller does not know of the actors here
		case flow.Do:
			switch e := e.Effect.(type) {
			case core.RunAttempt:
				s.node.WantLease()
				o.life.begin(e.Order)
			case core.CancelAttempt:
				o.life.cancel(e.ID)
			case core.ToController:
				if e.To == o.self && o.controller != nil {
					c.Send(o.controller, flow.Heard{From: o.self, Message: e.Message})
				} else {
					s.post(c, e.To, e.Message)
				}
			case core.SaveBlob:
				o.life.save(e)
			case core.Census:
				s.member(c, flow.Local{Event: core.Kept{Runs: o.life.census(e.Only)}})
			case core.Free:
				o.life.free(e.Runs)
				s.hosting(c, flow.ActorsFreed{Runs: e.Runs})
			case core.EndProcess:
				o.settings.endProcess(e.Why)
			}
		}
	}
	s.wake(c)
}

// call gives the calls of clients an event, and carries out its effects.
func (s *service) call(c actor.Context, ev flow.CallerEvent) {
	o := s.open
	for _, e := range o.caller.Step(s.node.Now(), ev) {
		switch e := e.(type) {
		case flow.Deliver:
			if e.To == o.self && o.controller != nil {
				s.deliver(c, e.Request)
			} else {
				s.post(c, e.To, e.Request)
			}
		case flow.Dismiss:
			s.post(c, e.To, e.Withdrawn)
		case flow.Returned:
			if a := o.calls[e.Number]; a != nil {
				delete(o.calls, e.Number)
				a.end(e.Answer)
			}
		}
	}
	s.wake(c)
}

// deliver gives the controller here a request. It need not put a workflow together again.
func (s *service) deliver(c actor.Context, r flow.Request) {
	if start, is := r.Call.(core.StartRun); is {
		if a := s.open.calls[r.Number]; a != nil && a.work != nil {
			start.Work = a.work
			r.Call, r.Graph = start, nil
		}
	}
	c.Send(s.open.controller, flow.Asked{From: s.open.self, Request: r})
}

func (s *service) wake(c actor.Context) {
	at, ok := s.open.caller.Due()
	if s.open.life != nil {
		if a, some := s.open.life.member.Due(); some && (!ok || a < at) {
			at, ok = a, true
		}
		if a, some := s.open.life.cast.calls.Due(); some && (!ok || a < at) {
			at, ok = a, true
		}
		if a, some := s.open.life.cast.host.Due(); some && (!ok || a < at) {
			at, ok = a, true
		}
	}
	if a, some := s.open.restorer.Due(); some && (!ok || a < at) {
		at, ok = a, true
	}
	if s.open.copier != nil {
		if a, some := s.open.copier.Due(); some && (!ok || a < at) {
			at, ok = a, true
		}
	}
	s.wakeup.Set(c, s.node.Now(), at, ok)
}

// ask takes a call.
func (s *service) ask(c actor.Context, a *asked) {
	o := s.open
	if o.openErr != nil {
		a.end(core.Answer{Err: &phalanx.Error{Op: "workflow", Kind: phalanx.ErrUnavailable, Err: o.openErr}})
		return
	}
	o.number++
	a.number = o.number
	o.calls[a.number] = a
	deadline := time.Duration(0)
	if !a.deadline.IsZero() {
		deadline = max(1, s.node.Now()+time.Until(a.deadline))
	}
	s.call(c, flow.Call{Number: a.number, Call: a.call, Graph: a.graph, Deadline: deadline})
}

var errLeft = errors.New("this node has left the cluster")
