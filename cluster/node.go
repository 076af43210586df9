package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster/internal/detector"
	"github.com/phalanx-go/phalanx/cluster/internal/membership"
	"github.com/phalanx-go/phalanx/cluster/internal/remoting"
	"github.com/phalanx-go/phalanx/coordinator"
	"github.com/phalanx-go/phalanx/directory"
	"github.com/phalanx-go/phalanx/internal/logging"
	"github.com/phalanx-go/phalanx/protocol/view"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
	"github.com/phalanx-go/phalanx/storenode/dataplane/combine"
)

// Node is this process's part in a cluster. It is safe for concurrent use.
type Node struct {
	cfg     Config
	id      phalanx.NodeID
	log     logrus.FieldLogger
	started time.Time
	clock   actors.Clock

	system     *actor.ActorSystem
	remote     *remoting.Remoting
	members    *membership.Membership
	agreeing   atomic.Pointer[membership.Membership] // members, for callbacks that can come before it is set
	detector   *detector.Detector
	watching   atomic.Pointer[detector.Detector] // the same, as agreeing
	bridge     *actors.Bridge
	budget     *dataplane.Budget
	conns      *dataplane.Conns
	client     *directory.Client
	host       *directory.Host
	reporter   *directory.Reporter
	store      *storenode.Env
	places     *storenode.Places
	reduces    *coordinator.Env
	evictor    *actor.PID
	restarting *actors.Supervisor
	oneShot    *actors.Supervisor

	view   atomic.Pointer[view.View]
	joined chan struct{} // closed once this node is in its view
	enter  sync.Once
	done   chan struct{} // closed when the node leaves
	leave  sync.Once
	left   chan struct{} // closed when it has left
	fenced atomic.Bool

	background sync.WaitGroup
	stop       context.CancelFunc // of what runs in the background

	mu      sync.Mutex
	apps    []*actor.PID // actors of the application, to be stopped on Leave; some may have ended
	appRoom int          // of apps, before those that have ended are taken out
	gone    map[phalanx.NodeID]bool
	leaving bool
}

// The names of actors that other nodes send to.
const (
	storeName  = "store"
	placesName = "places"
)

// Join makes this process a node: of the cluster that Seeds are in, or of a
// new one. It returns once this node is in the view. The caller must Leave.
func Join(ctx context.Context, cfg Config) (*Node, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	n := &Node{cfg: cfg, started: time.Now(), clock: actors.NewClock(), joined: make(chan struct{}), done: make(chan struct{}),
		left: make(chan struct{}), gone: map[phalanx.NodeID]bool{}}
	n.id = phalanx.MakeNodeID(cfg.Name, uint64(n.started.UnixNano()))
	n.log = cfg.Logger.WithField(logging.Node, n.id)
	n.view.Store(&view.View{})
	if err := n.start(ctx); err != nil {
		n.shutdown()
		return nil, err
	}
	return n, nil
}

