package cluster

import (
	"context"
	"errors"
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
	"github.com/phalanx-go/phalanx/coordinator"
	"github.com/phalanx-go/phalanx/directory"
	"github.com/phalanx-go/phalanx/internal/logging"
	"github.com/phalanx-go/phalanx/internal/wire"
	"github.com/phalanx-go/phalanx/node/member"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/protocol/view"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
	"github.com/phalanx-go/phalanx/storenode/dataplane/combine"
	"github.com/phalanx-go/phalanx/storenode/store"
)

// life is one incarnation of a node: everything that ends when the cluster
// removes the node. The Node owns everything that outlives it: the actor system, the actors
// of the application, the memory and the copies in it.
type life struct {
	n   *Node
	id  phalanx.NodeID
	log logrus.FieldLogger

	before totals // of the incarnations before it

	members  *membership.Membership
	detector *detector.Detector
	conns    *dataplane.Conns
	client   *directory.Client
	host     *directory.Host
	reporter *directory.Reporter
	store    *store.Env
	places   *store.Places
	reduces  *coordinator.Env
	own      []*actor.PID       // actors that nothing else stops
	vital    *actors.Supervisor // of actors without which the node does not work

	leasedUntil, wanted atomic.Int64 // by the clock: when the lease ends, and when one was last wanted

	view   atomic.Pointer[view.View]
	joined chan struct{} // closed once this node is in its view
	enter  sync.Once
	viewed chan struct{} // has one once there is another view
	fenced atomic.Bool
	failed atomic.Bool   // an actor that it needs was stopped
	renews atomic.Bool   // it ends for another cluster
	awaits time.Duration // until then, by the clock, members of the cluster before may enter the one that it has begun anew; 0: it has begun none
	done   chan struct{} // closed when it ends, or learns that it was removed
	ending sync.Once

	background sync.WaitGroup
	stop       context.CancelFunc // of the background work

	// The node's lock guards both.
	leaver  *leaver // of a Leave that is under way
	removed bool    // by the others, while the node leaves
	routes  *routes
	mu      sync.Mutex
	gone    map[phalanx.NodeID]bool // nodes that were removed from the view

	majority atomic.Pointer[view.Majority] // nil: not lost
	// The same as members and detector, for callbacks that can come before these two
	// are set.
	agreeing atomic.Pointer[membership.Membership]
	watching atomic.Pointer[detector.Detector]
}

// The names of actors that other nodes send to.
const (
	storeName  = "store"
	placesName = "places"
	looksName  = "looks"
)

// begin starts an incarnation that is in no cluster yet.
func (n *Node) begin() (*life, error) {
	l := &life{n: n, id: phalanx.MakeNodeID(n.cfg.Name, uint64(time.Now().UnixNano())), joined: make(chan struct{}), viewed: make(chan struct{}, 1),
		done: make(chan struct{}), gone: map[phalanx.NodeID]bool{}}
	l.routes = newRoutes(l.id)
	l.log = n.cfg.Logger.WithField(logging.Node, l.id)
	l.view.Store(&view.View{})
	l.vital = actors.Restarting(l.log)
	l.vital.Stopped = l.onStopped
	err := l.startData()
	if err == nil {
		err = l.startStore()
	}
	if err != nil {
		l.end(false)
		return nil, err
	}
	background, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.run(func() { l.client.Run(background) })
	l.run(func() { l.reporter.Run(background) })
	return l, nil
}

// join brings the incarnation into a cluster.
func (l *life) join(ctx context.Context, w member.Way) error {
	n := l.n
	var err error
	if l.detector, err = detector.Start(detector.Config{System: n.system, Remote: n.remote, Conns: l.conns, Self: l.id, Clock: n.clock, Log: l.log,
		OnSuspect: l.suspect, OnTrust: l.trust, Remove: l.condemn, OnStopped: l.onStopped}); err != nil {
		return err
	}
	l.watching.Store(l.detector)
	if l.members, err = membership.Start(membership.Config{
		System: n.system, Remote: n.remote, Self: l.member(), Common: view.Common{Name: n.cfg.Cluster, Wire: wire.Version}, Shards: n.cfg.Shards, Voters: n.cfg.Voters, Seeds: w.Seeds, Members: w.Known, Restarts: w.Restarts,
		Again: w.JoinsOnly(n.remote.Address()),
		Clock: n.clock, Log: l.log, OnView: l.learn, OnLease: l.leased, IdleAfter: idleAfter, OnAsked: l.asked, OnHeard: l.heard, OnUnanswered: l.unanswered, Via: l.via, Suspects: l.suspects, OnMajority: l.sees, OnBrought: l.brought, OnMet: l.met, OnFenced: l.onFenced}); err != nil {
		return err
	}
	l.agreeing.Store(l.members)
	if err := l.members.Join(ctx); err != nil {
		return err
	}
	if err := l.entered(ctx); err != nil || w.Again || w.Waits {
		return err
	}
	l.awaitRedundancy(ctx)
	return nil
}

