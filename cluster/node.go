package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster/internal/membership"
	"github.com/phalanx-go/phalanx/cluster/internal/remoting"
	"github.com/phalanx-go/phalanx/internal/logging"
	"github.com/phalanx-go/phalanx/protocol/leave"
	"github.com/phalanx-go/phalanx/protocol/view"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
	"github.com/phalanx-go/phalanx/storenode/store"
)

// Node is this process's part in a cluster. It is safe for concurrent use.
//
// If the cluster removes it although the process lives, because it hung or was
// cut off, or if an actor that it needs panics again and again, it joins again by
// itself as a new incarnation: its ID changes, actors of the application and
// complete copies stay, calls fail with ErrFenced until it is a member again.
type Node struct {
	cfg     Config
	log     logrus.FieldLogger
	started time.Time
	clock   actors.Clock

	system     *actor.ActorSystem
	remote     *remoting.Remoting
	bridge     *actors.Bridge
	workers    *actors.Workers
	budget     *dataplane.Budget
	pool       *dataplane.Pool
	table      *store.Table
	given      store.Given
	restarting *actors.Supervisor
	oneShot    *actors.Supervisor

	life atomic.Pointer[life] // the present incarnation

	unsent said // of messages that cannot be sent

	storeProxy *actor.PID   // takes the application's messages to the store
	gate       sync.RWMutex // held as one hands a message on, and as an incarnation ends

	done   chan struct{} // closed when the node leaves
	leaves chan struct{} // capacity 1: one Leave at a time
	ending sync.Once
	left   chan struct{}  // closed when it has left
	why    *phalanx.Error // it ended without leaving; written before done is closed

	services []*actor.PID // in the order of the configuration's
	resume   resume

	mu         sync.Mutex
	held       map[string]int64         // bytes that each service holds
	remains    map[string]leave.Service // of each service that hands over
	apps       []*actor.PID             // actors of the application, to be stopped on Leave; some may have ended
	appRoom    int                      // of apps, before actors that have ended are taken out
	leaving    bool
	rejoined   chan struct{} // closed, and replaced, when it is a member again
	rejoining  sync.WaitGroup
	background context.Context // ends when the node leaves
	stop       context.CancelFunc
}

// Join makes this process a node: of the cluster that Seeds are in, or of a
// new one. It returns once this node is in the view and the cluster survives the death of
// another node, if it can: enough members vote, every shard has a backup, and these answer.
// After 5 s it returns without that, and logs a warning. The caller must Leave, and Close the node if it is to end although
// Leave has failed.
func Join(ctx context.Context, cfg Config) (*Node, error) {
	cfg.Services = withNeeded(cfg.Services)
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	if err := cfg.reachable(ctx); err != nil {
		return nil, err
	}
	cfg.Logger = logging.Limit(cfg.Logger)
	n := &Node{cfg: cfg, started: time.Now(), clock: actors.NewClock(), done: make(chan struct{}), left: make(chan struct{}), leaves: make(chan struct{}, 1), rejoined: make(chan struct{}),
		log: cfg.Logger.WithField(logging.Node, cfg.Name)}
	n.background, n.stop = context.WithCancel(context.Background())
	told := n.tellWaits()
	err := n.start(ctx)
	told()
	if err != nil {
		n.shutdown()
		return nil, err
	}
	return n, nil
}

func (n *Node) start(ctx context.Context) error {
	cfg := n.cfg
	n.system = actors.NewSystem(cfg.Name, n.log)
	n.restarting, n.oneShot = actors.Restarting(n.log), actors.StopOnPanic(n.log)
	n.bridge, n.workers = actors.NewBridge(n.system), actors.NewWorkers()
	kinds := map[string]*actor.Props{}
	for name, kind := range cfg.Kinds {
		kinds[name] = n.restarting.Guard(kind(n))
	}
	var err error
	if n.remote, err = remoting.Start(n.system, remoting.Config{Bind: hostPort(cfg.Bind, cfg.ControlPort), Advertise: cfg.Advertise,
		Server: cfg.ServerTLS, Client: cfg.ClientTLS, Kinds: kinds, OnSpawn: n.adopt, OnBroken: n.controlBroken, OnUnsendable: n.unsendable, Log: n.log}); err != nil {
		return err
	}
	n.storeProxy, _ = n.system.ProcessRegistry.Add(storeProxy{n}, storeProxyName)
	n.budget = dataplane.NewBudget(cfg.Memory)
	n.pool, n.table = dataplane.NewPool(n.budget), store.NewTable(n.budget)
	if cfg.Warm > 0 {
		n.pool.Warm(cfg.Warm)
	}
	for {
		l, err := n.begin()
		if err != nil {
			return err
		}
		n.life.Store(l)
		if err := n.startServices(); err != nil {
			return err
		}
		ordered, err := n.enter(ctx, l, n.nextWay(n.firstWay()))
		switch {
		case err == nil && ordered:
			l.renew()
			return nil
		case ctx.Err() == nil && ordered, errors.Is(err, membership.ErrAnew):
			l.end(true)
		default:
			return err
		}
	}
}

// spawner returns a function that starts actors under a supervisor.
func (n *Node) spawner(s *actors.Supervisor) func(*actor.Props, string) (*actor.PID, error) {
	return func(props *actor.Props, name string) (*actor.PID, error) {
		return n.system.Root.SpawnNamed(s.Guard(props).Configure(actor.WithDispatcher(n.workers)), name)
	}
}

// use returns the present incarnation for a call, or why there can be none: the
// node has left, or was removed and has not joined again yet.
func (n *Node) use(op string, id phalanx.ObjectID) (*life, error) {
	l := n.life.Load()
	select {
	case <-n.done:
		return nil, l.err(op, id)
	case <-l.done:
		return nil, l.err(op, id)
	default:
		return l, nil
	}
}

// ID returns the node's name and present incarnation.
func (n *Node) ID() phalanx.NodeID { return n.life.Load().id }

// Done is closed when the node has left the cluster, or was removed and cannot
// join again because another process has taken its name.
func (n *Node) Done() <-chan struct{} { return n.left }

// Err returns why the node has ended without Leave, once Done is closed, or nil.
func (n *Node) Err() error {
	select {
	case <-n.left:
		return n.ended()
	default:
		return nil
	}
}

// ControlAddr returns the address that others can give as a seed.
func (n *Node) ControlAddr() string { return n.remote.Address() }

// Seeds returns the control addresses that the configuration names.
func (n *Node) Seeds() []string { return slices.Clone(n.cfg.Seeds) }

// DataAddr returns the address of the node's data connections.
func (n *Node) DataAddr() string { return n.life.Load().addr() }

// System returns the node's actor system.
func (n *Node) System() *actor.ActorSystem { return n.system }

// Store returns the actor that takes the messages of package storenode. It
// serves the actors of this node only, and is the same for all incarnations: while
// the node has been removed, each is answered with ErrFenced.
func (n *Node) Store() *actor.PID { return n.storeProxy }

// View returns the view of the cluster that this node goes by. It must not be
// changed.
func (n *Node) View() view.View { return *n.life.Load().view.Load() }

// Leader returns the voter that this node takes for the leader of the view, or
// "" while there is none.
func (n *Node) Leader() phalanx.NodeID { return n.life.Load().members.Leader() }
