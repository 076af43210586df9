package workflow

import (
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/messages"
	keepers "github.com/phalanx-go/phalanx/node/ledger"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	"github.com/phalanx-go/phalanx/protocol/ledger"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// controller is the actor of one tenure. It ends with the tenure, and the tenure with it: after a panic this node gives
// the tenure up, and the next controller reads the ledger anew.
type controller struct {
	tenure durable.Tenure
	core   interface {
		Begin() []flow.TenureEffect
		Step(now time.Duration, ev flow.TenureEvent) []flow.TenureEffect
		Due() (at time.Duration, ok bool)
	}
	clock   func() time.Duration
	post    func(to phalanx.NodeID, letter any) // to the service of a node
	log     logrus.FieldLogger
	ended   chan<- struct{} // closed when the actor has ended
	publish func(core.News)
	wakeup  actors.Wakeup
	out     bool // the actor is to end
	broken  bool // the core has panicked: what it would do next was never decided as a whole
	space   space
	disks   func(to chan<- []keepers.Seen) // has the keeper tell which disks it knows
	self    func() phalanx.NodeID          // the incarnation of now
	starts  starts
	sweep   func(done func(failed bool)) // has the node adopt objects that perhaps no other node has noted
}

// inputBudget is how many bytes of recorded outputs go with an order; executors get the others one by one.
const inputBudget = 128 << 10

type (
	appended struct {
		number uint64
		err    error
	}
	confirmed struct {
		number uint64
		err    error
	}
	// wanted asks for rows, for an executor.
	wanted struct {
		from phalanx.NodeID
		rows flow.WantRows
	}
)

// Receive turns messages into events.
func (k *controller) Receive(c actor.Context) {
	if k.wakeup.Due(c) {
		k.step(c, flow.Tick{})
		return
	}
	switch m := c.Message().(type) {
	case *actor.Started:
		k.carryOut(c, k.core.Begin())
	case *actor.Stopping:
		k.end(c)
	case *actor.Stopped:
		close(k.ended)
	case appended:
		if m.err != nil {
			k.failed(c, m.err)
			return
		}
		k.step(c, flow.Appended{Number: m.number})
	case confirmed:
		switch {
		case m.err == nil:
			k.step(c, flow.Assured{Number: m.number})
		case errors.Is(m.err, durable.ErrBusy):
			k.step(c, flow.Busy{Number: m.number})
		default:
			k.failed(c, m.err)
		}
	case wanted:
		root, self := c.ActorSystem().Root, c.Self()
		go func() {
			if err := k.have(m); err != nil {
				root.Send(self, flow.Unread{Why: err.Error()})
			}
		}()
	case flow.Asked:
		k.asked(c, m)
	case putTogether:
		k.starts.done(m)
		k.start(c, m.asked, m.err)
		k.starts.next(c)
	case flow.Unasked:
		k.starts.withdrawn(m)
		k.step(c, m)
	case flow.TenureEvent:
		k.step(c, m)
	case actors.Crash:
		panic(m)
	}
}

// failed ends the controller, which cannot go on. If the tenure does, its host gives it up, so that another one follows.
func (k *controller) failed(c actor.Context, err error) {
	if errors.Is(err, durable.ErrFenced) {
		k.step(c, flow.Ended{})
		k.stop(c)
		return
	}
	k.step(c, flow.Refused{Why: err.Error()})
}

// stop ends the actor.
func (k *controller) stop(c actor.Context) {
	if !k.out {
		k.out = true
		c.Stop(c.Self())
	}
}

// asked takes a request. A workflow is put together of its form, and checked, first.
func (k *controller) asked(c actor.Context, m flow.Asked) {
	if _, is := m.Request.Call.(core.GetLedger); is {
		k.ledger(m)
		return
	}
	start, is := m.Request.Call.(core.StartRun)
	if is {
		m.Full = k.space.full(k.clock())
	}
	if !is || start.Work != nil {
		k.step(c, m)
		return
	}
	if len(m.Request.Graph) < largeGraph {
		asked, err := withWork(m)
		k.start(c, asked, err)
		return
	}
	if err := k.starts.take(m); err != nil {
		k.post(m.From, flow.Reply{Number: m.Request.Number, Busy: true, Answer: core.Answer{Err: err}})
		return
	}
	k.starts.next(c)
}

// start takes a StartRun with its Work, or answers why there is none.
func (k *controller) start(c actor.Context, m flow.Asked, err error) {
	if err != nil {
		k.post(m.From, flow.Reply{Number: m.Request.Number, Answer: core.Answer{Err: err}})
		return
	}
	k.step(c, m)
}

func (k *controller) step(c actor.Context, ev flow.TenureEvent) {
	if k.broken {
		return
	}
	k.broken = true
	effects := k.core.Step(k.clock(), ev)
	k.broken = false
	k.carryOut(c, effects)
}

// end has the core answer those that wait. An actor that panics as it stops would never have stopped.
func (k *controller) end(c actor.Context) {
	defer func() {
		if why := recover(); why != nil {
			k.log.Errorf("the controller of workflows has panicked as it ended: %v", why)
		}
	}()
	k.step(c, flow.Ended{})
	for _, m := range k.starts.waits {
		k.step(c, m) // its client is told to ask the next controller
	}
	k.starts.waits = nil
}

func (k *controller) carryOut(c actor.Context, effects []flow.TenureEffect) {
	root, self := c.ActorSystem().Root, c.Self()
	for _, e := range effects {
		switch e := e.(type) {
		case flow.Append:
			number := e.Number
			k.tenure.Append(e.Rows, func(err error) { root.Send(self, appended{number, err}) })
		case flow.Look:
			go func() { root.Send(self, look(k.tenure, e)) }()
		case flow.AskSure:
			number := e.Number
			k.tenure.Confirm(func(err error) { root.Send(self, confirmed{number, err}) })
		case flow.Tell:
			k.tell(e)
		case flow.Respond:
			k.post(e.To, e.Reply)
		case flow.Publish:
			k.publish(e.News)
		case flow.Sweep:
			k.sweep(func(failed bool) { root.Send(self, flow.Swept{Failed: failed}) })
		case flow.GiveUp:
			k.log.Errorf("this node cannot lead the ledger of workflows: %s", e.Why)
			k.stop(c)
		}
	}
	at, ok := k.core.Due()
	k.wakeup.Set(c, k.clock(), at, ok)
}

// tell sends a message to an executor; an order with what the task runs.
func (k *controller) tell(e flow.Tell) {
	if o, is := e.Message.(core.Order); is {
		w := o.Of.(*works)
		e.Message = messages.Fit(o, w.graph, inputBudget, func(l core.Located) string { return core.OutputRow(o.ID.Run, l) })
	}
	k.post(e.To, e.Message)
}

// look reads rows.
func look(t durable.Tenure, l flow.Look) flow.Looked {
	answer := flow.Looked{Number: l.Number}
	for _, r := range l.Ranges {
		end, limit := r.End, r.Limit
		if end == "" {
			end, limit = r.Key+"\x00", 1
		}
		if err := t.Range(r.Key, end, limit, func(row ledger.Row) bool {
			answer.Rows = append(answer.Rows, row)
			return true
		}); err != nil {
			answer.Failed = err.Error()
			return answer
		}
	}
	return answer
}

// have sends an executor the rows that it wants, as far as they are there: it asks again for the others. The error says that
// one cannot be read.
func (k *controller) have(m wanted) error {
	answer := flow.HaveRows{Epoch: m.rows.Epoch}
	for _, key := range m.rows.Keys {
		l := look(k.tenure, flow.Look{Ranges: []flow.Range{{Key: key}}})
		if l.Failed != "" {
			return errors.New(l.Failed)
		}
		for _, r := range l.Rows {
			v, err := messages.UnmarshalRow(r.Value, 0)
			b, is := v.(core.OutputBytes)
			if err != nil || !is {
				return fmt.Errorf("row %s is no output: %v", key, err)
			}
			answer.Rows = append(answer.Rows, flow.OutputRow{Key: key, Bytes: b.Bytes})
		}
	}
	k.post(m.from, answer)
	return nil
}
