package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const dialTimeout = 3 * time.Second

// dial opens a connection. It goes through no proxy: nodes are near.
func dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout}
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &answered{Conn: c, asked: make(chan struct{})}, nil
}

// answered is a connection on which only reads fail. A node that gives up an upload
// answers and closes the connection while the client still writes. Then net/http would
// tell of the write that failed, and not of the answer, which can still be read. Where
// there is none, a read fails too.
//
// Bytes that come before the first write wait for it. A server of another protocol may speak first, and
// net/http would write to the standard logger what came before its request. The end of the connection does
// not wait: net/http would send a request on it.
type answered struct {
	net.Conn
	asked chan struct{} // closed by the first Write, or by Close
	once  sync.Once
}

func (c *answered) ask() { c.once.Do(func() { close(c.asked) }) }

func (c *answered) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == nil {
		<-c.asked
	}
	return n, err
}

func (c *answered) Close() error {
	defer c.ask()
	return c.Conn.Close()
}

// Write drops p if the other end has closed the connection.
func (c *answered) Write(p []byte) (int, error) {
	c.ask()
	n, err := c.Conn.Write(p)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return len(p), nil
	}
	return n, err
}

// brokenConn is why there was no answer, or not a whole one, from a node that had been
// reached.
type brokenConn struct {
	addr string
	err  error
}

func (b *brokenConn) Error() string {
	return fmt.Sprintf("the connection to %s broke: %v", b.addr, b.err)
}

func (b *brokenConn) Unwrap() error { return b.err }
