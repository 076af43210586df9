package remoting_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster/internal/remoting"
)

// certified returns a config of a node that asks for certificates and has one.
func certified(t *testing.T) remoting.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "phalanx"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(root)
	pair := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return remoting.Config{
		Server: &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool},
		Client: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool},
	}
}

func TestTLS(t *testing.T) {
	cfg := certified(t)
	a, b := start(t, cfg), start(t, cfg)
	a.echo(t, "echo")
	b.echo(t, "echo")
	a.ask(t, b, "hello")
	b.ask(t, a, "hello")
	a.ClosePeer(b.Address())
	a.insist(t, b, "again")

	for name, c := range map[string]struct {
		cfg  remoting.Config
		want string
	}{
		"another authority": {certified(t), ": give the authority of that node's certificate (--tls-ca)"},
		"no certificate":    {remoting.Config{Client: &tls.Config{RootCAs: cfg.Client.RootCAs}}, "does not accept this node's certificate"}, // TLS 1.3 tells a client after its handshake, if at all
		"no TLS":            {remoting.Config{}, "if that node has TLS, give this one TLS too (--tls-cert"},
	} {
		stranger := start(t, c.cfg)
		_, err := stranger.Request(within(t), stranger.PID(a.Address(), "echo"), text("hello"))
		if !errors.Is(err, phalanx.ErrUnavailable) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "rpc error") {
			t.Errorf("%s: %v, want unavailable with %q", name, err, c.want)
		}
	}
	plain := start(t, remoting.Config{})
	if _, err := a.Request(within(t), a.PID(plain.Address(), "echo"), text("hello")); !errors.Is(err, phalanx.ErrUnavailable) || !strings.Contains(err.Error(), "has no TLS, and this node has") {
		t.Errorf("a node without TLS: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.(*net.TCPConn).CloseWrite()
			go func() {
				defer c.Close()
				_, _ = io.Copy(io.Discard, c) // else the connection would be reset
			}()
		}
	}()
	_, err = a.Request(within(t), a.PID(l.Addr().String(), "echo"), text("hello"))
	if !errors.Is(err, phalanx.ErrUnavailable) || !strings.Contains(err.Error(), "closed the connection in the TLS handshake") {
		t.Errorf("a process that closes each connection: %v", err)
	}
}
