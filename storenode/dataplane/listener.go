package dataplane

import (
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/phalanx-go/phalanx"
)

func (c *Conns) accept() {
	for {
		conn, err := c.listener.Accept()
		switch {
		case err == nil:
			if !c.spawn(func() { c.serve(conn) }) {
				_ = conn.Close()
			}
		case c.ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return
		default: // out of file descriptors, for example: others may close some
			c.cfg.Logger.WithError(err).Warn("accepting a data connection failed")
			select {
			case <-c.ctx.Done():
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}

// serve runs one connection that a peer made.
func (c *Conns) serve(conn net.Conn) {
	if c.cfg.ServerTLS != nil {
		conn = tls.Server(conn, c.cfg.ServerTLS)
	}
	l, err := c.newLink(conn, "", 0)
	if err != nil {
		return
	}
	defer l.drop()
	met := c.await(l)
	defer met()
	log := c.cfg.Logger.WithField("addr", conn.RemoteAddr().String())
	h, err := l.welcome()
	if err != nil {
		if hangUp(err) {
			log.Debug("a peer connected and closed")
		} else {
			log.WithError(withNode(err, "hello", h.from)).Info("a data connection was not admitted")
		}
		return
	}
	defer c.unmeet(l)
	met()
	p := c.host(h.from)
	defer c.part(p)
	switch h.role {
	case roleMessages:
		c.broken(l, h.from, withNode(l.messages(p), "receive", h.from))
		return
	case roleBeats:
		_ = l.echo(h.from)
		if c.ctx.Err() == nil && !l.ours.Load() && c.cfg.OnBeatsEnd != nil {
			c.cfg.OnBeatsEnd(h.from)
		}
		return
	}
	if err := l.requests(p); err != nil && !hangUp(err) && c.ctx.Err() == nil && !l.ours.Load() {
		log.WithError(withNode(err, "serve", h.from)).Info("a data connection ended")
	}
}

// messages hands the peer's messages to OnMessage until the connection ends.
func (l *link) messages(p *peer) error {
	l.frames.ahead = messageBuffer
	for {
		h, err := l.frames.next()
		if err != nil {
			return err
		}
		if h.kind != kindMessage {
			return refused("a %v frame among messages", h.kind)
		}
		payload, err := l.frames.payload(h)
		if err != nil {
			return err
		}
		p.delivered.Add(1)
		if l.c.cfg.OnMessage != nil {
			l.c.cfg.OnMessage(p.node, payload)
		}
	}
}

// requests serves one stream after the other.
func (l *link) requests(p *peer) error {
	w := newWriter(l, p)
	defer w.cancel()
	for first := true; ; first = false {
		payload, err := l.request(p, first)
		if err != nil {
			return err
		}
		w.ended = false
		req, err := parseRequest(payload)
		if err != nil {
			return errors.Join(err, w.Gone(faultOf(err)))
		}
		switch {
		case req.Kind == Object && !w.Seat():
			w.failed = w.TurnAway()
		case l.c.cfg.OnStream != nil:
			l.c.cfg.OnStream(p.node, req, w)
		}
		w.Stand()
		if !w.ended && w.failed == nil {
			w.failed = w.Gone(phalanx.ErrInternal, "the request was not answered")
		}
		if w.failed != nil {
			return w.failed
		}
	}
}

// request waits for a request.
func (l *link) request(p *peer, first bool) (payload []byte, err error) {
	over, err := l.settle(p, first)
	if err != nil {
		return nil, err
	}
	defer func() {
		if failed := over(); err == nil {
			err = failed
		}
	}()
	h, err := l.frames.next()
	if err != nil {
		return nil, err
	}
	if h.kind != kindOpen {
		return nil, refused("a %v frame instead of a request", h.kind)
	}
	return l.frames.payload(h)
}
