package remoting

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/phalanx-go/phalanx"
)

// Remoting connects one actor system with others.
type Remoting struct {
	sys    *actor.ActorSystem
	cfg    Config
	server *grpc.Server
	client credentials.TransportCredentials
	conns  *conns
	waits  waits
	ctx    context.Context // of all connections that this node makes
	cancel context.CancelFunc

	mu      sync.Mutex
	peers   map[string]*peer // by address; nil: stopped
	running sync.WaitGroup   // peers and the server
}

var errStopped = errors.New("the node has left")

// Start listens, and lets sys send to other systems from now on. It must be
// called once per system, before any actor is spawned, since it gives their PIDs
// the address.
func Start(sys *actor.ActorSystem, cfg Config) (*Remoting, error) {
	cfg = cfg.withDefaults()
	listener, address, err := cfg.listen()
	if err != nil {
		return nil, err
	}
	r := &Remoting{sys: sys, cfg: cfg, peers: map[string]*peer{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.conns = &conns{all: map[*conn]struct{}{}}
	server := insecure.NewCredentials()
	if r.client = server; cfg.Client != nil {
		r.client = credentials.NewTLS(cfg.Client)
	}
	if cfg.Server != nil {
		server = credentials.NewTLS(cfg.Server)
	}
	r.server = grpc.NewServer(
		grpc.Creds(tracking{server, r.conns}),
		grpc.MaxRecvMsgSize(maxReceive),
		grpc.StaticStreamWindowSize(window),
		grpc.StaticConnWindowSize(window),
		grpc.WaitForHandlers(true),
		grpc.ConnectionTimeout(10*time.Second), // of a peer that connects and says nothing
	)
	remote.RegisterRemotingServer(r.server, service{r: r})
	sys.ProcessRegistry.Address = address
	sys.ProcessRegistry.RegisterAddressResolver(func(pid *actor.PID) (actor.Process, bool) {
		return &process{r: r, address: pid.GetAddress()}, true
	})
	if _, err := sys.Root.SpawnNamed(r.spawner(), spawnerName); err != nil {
		_ = listener.Close()
		return nil, &phalanx.Error{Op: "listen", Kind: phalanx.ErrInternal, Err: err}
	}
	r.running.Go(func() { _ = r.server.Serve(listener) }) // returns when the server is stopped
	return r, nil
}

// Address returns the address that peers dial.
func (r *Remoting) Address() string { return r.sys.Address() }

// PID returns the actor called name at address. A PID remembers its system, so
// it must not be shared between systems in one process; this one is new.
func (r *Remoting) PID(address, name string) *actor.PID { return actor.NewPID(address, name) }

// ClosePeer closes all connections to and from the node at address. They are
// made again by the next message to it.
func (r *Remoting) ClosePeer(address string) {
	r.mu.Lock()
	p := r.peers[address]
	delete(r.peers, address) // later messages must not get lost with the old connection
	r.mu.Unlock()
	if p != nil {
		p.mu.Lock()
		p.ended = true
		p.mu.Unlock()
	}
	r.conns.closePeer(address)
}

// Stop closes all connections and returns when everything that Start started
// has ended. Stopping twice is safe.
func (r *Remoting) Stop() {
	r.mu.Lock()
	r.peers = nil
	r.mu.Unlock()
	r.waits.stop()
	r.cancel()
	r.conns.closeAll()
	r.server.Stop()
	r.running.Wait()
	_ = r.sys.Root.StopFuture(r.sys.NewLocalPID(spawnerName)).Wait()
}

// broken is told by both directions of the connection with a peer.
func (r *Remoting) broken(address string, err error) {
	if r.ctx.Err() != nil {
		return
	}
	r.waits.fail(address, err)
	r.cfg.OnBroken(address, err)
}
