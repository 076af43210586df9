package storenode

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane/combine"
)

// Places keeps the reduce places of a node: it starts their actors, hands
// commands to them and serves their outputs. It is safe for concurrent use.
type Places struct {
	env *Env
	ops *combine.Registry
	// Coordinators takes reports that are for whoever runs a Reduce on this node.
	Coordinators func(*messages.PlaceReport)

	mu       sync.Mutex
	closed   bool
	actors   map[placeKey]*actor.PID
	outputs  map[placeKey]servedOutput
	changed  chan struct{} // closed when outputs changes
	passes   map[placeKey]*pass
	attended map[placeKey]int // streams of an output that need no seat
	warned   time.Duration    // when it was logged last that a place does not say what it does; 0: never
}

// NewPlaces returns a node without places.
func NewPlaces(env *Env, ops *combine.Registry) *Places {
	return &Places{env: env, ops: ops, actors: map[placeKey]*actor.PID{}, outputs: map[placeKey]servedOutput{}, passes: map[placeKey]*pass{}, attended: map[placeKey]int{}, changed: make(chan struct{})}
}

// Command carries out a coordinator's command; the place is started if there is
// none.
func (h *Places) Command(from *actor.PID, s reduce.State) {
	key := placeKey{s.Target, s.Reduce, s.Place}
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	pid := h.actors[key]
	if pid == nil && h.env.Leaves() {
		h.mu.Unlock()
		h.report(nil, from, key, reduce.Refused{Place: s.Place, Node: h.env.Self, Attempt: s.Attempt, Version: s.Version, Kind: phalanx.ErrClosed, Text: "the node is leaving the cluster"})
		return
	}
	if pid == nil {
		var err error
		pid, err = h.env.Spawn(actor.PropsFromProducer(func() actor.Actor {
			return &place{env: h.env, hub: h, key: key, beat: actors.NewTicker(placeTick)}
		}), fmt.Sprintf("place-%d", h.env.nums.Add(1)))
		if err != nil {
			h.mu.Unlock()
			h.report(nil, from, key, reduce.Refused{Place: s.Place, Node: h.env.Self, Attempt: s.Attempt, Version: s.Version, Kind: phalanx.ErrInternal, Text: err.Error()})
			return
		}
		h.actors[key] = pid
	}
	h.mu.Unlock()
	h.env.send(pid, placeEvent{reduce.Commanded{State: s}, from})
}

// Stop ends a place; one that is not here has ended.
func (h *Places) Stop(from *actor.PID, s reduce.Stop) {
	if pid := h.find(placeKey{s.Target, s.Reduce, s.Place}); pid != nil {
		h.env.send(pid, placeEvent{reduce.Stopping{Place: s.Place, Attempt: s.Attempt, Gen: s.Gen, Final: s.Final, TargetGen: s.TargetGen}, from})
		return
	}
	h.report(nil, from, placeKey{s.Target, s.Reduce, s.Place}, reduce.Stopped{Place: s.Place, Node: h.env.Self, Gen: s.Gen})
}

// Ask asks a place whether it has all of a child's output.
func (h *Places) Ask(from *actor.PID, a reduce.AskDelivered) {
	if pid := h.find(placeKey{a.Target, a.Reduce, a.Parent}); pid != nil {
		h.env.send(pid, placeEvent{reduce.Asked{ParentGen: a.ParentGen, Child: a.Child, ChildGen: a.ChildGen}, from})
		return
	}
	h.report(nil, from, placeKey{a.Target, a.Reduce, a.Parent}, reduce.NotDelivered{Parent: a.Parent, ParentGen: a.ParentGen, Child: a.Child, ChildGen: a.ChildGen})
}

// Runs asks a place whether it runs.
func (h *Places) Runs(from *actor.PID, a reduce.AskRuns) {
	key := placeKey{a.Target, a.Reduce, a.Place}
	if pid := h.find(key); pid != nil {
		h.env.send(pid, placeEvent{reduce.AskedRuns{Place: a.Place, Gen: a.Gen}, from})
		return
	}
	h.report(nil, from, key, reduce.PlaceLost{Place: a.Place, Gen: a.Gen, Reason: reduce.LostPanic, Text: "the place does not run any more"})
}

// report sends an event to a coordinator, from a place or from its node.
func (h *Places) report(from, to *actor.PID, key placeKey, ev reduce.Event) {
	if a, ok := ev.(reduce.Acked); ok {
		a.Node = h.env.Self
		ev = a
	}
	h.env.System.Root.RequestWithCustomSender(to, messages.ReportToProto(messages.Report{Target: key.target, Reduce: key.reduce, Node: h.env.Self, Event: ev}), from)
}

// Running returns how many places run on this node.
func (h *Places) Running() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.actors)
}

// Close ends every place. Closing twice is safe.
func (h *Places) Close() {
	h.mu.Lock()
	h.closed = true
	pids := slices.Collect(maps.Values(h.actors))
	h.mu.Unlock()
	for _, pid := range pids {
		_ = h.env.System.Root.StopFuture(pid).Wait()
	}
}

func (h *Places) find(key placeKey) *actor.PID {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.actors[key]
}

func (h *Places) forget(key placeKey, pid *actor.PID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at := h.actors[key]; at != nil && at.Equal(pid) {
		delete(h.actors, key)
	}
}

// placesActor receives the orders of coordinators.
type placesActor struct{ hub *Places }

// Actor returns the props of the actor to which coordinators send their orders.
func (h *Places) Actor() *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &placesActor{h} })
}

// Receive hands an order on, or a report.
func (a *placesActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *messages.PlaceReport:
		a.hub.Coordinators(m)
		return
	case actors.Crash:
		panic(m)
	}
	m, ok := c.Message().(*messages.PlaceOrder)
	if !ok || c.Sender() == nil {
		return
	}
	_, order, err := messages.OrderFromProto(m)
	if err != nil {
		a.hub.env.Log.WithError(err).Warn("a coordinator's order cannot be read")
		return
	}
	switch o := order.(type) {
	case reduce.Command:
		a.hub.Command(c.Sender(), o.State)
	case reduce.Stop:
		a.hub.Stop(c.Sender(), o)
	case reduce.AskDelivered:
		a.hub.Ask(c.Sender(), o)
	case reduce.AskRuns:
		a.hub.Runs(c.Sender(), o)
	case reduce.Inspect:
		a.hub.Inspect(c.Sender(), o)
	}
}
