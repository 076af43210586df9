package dataplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/wire"
)

const (
	messageBuffer = 64 << 10
	streamBuffer  = 512 // headers and checks; data must not be copied through it
)

// link is a connection after its hellos.
type link struct {
	c      *Conns
	conn   net.Conn
	frames *frameReader
	node   phalanx.NodeID // the peer; guarded by Conns.mu
	role   role           // the role for which this side dialled it; 0: the peer dialled
	ours   atomic.Bool    // this side ended it
	once   sync.Once
}

func (c *Conns) newLink(conn net.Conn, node phalanx.NodeID, use role) (*link, error) {
	conn = wire.Quick(conn)
	l := &link{c: c, conn: conn, frames: newFrameReader(conn, streamBuffer), node: node, role: use}
	if !c.track(l) {
		_ = conn.Close()
		return nil, c.closedError("connect", node)
	}
	return l, nil
}

func (l *link) drop() {
	l.once.Do(func() {
		raw := l.conn
		if secure, ok := raw.(*tls.Conn); ok {
			raw = secure.NetConn() // TLS would wait for room to say goodbye
		}
		_ = raw.Close()
		l.c.mu.Lock()
		delete(l.c.links, l)
		l.c.mu.Unlock()
	})
}

// abandon lets drop discard the bytes that the peer has not read. For a live peer that does not
// read, the kernel would keep them for minutes.
func (l *link) abandon() {
	raw := l.conn
	if secure, ok := raw.(*tls.Conn); ok {
		raw = secure.NetConn()
	}
	if tcp, ok := raw.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0) // drop closes it in any case
	}
}

// dial connects to the peer and exchanges hellos.
func (p *peer) dial(ctx context.Context, use role) (*link, error) {
	c, node := p.c, p.node
	timeout := c.cfg.DialTimeout
	if use == roleStreams && c.cfg.Suspects != nil && c.cfg.Suspects(node) {
		timeout = c.cfg.SuspectTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	stop := context.AfterFunc(p.ctx, cancel)
	defer stop()
	addr, ok := c.cfg.Lookup(node)
	if !ok {
		return nil, withNode(errors.New("the node's address is not known"), "connect", node)
	}
	conn, err := c.connect(ctx, addr)
	if err != nil {
		return nil, withNode(err, "connect", node)
	}
	l, err := c.newLink(conn, node, use)
	if err != nil {
		return nil, err
	}
	hung := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	began := time.Now()
	err = l.greet(use)
	took := time.Since(began)
	if !hung() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		l.drop()
		return nil, withNode(err, "connect", node)
	}
	p.trip.took(took)
	return l, nil
}

func (c *Conns) connect(ctx context.Context, addr string) (net.Conn, error) {
	var conn net.Conn
	var err error
	if c.cfg.Dial != nil {
		conn, err = c.cfg.Dial(ctx, addr)
	} else {
		var d net.Dialer
		conn, err = d.DialContext(ctx, "tcp", addr)
	}
	if err != nil || c.cfg.ClientTLS == nil {
		return conn, err
	}
	conf := c.cfg.ClientTLS
	if conf.ServerName == "" {
		conf = conf.Clone()
		if host, _, err := net.SplitHostPort(addr); err == nil {
			conf.ServerName = host
		}
	}
	secure := tls.Client(conn, conf)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, &phalanx.Error{Kind: phalanx.ErrRefused, Err: fmt.Errorf("TLS: %w", err)}
	}
	return secure, nil
}

// greet is the dialer's side of the hellos.
func (l *link) greet(use role) error {
	if err := l.conn.SetDeadline(time.Now().Add(l.c.cfg.HelloTimeout)); err != nil {
		return err
	}
	mine := l.c.hello(use, l.node)
	if _, err := l.conn.Write(appendFrame(nil, kindHello, mine.append(nil))); err != nil {
		return err
	}
	h, err := l.frames.next()
	if err != nil {
		return err
	}
	if h.kind != kindHelloOK && h.kind != kindRefused {
		return refused("the answer to the hello is a %v frame", h.kind)
	}
	p, err := l.frames.payload(h)
	if err != nil {
		return err
	}
	if h.kind == kindRefused {
		kind, text, err := parseFault(h.kind, p)
		if err != nil {
			return err
		}
		return &phalanx.Error{Kind: kind, Err: errors.New(text)}
	}
	theirs, err := parseHello(h.kind, p)
	if err != nil {
		return err
	}
	if theirs.from != l.node || theirs.to != mine.from || theirs.cluster != mine.cluster {
		return refused("it answers as node %s of cluster %q to node %s", theirs.from, theirs.cluster, theirs.to)
	}
	return l.conn.SetDeadline(time.Time{})
}

func (c *Conns) hello(use role, to phalanx.NodeID) hello {
	return hello{role: use, features: c.cfg.Features, view: c.cfg.View(), cluster: c.cfg.Cluster, from: c.cfg.Self, to: to}
}

// welcome is the listener's side of the hellos.
func (l *link) welcome() (hello, error) {
	if err := l.conn.SetDeadline(time.Now().Add(l.c.cfg.HelloTimeout)); err != nil {
		return hello{}, err
	}
	if secure, ok := l.conn.(*tls.Conn); ok {
		if err := secure.HandshakeContext(l.c.ctx); err != nil {
			return hello{}, err
		}
	}
	h, err := l.frames.next()
	if err != nil {
		return hello{}, err
	}
	if h.kind != kindHello {
		return hello{}, refused("a %v frame came before the hello", h.kind)
	}
	p, err := l.frames.payload(h)
	if err != nil {
		return hello{}, err
	}
	theirs, err := parseHello(h.kind, p)
	if err != nil {
		return hello{}, err
	}
	err = l.c.admit(theirs)
	if err == nil {
		err = l.c.meet(l, theirs.from)
	}
	if err != nil {
		kind, text := faultOf(err)
		_, _ = l.conn.Write(appendFrame(nil, kindRefused, appendFault(nil, kind, text)))
		return theirs, err
	}
	l.c.name(l, theirs.from)
	if _, err := l.conn.Write(appendFrame(nil, kindHelloOK, l.c.hello(theirs.role, theirs.from).append(nil))); err != nil {
		return theirs, err
	}
	return theirs, l.conn.SetDeadline(time.Time{})
}

func (c *Conns) admit(h hello) error {
	switch {
	case h.cluster != c.cfg.Cluster:
		return refused("this is cluster %q, not %q", c.cfg.Cluster, h.cluster)
	case h.to != c.cfg.Self:
		return &phalanx.Error{Op: "hello", Kind: phalanx.ErrClosed, Err: fmt.Errorf("node %s does not run here any more, this is %s", h.to, c.cfg.Self)}
	case h.from == "":
		return refused("the peer has no name")
	case c.cfg.Admit != nil:
		return c.cfg.Admit(h.from, h.view)
	}
	return nil
}

// faultOf returns the kind and text of an error for the wire.
func faultOf(err error) (phalanx.Kind, string) {
	var end *Ended
	if errors.As(err, &end) && end.Kind != 0 {
		return end.Kind, end.Error()
	}
	var e *phalanx.Error
	if errors.As(err, &e) {
		if e.Err != nil {
			return e.Kind, e.Err.Error()
		}
		return e.Kind, e.Kind.Error()
	}
	var k phalanx.Kind
	if errors.As(err, &k) {
		return k, err.Error()
	}
	return phalanx.ErrInternal, err.Error()
}

// hangUp reports whether err only says that a side closed the connection.
func hangUp(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) }
