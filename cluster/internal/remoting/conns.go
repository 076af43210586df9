package remoting

import (
	"net"
	"sync"

	"google.golang.org/grpc/credentials"

	"github.com/phalanx-go/phalanx/internal/wire"
)

// conns knows all raw connections, so that a peer's connections can be closed.
type conns struct {
	mu     sync.Mutex
	closed bool
	all    map[*conn]struct{}
}

type conn struct {
	net.Conn
	of   *conns
	peer string // by of.mu: the address that the node at the other end advertises, or "": not known yet
}

func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.all, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

func (cs *conns) add(raw net.Conn, peer string) (*conn, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.closed {
		_ = raw.Close()
		return nil, errStopped
	}
	c := &conn{Conn: wire.Quick(raw), of: cs, peer: peer}
	cs.all[c] = struct{}{}
	return c, nil
}

// name notes which node is at the other end of the connection from socket.
func (cs *conns) name(socket, peer string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.all {
		if c.peer == "" && c.RemoteAddr().String() == socket {
			c.peer = peer
		}
	}
}

func (cs *conns) closePeer(address string) {
	cs.closeIf(func(c *conn) bool { return c.peer == address })
}

func (cs *conns) closeAll() {
	cs.mu.Lock()
	cs.closed = true
	cs.mu.Unlock()
	cs.closeIf(func(*conn) bool { return true })
}

func (cs *conns) closeIf(want func(*conn) bool) {
	cs.mu.Lock()
	var found []*conn
	for c := range cs.all {
		if want(c) {
			found = append(found, c)
		}
	}
	cs.mu.Unlock()
	for _, c := range found {
		_ = c.Close()
	}
}

// tracking are a server's credentials that see the raw connections.
type tracking struct {
	credentials.TransportCredentials
	conns *conns
}

func (t tracking) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c, err := t.conns.add(raw, "")
	if err != nil {
		return nil, nil, err
	}
	secure, info, err := t.TransportCredentials.ServerHandshake(c)
	if err != nil {
		_ = c.Close()
	}
	return secure, info, err
}

func (t tracking) Clone() credentials.TransportCredentials {
	return tracking{t.TransportCredentials.Clone(), t.conns}
}