func (n *Node) start(ctx context.Context) error {
	cfg := n.cfg
	n.system = actors.NewSystem(cfg.Name, n.log)
	n.restarting, n.oneShot = actors.Restarting(n.log), actors.StopOnPanic(n.log)
	n.bridge = actors.NewBridge(n.system)
	background, stop := context.WithCancel(context.Background())
	n.stop = stop

	kinds := map[string]*actor.Props{}
	for name, kind := range cfg.Kinds {
		kinds[name] = n.restarting.Guard(kind(n))
	}
	var err error
	if n.remote, err = remoting.Start(n.system, remoting.Config{Bind: hostPort(cfg.Bind, cfg.ControlPort), Advertise: cfg.Advertise,
		Server: cfg.ServerTLS, Client: cfg.ClientTLS, Kinds: kinds, OnSpawn: n.adopt, OnBroken: n.controlBroken, Log: n.log}); err != nil {
		return err
	}
	n.budget = dataplane.NewBudget(cfg.Memory)
	if err := n.startData(); err != nil {
		return err
	}
	if err := n.startStore(); err != nil {
		return err
	}
	n.run(func() { n.client.Run(background) })
	n.run(func() { n.reporter.Run(background) })
	if n.detector, err = detector.Start(detector.Config{System: n.system, Remote: n.remote, Conns: n.conns, Self: n.id, Clock: n.clock, Log: n.log,
		OnSuspect: n.suspect, OnTrust: n.trust, Remove: n.condemn}); err != nil {
		return err
	}
	n.watching.Store(n.detector)
	n.members, err = membership.Start(membership.Config{
		System: n.system, Remote: n.remote, Self: n.member(), Shards: cfg.Shards, Voters: cfg.Voters, Seeds: cfg.Seeds,
		Clock: n.clock, Log: n.log, OnView: n.learn, OnLease: n.host.Leased, OnFenced: n.onFenced})
	if err != nil {
		return err
	}
	n.agreeing.Store(n.members)
	if err := n.members.Join(ctx); err != nil {
		return err
	}
	select {
	case <-n.joined:
		return nil
	case <-ctx.Done():
		return &phalanx.Error{Op: "join", Node: n.id, Kind: phalanx.ErrDeadline, Err: errors.New("the cluster has not taken this node into its view")}
	}
}

func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

func (n *Node) run(f func()) {
	n.background.Add(1)
	go func() { defer n.background.Done(); f() }()
}

// startData opens the data connections.
func (n *Node) startData() error {
	t := transport{n}
	n.client = directory.NewClient(n.id, t, n.clock)
	var err error
	n.conns, err = dataplane.New(dataplane.Config{
		Self: n.id, Cluster: n.cfg.Cluster, Bind: hostPort(n.cfg.Bind, n.cfg.DataPort), ServerTLS: n.cfg.ServerTLS, ClientTLS: n.cfg.ClientTLS,
		Lookup: n.dataAddr, View: func() uint64 { return n.view.Load().Number }, Admit: n.admit,
		OnMessage: n.received, OnBroken: n.dataBroken,
		OnStream: func(from phalanx.NodeID, req dataplane.Request, w *dataplane.Writer) { n.store.Serve(from, req, w) },
		Logger:   n.log})
	return err
}

// startStore starts the actors of the store, the shards and the reduces.
func (n *Node) startStore() error {
	t := transport{n}
	ops := &combine.Registry{}
	for op, f := range n.cfg.Ops {
		if err := ops.Register(op, f); err != nil {
			return err
		}
	}
	publish := func(ev any) { n.system.EventStream.Publish(ev) }
	pool := dataplane.NewPool(n.budget)
	if n.cfg.Warm > 0 {
		pool.Warm(n.cfg.Warm)
	}
	n.store = &storenode.Env{Self: n.id, System: n.system, Table: storenode.NewTable(n.budget), Pool: pool, Conns: n.conns, Directory: n.client,
		Now: n.clock, Log: n.log, Deadline: n.cfg.Deadline, InlineLimit: max(0, n.cfg.InlineLimit), Fanout: n.cfg.Fanout,
		Spawn: n.spawner(n.oneShot), Publish: publish, Members: n.memberIDs, StoreOn: n.on(storeName), Request: n.remote.Request}
	n.places = storenode.NewPlaces(n.store, ops)
	n.store.ServePlace = n.places.Serve
	n.reduces = &coordinator.Env{Store: n.store, Watcher: n.client, Ops: ops, Now: n.clock, Spawn: n.spawner(n.restarting),
		PlacesOn: n.on(placesName), Network: n.network}
	n.store.Coordinate = n.reduces.Reduce
	n.reporter = directory.NewReporter(n.id, t, n.store.Table.Holdings)
	n.host = directory.NewHost(directory.HostConfig{Self: n.id, System: n.system, Transport: t, Now: n.clock, InlineLimit: max(0, n.cfg.InlineLimit),
		Fanout: n.cfg.Fanout, Log: n.log, Spawn: n.spawner(n.restarting), Publish: publish,
		CaughtUp:  func(shard int, epoch uint64, node phalanx.NodeID) { n.members.InSync(shard, epoch, node) },
		Restarted: func(shard int, epoch uint64) { n.members.Drop(shard, epoch, n.id) }})
	var err error
	spawn := n.spawner(n.restarting)
	if n.store.StorePID, err = spawn(storenode.NewStore(n.store), storeName); err != nil {
		return err
	}
	if n.evictor, err = spawn(storenode.NewEvictor(n.store), "evictor"); err != nil {
		return err
	}
	n.budget.OnPressure(func(need int64) { storenode.Press(n.system, n.evictor, need) })
	_, err = spawn(n.places.Actor(), placesName)
	return err
}

