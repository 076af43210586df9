package dataplane

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/phalanx-go/phalanx"
)

// Conns is a node's data connections: to each peer one for messages, made on demand, and warm ones
// for streams, each with one transfer at a time.
type Conns struct {
	cfg      Config
	listener net.Listener
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	wg       sync.WaitGroup

	sent, received atomic.Uint64 // bytes of streams of all peers, including peers that are gone
	turned         atomic.Uint64 // streams that were turned away without a seat
	hellos         hellos
	strangers      strangers

	mu     sync.Mutex
	closed bool
	peers  map[phalanx.NodeID]*peer
	links  map[*link]struct{} // every open connection
}

// New listens and starts to serve.
func New(cfg Config) (*Conns, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Listener == nil {
		l, err := net.Listen("tcp", cfg.Bind)
		if err != nil {
			return nil, &phalanx.Error{Op: "listen", Kind: phalanx.ErrInvalid, Err: err}
		}
		cfg.Listener = l
	}
	c := &Conns{cfg: cfg, listener: cfg.Listener, peers: map[phalanx.NodeID]*peer{}, links: map[*link]struct{}{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.spawn(c.accept)
	return c, nil
}

// Addr returns the listener's address.
func (c *Conns) Addr() net.Addr { return c.listener.Addr() }

// Close ends every connection and returns when every goroutine has ended. Running calls of
// OnMessage and OnStream must return for that.
func (c *Conns) Close() error {
	c.mu.Lock()
	again := c.closed
	c.closed = true
	links := c.takeLinks(func(*link) bool { return true })
	c.mu.Unlock()
	c.cancel()
	err := c.listener.Close()
	if again {
		err = nil
	}
	for _, l := range links {
		l.drop()
	}
	c.wg.Wait()
	return err
}

// ClosePeer ends every connection to and from node, and drops its waiting messages. It does not
// call OnBroken. A later Post or Open dials again.
func (c *Conns) ClosePeer(node phalanx.NodeID) {
	c.mu.Lock()
	p := c.peers[node]
	delete(c.peers, node)
	links := c.takeLinks(func(l *link) bool { return l.node == node })
	c.mu.Unlock()
	for _, l := range links {
		l.drop()
	}
	if p != nil {
		p.cancel()
	}
}

// takeLinks marks matching links as ended by us. Called with mu held.
func (c *Conns) takeLinks(match func(*link) bool) []*link {
	var out []*link
	for l := range c.links {
		if match(l) {
			l.ours.Store(true)
			out = append(out, l)
		}
	}
	return out
}

// spawn runs f unless c is closed.
func (c *Conns) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.wg.Go(f)
	return true
}

func (c *Conns) peer(node phalanx.NodeID) *peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peerLocked(node)
}

func (c *Conns) peerLocked(node phalanx.NodeID) *peer {
	p := c.peers[node]
	if p == nil {
		p = newPeer(c, node)
		c.peers[node] = p
	}
	return p
}

// track adds l to the links that Close and ClosePeer end. It returns false if c is closed.
func (c *Conns) track(l *link) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.links[l] = struct{}{}
	return true
}

// name sets the peer of l once the hello has named it.
func (c *Conns) name(l *link, node phalanx.NodeID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.node = node
}

// errClosedHere says that this node has ended its connections.
var errClosedHere = fmt.Errorf("this node has left: %w", net.ErrClosed)

func (c *Conns) closedError(op string, node phalanx.NodeID) error {
	return &phalanx.Error{Op: op, Node: node, Kind: phalanx.ErrClosed, Err: errClosedHere}
}

// broken reports a connection for messages that this node did not end.
func (c *Conns) broken(l *link, node phalanx.NodeID, err error) {
	if c.ctx.Err() != nil || l != nil && l.ours.Load() {
		return
	}
	c.cfg.Logger.WithField("node", node).WithError(err).Debug("data connection ended")
	if c.cfg.OnBroken != nil {
		c.cfg.OnBroken(node, err)
	}
}

// PeerStats counts the bytes and messages to and from one peer.
type PeerStats struct {
	Node      phalanx.NodeID
	Sent      uint64 // bytes of streams
	Received  uint64
	Posted    uint64 // messages
	Delivered uint64
	Dropped   uint64  // messages that were posted but never written
	Bandwidth float64 // bytes per second, 0 if not known
}

// Traffic returns how many bytes of streams all peers have got and sent. It never falls: it
// includes peers that are gone.
func (c *Conns) Traffic() (sent, received uint64) { return c.sent.Load(), c.received.Load() }

// Stats returns the counts of all present peers, ordered by their ids.
func (c *Conns) Stats() []PeerStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]PeerStats, 0, len(c.peers))
	for _, p := range c.peers {
		all = append(all, p.stats())
	}
	slices.SortFunc(all, func(a, b PeerStats) int { return strings.Compare(string(a.Node), string(b.Node)) })
	return all
}

// Streaming returns the peers from which this node receives streams, in order.
func (c *Conns) Streaming() []phalanx.NodeID {
	c.mu.Lock()
	defer c.mu.Unlock()
	open := map[phalanx.NodeID]int{}
	for l := range c.links {
		if l.role == roleStreams {
			open[l.node]++
		}
	}
	var out []phalanx.NodeID
	for n, links := range open {
		if p := c.peers[n]; p != nil && links > p.parked() {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// Bandwidth returns how many bytes per second recent transfers with node have reached, counting
// only time in which there was something to send; 0 if not known.
func (c *Conns) Bandwidth(node phalanx.NodeID) float64 {
	c.mu.Lock()
	p := c.peers[node]
	c.mu.Unlock()
	if p == nil {
		return 0
	}
	return p.rate.value()
}
