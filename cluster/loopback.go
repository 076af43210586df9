package cluster

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/phalanx-go/phalanx"
)

// resolveFor bounds how long Join waits for the addresses of all seeds that have names.
const resolveFor = time.Second

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// unreachable returns an ErrInvalid if this node advertises loopback and a seed is on another
// machine, from where the answers to this node would go to that machine itself. find returns the
// addresses of a seed's host, or none if it does not know them.
func (c Config) unreachable(find func(host string) []string) error {
	if !loopback(c.Advertise) {
		return nil
	}
	for _, seed := range c.Seeds {
		host, _, err := net.SplitHostPort(seed)
		if err != nil || loopback(host) {
			continue
		}
		addresses := find(host)
		if len(addresses) == 0 || here(addresses) {
			continue
		}
		field, flag := "Bind", "--bind"
		if loopback(c.Bind) != loopback(c.Advertise) {
			field, flag = "Advertise", "--advertise"
		}
		return &phalanx.Error{Op: "join", Kind: phalanx.ErrInvalid,
			Err: fmt.Errorf("%s: this node listens on %s, where the seed %s cannot reach it: give %s (%s)", field, c.Advertise, seed, field, flag)}
	}
	return nil
}

// literal returns host if it is an IP address.
func literal(host string) []string {
	if net.ParseIP(host) == nil {
		return nil
	}
	return []string{host}
}

// reachable is unreachable with the addresses of seeds that have names.
func (c Config) reachable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, resolveFor)
	defer cancel()
	return c.unreachable(lookUp(ctx))
}

// lookUp returns a function that resolves names until ctx ends.
func lookUp(ctx context.Context) func(host string) []string {
	return func(host string) []string {
		all, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			return nil // the join says so
		}
		return all
	}
}

// here reports whether one of the addresses is of this machine.
func here(addresses []string) bool {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return true // the system does not tell
	}
	for _, a := range addresses {
		ip := net.ParseIP(a)
		if ip == nil || ip.IsLoopback() || ip.IsUnspecified() {
			return true
		}
		for _, o := range own {
			if n, ok := o.(*net.IPNet); ok && n.IP.Equal(ip) {
				return true
			}
		}
	}
	return false
}
