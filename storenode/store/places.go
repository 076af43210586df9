package store

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
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
	"github.com/phalanx-go/phalanx/storenode/dataplane/combine"
)

// Places keeps the reduce places of a node: it starts their actors, hands
// commands to them and serves their outputs. It is safe for concurrent use.
type Places struct {
	env *Env
	ops *combine.Registry

	mu       sync.Mutex
	closed   bool
	actors   map[placeKey]*actor.PID
	outputs  map[placeKey]servedOutput
	changed  chan struct{} // closed when outputs changes
	passes   map[placeKey]*pass
	attended map[placeKey]int // streams of an output that need no seat
	warned   time.Duration    // when the node last logged that a place does not answer an inspection; 0: never
}

// NewPlaces returns the places of a node, and makes them those of env.
func NewPlaces(env *Env, ops *combine.Registry) *Places {
	env.places = &Places{env: env, ops: ops, actors: map[placeKey]*actor.PID{}, outputs: map[placeKey]servedOutput{}, passes: map[placeKey]*pass{}, attended: map[placeKey]int{}, changed: make(chan struct{})}
	return env.places
}

// Order carries out a coordinator's order, or answers it.
func (h *Places) Order(from *actor.PID, order reduce.Effect) {
	if in, ok := order.(reduce.Inspect); ok {
		h.Inspect(from, in)
		return
	}
	h.mu.Lock()
	v := rnode.Obey(order, h.env.Self, h.env.Leaves(), func(key placeKey) bool { return h.actors[key] != nil })
	pid := h.actors[v.Key]
	if v.Starts && !h.closed {
		var err error
		pid, err = h.env.Spawn(actor.PropsFromProducer(func() actor.Actor {
			return &place{env: h.env, hub: h, key: v.Key}
		}), fmt.Sprintf("place-%d", h.env.nums.Add(1)))
		if err != nil {
			s := order.(reduce.Command).State
			v.Answer = reduce.Refused{Place: s.Place, Node: h.env.Self, Attempt: s.Attempt, Version: s.Version, Kind: phalanx.ErrInternal, Text: err.Error()}
		} else {
			h.actors[v.Key] = pid
		}
	}
	h.mu.Unlock()
	switch {
	case v.Answer != nil:
		h.report(nil, from, v.Key, v.Answer)
	case pid != nil:
		h.env.send(pid, ordered{v.Event, from})
	}
}

// corrupted tells the place that makes c, if one does, that its bytes have changed in memory.
func (h *Places) corrupted(c *objectCopy, bad *dataplane.BadPiece) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, pid := range h.actors {
		if key.Target == c.Object {
			h.env.send(pid, outputBad{root: c, err: bad})
		}
	}
}

// report sends an event to a coordinator, from a place or from its node.
func (h *Places) report(from, to *actor.PID, key placeKey, ev reduce.Event) {
	h.env.System.Root.RequestWithCustomSender(to, messages.ReportToProto(messages.Report{Target: key.Target, Reduce: key.Reduce, Node: h.env.Self, Event: ev}), from)
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
		a.hub.env.Coordinators.Heard(m)
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
	a.hub.Order(c.Sender(), order)
}
