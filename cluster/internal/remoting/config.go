package remoting

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
)

// Config has the arguments of Start. Only Log has no default.
type Config struct {
	Bind      string // host:port to listen on; 127.0.0.1:0. Port 0 stands for any that is free
	Advertise string // host or host:port that peers dial; what was bound

	Server, Client *tls.Config // nil: no TLS

	// Kinds are the actors that peers may spawn here, with their supervisors.
	Kinds map[string]*actor.Props

	// OnSpawn is told of each actor that a peer has spawned here, which is for
	// the node to stop. It must not block.
	OnSpawn func(*actor.PID)

	// OnBroken is told when the connection to or from the node at address broke
	// or could not be made; when both broke, twice. It must not block.
	OnBroken func(address string, err error)

	// OnUnsendable is told of each message that could not be sent, since it is too
	// long, for example, and for whom it was. It must not block.
	OnUnsendable func(to string, message any, err error)

	// Dial opens connections; by default by TCP, within two seconds.
	Dial func(ctx context.Context, address string) (net.Conn, error)

	Log logrus.FieldLogger
}

const dialTimeout = 2 * time.Second

func (c Config) withDefaults() Config {
	if c.Bind == "" {
		c.Bind = "127.0.0.1:0"
	}
	if c.OnBroken == nil {
		c.OnBroken = func(string, error) {}
	}
	if c.OnUnsendable == nil {
		c.OnUnsendable = func(string, any, error) {}
	}
	if c.OnSpawn == nil {
		c.OnSpawn = func(*actor.PID) {}
	}
	if c.Dial == nil {
		d := net.Dialer{Timeout: dialTimeout}
		c.Dial = func(ctx context.Context, address string) (net.Conn, error) { return d.DialContext(ctx, "tcp", address) }
	}
	return c
}

// listen returns the listener, and the address that peers dial.
func (c Config) listen() (net.Listener, string, error) {
	host, _, err := split("listen on", c.Bind)
	if err != nil {
		return nil, "", err
	}
	ip := net.ParseIP(host)
	if c.Advertise == "" && (host == "" || ip != nil && ip.IsUnspecified()) {
		return nil, "", invalid("%s is every address of this machine: say which of them peers shall dial", c.Bind)
	}
	public, port := c.Advertise, 0
	if _, _, err := net.SplitHostPort(public); err == nil {
		if public, port, err = split("advertise", c.Advertise); err != nil {
			return nil, "", err
		}
		if public == "" {
			return nil, "", invalid("cannot advertise %q: the address names no host", c.Advertise)
		}
	}
	l, err := net.Listen("tcp", c.Bind)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err // the rest repeats the address
		}
		return nil, "", invalid("cannot listen on %s: %w", c.Bind, err)
	}
	bound := l.Addr().(*net.TCPAddr)
	if public == "" {
		public = bound.IP.String()
	}
	if port == 0 {
		port = bound.Port
	}
	return l, net.JoinHostPort(public, strconv.Itoa(port)), nil
}

func split(what, address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, invalid("cannot %s %q: %w", what, address, err)
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, invalid("cannot %s %q: %q is not a port from 0 to 65535", what, address, text)
	}
	return host, port, nil
}

func invalid(format string, args ...any) error {
	return &phalanx.Error{Op: "listen", Kind: phalanx.ErrInvalid, Err: fmt.Errorf(format, args...)}
}