// entered waits until the view that has this node has been learned.
func (l *life) entered(ctx context.Context) error {
	select {
	case <-l.joined:
		return nil
	case <-ctx.Done():
		err := store.ContextError("join", "", ctx.Err(), "", "the cluster has not admitted this node to its view")
		err.Node = l.id
		return err
	}
}

// end stops everything that begin and join have started, in the opposite order.
// Ending twice is safe. Complete copies stay if keep is set.
func (l *life) end(keep bool) {
	l.over()
	if l.detector != nil {
		l.detector.Stop()
	}
	if l.members != nil {
		l.members.Stop()
	}
	if l.reduces != nil {
		l.reduces.Close()
	}
	if l.places != nil {
		l.places.Close()
	}
	if l.host != nil {
		l.host.Close()
	}
	if l.store != nil {
		l.store.Close()
	}
	for _, pid := range l.own {
		_ = l.n.system.Root.StopFuture(pid).Wait()
	}
	if l.stop != nil {
		l.stop()
	}
	l.background.Wait()
	if l.conns != nil {
		_ = l.conns.Close()
	}
	if l.store == nil {
		return
	}
	if keep {
		l.store.Table.KeepComplete(l.store.Ended())
	} else {
		l.store.Table.Close(l.store.Ended())
	}
}

// over has calls on this incarnation end. They end only once.
func (l *life) over() {
	l.ending.Do(func() {
		l.n.gate.Lock() // all messages that the store proxy passed on are with the store now
		defer l.n.gate.Unlock()
		close(l.done)
	})
}

// err returns the error of a call on an incarnation that ends.
func (l *life) err(op string, id phalanx.ObjectID) error {
	e := &phalanx.Error{Op: op, Object: id, Node: l.id, Kind: phalanx.ErrClosed, Err: errors.New("this node has left the cluster")}
	if l.fenced.Load() {
		e.Kind, e.Err = phalanx.ErrFenced, errors.New("the cluster has removed this node, which joins again unless another process has taken its name")
	}
	return e
}

func (l *life) run(f func()) {
	l.background.Add(1)
	go func() { defer l.background.Done(); f() }()
}

func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// startData opens the data connections.
func (l *life) startData() error {
	n, t := l.n, transport{l}
	l.client = directory.NewClient(l.id, t, n.clock, l.late)
	var err error
	l.conns, err = dataplane.New(dataplane.Config{
		Self: l.id, Cluster: n.cfg.Cluster, Bind: hostPort(n.cfg.Bind, n.cfg.DataPort), ServerTLS: n.cfg.ServerTLS, ClientTLS: n.cfg.ClientTLS,
		Lookup: l.dataAddr, Suspects: func(id phalanx.NodeID) bool { return l.routes.suspects(id) }, View: func() uint64 { return l.view.Load().Number }, Admit: l.admit,
		OnMessage: l.received, OnBroken: l.dataBroken, OnBeat: l.beaten, OnBeatsEnd: l.beatsEnded,
		OnStream:   func(from phalanx.NodeID, req dataplane.Request, w *dataplane.Writer) { l.store.Serve(from, req, w) },
		MaxStreams: n.cfg.Streams, TurnWait: n.cfg.turnWait, Logger: l.log})
	return err
}