// spawner returns a function that starts actors under a supervisor.
func (n *Node) spawner(s *actors.Supervisor) func(*actor.Props, string) (*actor.PID, error) {
	return func(props *actor.Props, name string) (*actor.PID, error) {
		return n.system.Root.SpawnNamed(s.Guard(props), name)
	}
}

// on returns a function that finds the actor called name on another node.
func (n *Node) on(name string) func(phalanx.NodeID) (*actor.PID, bool) {
	return func(node phalanx.NodeID) (*actor.PID, bool) {
		m, ok := n.view.Load().Member(node)
		if !ok {
			return nil, false
		}
		return n.remote.PID(m.Control, name), true
	}
}

// The network is taken for this until it was measured: 10 Gbit/s.
const (
	usualLatency   = 200 * time.Microsecond
	usualBandwidth = 1.25e9
)

// network returns the latency and the bandwidth that a reduce is planned with.
func (n *Node) network() (time.Duration, float64) {
	best := 0.0
	for _, m := range n.view.Load().Members {
		best = max(best, n.conns.Bandwidth(m.ID))
	}
	if best == 0 {
		best = usualBandwidth
	}
	return usualLatency, best
}

// ID returns the node's name and incarnation.
func (n *Node) ID() phalanx.NodeID { return n.id }

// ControlAddr returns the address that others can give as a seed.
func (n *Node) ControlAddr() string { return n.remote.Address() }

// DataAddr returns the address of the node's data connections.
func (n *Node) DataAddr() string {
	port := n.conns.Addr().(*net.TCPAddr).Port
	return hostPort(n.cfg.Advertise, port)
}

// System returns the node's actor system.
func (n *Node) System() *actor.ActorSystem { return n.system }

// Store returns the actor that takes the messages of package storenode. It
// serves the actors of this node only.
func (n *Node) Store() *actor.PID { return n.store.StorePID }

// View returns the view of the cluster that this node goes by. It must not be
// changed.
func (n *Node) View() view.View { return *n.view.Load() }

func (n *Node) member() view.Member {
	return view.Member{ID: n.id, Control: n.ControlAddr(), Data: n.DataAddr(), Version: Version}
}

func (n *Node) memberIDs() []phalanx.NodeID {
	v := n.view.Load()
	ids := make([]phalanx.NodeID, len(v.Members))
	for i, m := range v.Members {
		ids[i] = m.ID
	}
	return ids
}

func (n *Node) dataAddr(node phalanx.NodeID) (string, bool) {
	m, ok := n.view.Load().Member(node)
	return m.Data, ok
}

// open returns an error if the node has left or was removed.
func (n *Node) open(op string, id phalanx.ObjectID) error {
	select {
	case <-n.done:
	default:
		return nil
	}
	e := &phalanx.Error{Op: op, Object: id, Node: n.id, Kind: phalanx.ErrClosed, Err: errors.New("this node has left the cluster")}
	if n.fenced.Load() {
		e.Kind, e.Err = phalanx.ErrFenced, fmt.Errorf("the cluster has removed this node; join again")
	}
	return e
}
