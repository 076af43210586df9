package dataplane

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
)

// DefaultStreams is the number of streams of objects that a peer may have from a node at a time.
const DefaultStreams = 128

// Config configures Conns. A zero duration or number means the default beside it.
type Config struct {
	Self     phalanx.NodeID
	Cluster  string
	Features uint64 // the hello tells them to peers

	Listener  net.Listener // if nil, New listens on Bind; Conns closes it
	Bind      string       // "127.0.0.1:0"
	ServerTLS *tls.Config  // nil: plain TCP
	ClientTLS *tls.Config

	// Dial replaces net.Dialer, for tests.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Lookup returns the data address of a member.
	Lookup func(phalanx.NodeID) (addr string, ok bool)
	// Suspects reports whether a peer is suspected not to answer: a stream from it has SuspectTimeout
	// instead of DialTimeout to begin, since another peer may have the same bytes. nil: none is.
	Suspects func(phalanx.NodeID) bool
	// View returns the number of the view, for hellos; nil: 0.
	View func() uint64
	// Admit may refuse a peer whose hello is otherwise right, such as a removed node. view is the
	// number of the peer's view. nil admits all.
	Admit func(from phalanx.NodeID, view uint64) error

	// Conns calls OnMessage for each message, in the order of the sender's posts, on the goroutine
	// of the connection: OnMessage delays the next messages. payload lies in the connection's read
	// buffer: the callee may change it, but not keep it.
	OnMessage func(from phalanx.NodeID, payload []byte)
	// Conns calls OnBroken when a connection for messages to or from a peer ends or cannot be made,
	// unless ClosePeer or Close ended it. The error of a refused connection unwraps to
	// syscall.ECONNREFUSED.
	OnBroken func(peer phalanx.NodeID, err error)
	// Conns calls OnBeat for each heartbeat of a peer, after sending it back, and OnBeatsEnd when a
	// peer's connection for heartbeats ends, unless ClosePeer or Close ended it. They must not
	// block; nil is no call.
	OnBeat, OnBeatsEnd func(peer phalanx.NodeID)
	// OnStream serves a request on the goroutine of its connection. It ends the stream with a call
	// of the Writer, else Conns closes the connection. The stream of an Object has a seat. For the
	// stream of a Place OnStream calls Writer.Seat, or gives the seat up with Writer.Stand.
	OnStream func(from phalanx.NodeID, req Request, w *Writer)

	HelloTimeout   time.Duration // 5s, for a connection until both hellos are through
	DialTimeout    time.Duration // 5s
	SuspectTimeout time.Duration // 250ms
	RedialAfter    time.Duration // 20ms between failed attempts for messages
	Stall          time.Duration // 1s of silence on a stream that is received
	WaitEvery      time.Duration // 200ms between a sender's signs of life
	WriteStall     time.Duration // 10s in which a receiver reads nothing
	TurnWait       time.Duration // 1s for which a stream waits for its turn; then it opens without one
	MaxIdle        int           // 4 idle connections for streams per peer
	MaxQueue       int           // 16 MiB of messages waiting per peer
	MaxStreams     int           // DefaultStreams that a peer has from here at a time, except streams of places that run here
	MaxHellos      int           // 1024 connections that have not sent a hello or a request
	MaxStrangers   int           // 1024 connections of nodes that Lookup does not know

	Logger logrus.FieldLogger // nil: the standard logger
}

func (c Config) withDefaults() Config {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.HelloTimeout, 5*time.Second)
	def(&c.DialTimeout, 5*time.Second)
	def(&c.SuspectTimeout, 250*time.Millisecond)
	def(&c.RedialAfter, 20*time.Millisecond)
	def(&c.Stall, time.Second)
	def(&c.WaitEvery, 200*time.Millisecond)
	def(&c.WriteStall, 10*time.Second)
	def(&c.TurnWait, time.Second)
	if c.MaxIdle == 0 {
		c.MaxIdle = 4
	}
	if c.MaxQueue == 0 {
		c.MaxQueue = 16 << 20
	}
	for n, v := range map[*int]int{&c.MaxStreams: DefaultStreams, &c.MaxHellos: 1024, &c.MaxStrangers: 1024} {
		if *n == 0 {
			*n = v
		}
	}
	if c.Bind == "" {
		c.Bind = "127.0.0.1:0"
	}
	if c.Logger == nil {
		c.Logger = logrus.StandardLogger()
	}
	if c.View == nil {
		c.View = func() uint64 { return 0 }
	}
	return c
}

func (c Config) validate() error {
	bad := func(format string, args ...any) error {
		return &phalanx.Error{Op: "data plane", Kind: phalanx.ErrInvalid, Err: fmt.Errorf(format, args...)}
	}
	switch {
	case c.Self == "" || len(c.Self) > 512:
		return bad("the node's own id has %d bytes, 1 to 512 are allowed", len(c.Self))
	case len(c.Cluster) > 512:
		return bad("the cluster's name has %d bytes, at most 512 are allowed", len(c.Cluster))
	case c.Lookup == nil:
		return bad("Lookup is not set")
	case c.MaxIdle < 0 || c.MaxQueue < 0:
		return bad("MaxIdle (%d) and MaxQueue (%d) must not be negative", c.MaxIdle, c.MaxQueue)
	case c.MaxStreams < 0 || c.MaxHellos < 0 || c.MaxStrangers < 0:
		return bad("MaxStreams (%d), MaxHellos (%d) and MaxStrangers (%d) must not be negative", c.MaxStreams, c.MaxHellos, c.MaxStrangers)
	}
	for name, d := range map[string]time.Duration{"HelloTimeout": c.HelloTimeout, "DialTimeout": c.DialTimeout,
		"RedialAfter": c.RedialAfter, "Stall": c.Stall, "WaitEvery": c.WaitEvery, "WriteStall": c.WriteStall, "TurnWait": c.TurnWait, "SuspectTimeout": c.SuspectTimeout} {
		if d < 0 {
			return bad("%s is %v, and must not be negative", name, d)
		}
	}
	return nil
}