// startStore starts the actors of the store, the shards and the reduces.
func (l *life) startStore() error {
	n, t := l.n, transport{l}
	ops := &combine.Registry{}
	for op, f := range n.cfg.Ops {
		if err := ops.Register(op, f); err != nil {
			return err
		}
	}
	publish := func(ev any) { n.system.EventStream.Publish(ev) }
	l.store = &store.Env{Self: l.id, System: n.system, Table: n.table, Pool: n.pool, Given: &n.given, Conns: l.conns, Directory: l.client,
		Now: n.clock, Log: l.log, Deadline: n.cfg.Deadline, InlineLimit: max(0, n.cfg.InlineLimit), Fanout: n.cfg.Fanout,
		Spawn: n.spawner(n.oneShot), Publish: publish, Members: l.memberIDs, Staying: l.stayingIDs, StoreOn: l.on(storeName), Request: n.remote.Request}
	l.places = store.NewPlaces(l.store, ops)
	l.reduces = &coordinator.Env{Store: l.store, Watcher: l.client, Ops: ops, Now: n.clock, Spawn: n.spawner(n.restarting),
		PlacesOn: l.on(placesName), Network: l.network}
	l.store.Coordinators = l.reduces
	l.reporter = directory.NewReporter(l.id, t, n.clock, l.client.Next, l.store.Table.Holdings)
	l.host = directory.NewHost(directory.HostConfig{Self: l.id, System: n.system, Transport: t, Now: n.clock, InlineLimit: max(0, n.cfg.InlineLimit),
		Fanout: n.cfg.Fanout, Log: l.log, Spawn: n.spawner(l.vital), Publish: publish, Memory: n.budget,
		Want:      l.want,
		CaughtUp:  func(shard int, epoch uint64, node phalanx.NodeID) { l.members.InSync(shard, epoch, node) },
		LostState: func(shard int, epoch uint64) { l.members.Drop(shard, epoch, l.id) }})
	var err error
	spawn := n.spawner(l.vital)
	if l.store.StorePID, err = spawn(store.NewStore(l.store), storeName); err != nil {
		return err
	}
	evictor, err := spawn(store.NewEvictor(l.store), "evictor")
	if err != nil {
		return err
	}
	n.budget.OnPressure(func(need int64) { store.Press(n.system, evictor, need) })
	places, err := spawn(l.places.Actor(), placesName)
	if err != nil {
		return err
	}
	looks, err := spawn(actor.PropsFromFunc(l.looks), looksName)
	l.own = []*actor.PID{evictor, places, looks}
	return err
}

// on returns a function that finds the actor called name on another node.
func (l *life) on(name string) func(phalanx.NodeID) (*actor.PID, bool) {
	return func(node phalanx.NodeID) (*actor.PID, bool) {
		m, ok := l.view.Load().Member(node)
		if !ok {
			return nil, false
		}
		return l.n.remote.PID(m.Control, name), true
	}
}

// The network is taken for this until it was measured: 10 Gbit/s.
const (
	usualLatency   = 200 * time.Microsecond
	usualBandwidth = 1.25e9
)

// network returns the input for planning a reduce: the paths to other members, as far
// as heartbeats, hellos and streams have measured them, and the usual values.
func (l *life) network() (time.Duration, float64, map[phalanx.NodeID]reduce.Path) {
	paths := map[phalanx.NodeID]reduce.Path{}
	for _, m := range l.view.Load().Members {
		if p := (reduce.Path{Latency: l.conns.RoundTrip(m.ID) / 2, Bandwidth: l.conns.Bandwidth(m.ID)}); p != (reduce.Path{}) {
			paths[m.ID] = p
		}
	}
	return usualLatency, usualBandwidth, paths
}

func (l *life) member() view.Member {
	return view.Member{ID: l.id, Control: l.n.ControlAddr(), Data: l.addr(), Version: Version, Features: l.n.features()}
}

func (l *life) memberIDs() []phalanx.NodeID {
	ids, _ := l.view.Load().IDs("")
	return ids
}

func (l *life) stayingIDs() []phalanx.NodeID {
	var ids []phalanx.NodeID
	for _, m := range l.view.Load().Members {
		if !m.Leaving {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

func (l *life) dataAddr(node phalanx.NodeID) (string, bool) {
	m, ok := l.view.Load().Member(node)
	return m.Data, ok
}

// addr returns the address of the data connections.
func (l *life) addr() string {
	return hostPort(l.n.cfg.Advertise, l.conns.Addr().(*net.TCPAddr).Port)
}
