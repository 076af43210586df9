package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/phalanx-go/phalanx"
)

// loopback reports whether host is only reached from this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// checkAddresses refuses addresses that others can reach if nothing protects
// them, and addresses that no node can dial.
func checkAddresses(s *settings) error {
	c := s.cluster
	if ip := net.ParseIP(c.Bind); ip != nil && ip.IsUnspecified() && c.Advertise == "" {
		return configError("bind: with %s, which is every address of the machine, --advertise must say which of them others dial", c.Bind)
	}
	if s.http == "off" || c.Insecure || c.ServerTLS != nil {
		return nil
	}
	if host, _, err := net.SplitHostPort(s.http); err == nil && !loopback(host) {
		return configError("http: %s is not a loopback address and there is no TLS: give --tls-cert, --tls-key and --tls-ca, or --insecure on a closed network", host)
	}
	return nil
}

// listenHTTP listens where the settings say; TLS is nil on loopback. Without
// HTTP the listener is nil.
func listenHTTP(s *settings) (net.Listener, *tls.Config, error) {
	if s.http == "off" {
		return nil, nil, nil
	}
	l, err := net.Listen("tcp", s.http)
	if err != nil {
		why := fmt.Errorf("http: %w", err)
		if errors.Is(err, syscall.EADDRINUSE) {
			why = fmt.Errorf("http: %s is in use, perhaps by another node: give another address with --http, or --http off", s.http)
		}
		return nil, nil, &phalanx.Error{Op: "node", Kind: phalanx.ErrInvalid, Err: why}
	}
	if host, _, err := net.SplitHostPort(s.http); err == nil && loopback(host) {
		return l, nil, nil
	}
	return l, s.cluster.ServerTLS, nil
}
