package store

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	nput "github.com/phalanx-go/phalanx/node/put"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// Directory takes the store's requests to the owners of objects.
type Directory interface {
	// Nums returns the first of n unused request numbers.
	Nums(n uint64) uint64
	// Request sends body to the owner of id, again until the owner answers. It
	// calls deliver from another goroutine: with Waiting any number of times, and
	// once more with the answer.
	Request(id phalanx.ObjectID, num uint64, body directory.Body, deliver func(owner phalanx.NodeID, r directory.Result))
	// Forget ends the repetition of a request.
	Forget(num uint64)
	// Impatient has silent called, from another goroutine, whenever the owner has
	// not answered a request for some seconds. The request goes on.
	Impatient(num uint64, silent func(*phalanx.Error))
	// Owner returns the node that owns id in the present view.
	Owner(id phalanx.ObjectID) phalanx.NodeID
	// View returns the number of the present view.
	View() uint64
	// Epoch returns the epoch of id's shard in the present view. A new owner begins
	// a new epoch, and so does an owner that has lost its records.
	Epoch(id phalanx.ObjectID) uint64
	// Shards returns how many directory shards there are, 0 before the first view.
	Shards() int
	// Tell sends an event about id to node's replica of its shard, once.
	Tell(node phalanx.NodeID, id phalanx.ObjectID, ev directory.Event)
}

// Coordinators run the Reduces of this node and take the reports of places.
type Coordinators interface {
	// Reduce runs r and calls done once.
	Reduce(r storenode.Reduce, done func(storenode.Reduced))
	// Run is Reduce for ordinary Go code: it ends with ctx. If other nodes may run the same
	// Reduce, shared is not nil, and brings the target when this node has it.
	Run(ctx context.Context, r storenode.Reduce, shared <-chan storenode.Info) (storenode.ReduceResult, error)
	// Heard takes a place's report.
	Heard(*messages.PlaceReport)
}

// Env is the state that the actors of one node's store share. It outlives them all.
type Env struct {
	Self        phalanx.NodeID
	System      *actor.ActorSystem
	Table       *Table
	Pool        *dataplane.Pool
	Conns       *dataplane.Conns
	Given       *Given
	Directory   Directory
	Now         func() time.Duration // since the start of the node
	Log         logrus.FieldLogger
	Deadline    time.Duration // of a call that has none
	InlineLimit int64
	Fanout      int
	// Spawn starts a supervised actor beside the store.
	Spawn func(props *actor.Props, name string) (*actor.PID, error)
	// Publish puts a recovery event on the actor system's event stream.
	Publish func(event any)
	// Members returns the nodes of the present view, Staying its nodes that are not
	// about to leave.
	Members, Staying func() []phalanx.NodeID
	// StoreOn returns the store actor of another node.
	StoreOn func(node phalanx.NodeID) (*actor.PID, bool)
	// Request sends a message to an actor, also of another node, and returns its
	// answer. Its errors have a Kind.
	Request func(ctx context.Context, to *actor.PID, message any) (any, error)
	// Coordinators run the Reduces of callers on this node.
	Coordinators Coordinators

	// StorePID is the node's store actor.
	StorePID *actor.PID

	places *Places
	nums   atomic.Uint64
	down   downlink
	leaves atomic.Bool // see Leave
	fenced atomic.Bool // see Fence
	active registry

	checking sync.Mutex // held by the check that looks at a copy's bytes
	life     life

	outgoing outgoing
	leading  sync.Map // the targets that an AllReduce here makes for all nodes
}

// registry holds the fetches, Puts and checks that run, so that a restarted store finds them.
type registry struct {
	mu      sync.Mutex
	fetches map[phalanx.ObjectID]*arrival
	puts    nput.Running[*actor.PID]
	checks  map[phalanx.ObjectID]bool // the objects with a check that runs
	closed  bool                      // the node starts no more fetches, Puts and checks
}

// Fetching returns how many objects are arriving.
func (e *Env) Fetching() int {
	e.active.mu.Lock()
	defer e.active.mu.Unlock()
	return len(e.active.fetches)
}

// addPut notes a put, unless the node takes no more of them.
func (e *Env) addPut(id phalanx.ObjectID, pid *actor.PID, whileLeaving bool) *phalanx.Error {
	e.active.mu.Lock()
	defer e.active.mu.Unlock()
	if e.active.closed {
		return e.Ended()
	}
	if e.Leaves() && !whileLeaving {
		return e.Leaving()
	}
	e.active.puts.Add(id, pid)
	return nil
}

func (e *Env) removePut(id phalanx.ObjectID, pid *actor.PID) {
	e.active.mu.Lock()
	defer e.active.mu.Unlock()
	e.active.puts.Remove(id, pid)
}

// noteOrder notes an order for the puts of its object.
func (e *Env) noteOrder(p directory.Push) {
	e.active.mu.Lock()
	defer e.active.mu.Unlock()
	e.active.puts.Order(p)
}

// meanwhile returns the orders for id since the first of its running puts began.
func (e *Env) meanwhile(id phalanx.ObjectID) nput.Since {
	e.active.mu.Lock()
	defer e.active.mu.Unlock()
	return e.active.puts.Since(id)
}

// makers returns the put actors that make id here.
func (e *Env) makers(id phalanx.ObjectID) []*actor.PID {
	e.active.mu.Lock()
	defer e.active.mu.Unlock()
	return e.active.puts.Of(id)
}

func (e *Env) send(to *actor.PID, msg any) { e.System.Root.Send(to, msg) }

// Free returns the free bytes of the budget. Copies that could be evicted do not count as
// free.
func (e *Env) Free() int64 {
	b := e.Pool.Budget()
	return b.Cap() - b.Used() + e.Pool.Idle()
}
