package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/internal/httpapi/fakenode"
)

// certificates writes an authority ca.pem and a certificate of it for
// 127.0.0.1, c.pem and k.pem.
func certificates(t *testing.T) {
	t.Helper()
	keys := [2]*ecdsa.PrivateKey{}
	for i := range keys {
		var err error
		if keys[i], err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "node"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	for name, c := range map[string]struct {
		of  *x509.Certificate
		key *ecdsa.PrivateKey
	}{"ca.pem": {ca, keys[0]}, "c.pem": {leaf, keys[1]}} {
		der, err := x509.CreateCertificate(rand.Reader, c.of, ca, &c.key.PublicKey, keys[0])
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, name, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	}
	der, err := x509.MarshalECPrivateKey(keys[1])
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, "k.pem", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})))
}

func TestTLS(t *testing.T) {
	t.Chdir(t.TempDir())
	certificates(t)
	files := tlsFiles{"c.pem", "k.pem", "ca.pem"}
	config, err := files.server()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- httpapi.New(fakenode.New(), httpapi.Options{Logger: log, TLS: config}).Serve(ctx, l) }()
	b := &bed{environ: []string{"PHALANX_ADDR=" + l.Addr().String()}}
	must(t, b.run(t, "", "status", "--tls-cert=c.pem", "--tls-key=k.pem", "--tls-ca=ca.pem"), "node n1#1")
	for _, flags := range []string{"", "--tls-ca=ca.pem", "--tls-cert=c.pem --tls-key=k.pem"} { // plain, unknown to the node, not trusting it
		must(t, b.run(t, "", strings.Fields("status "+flags)...), "exit 8\n")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestTLSFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	certificates(t)
	writeFile(t, "text.pem", "no PEM")
	for _, f := range []tlsFiles{{"c.pem", "", ""}, {"", "k.pem", ""}, {"c.pem", "nofile.pem", ""}, {"text.pem", "k.pem", ""}, {"c.pem", "k.pem", "nofile.pem"}, {"c.pem", "k.pem", "text.pem"}} {
		if _, err := f.server(); !errors.Is(err, phalanx.ErrInvalid) {
			t.Errorf("%v: %v", f, err)
		}
	}
	if c, err := (tlsFiles{}).server(); c != nil || err != nil {
		t.Errorf("without files: %v, %v", c, err)
	}
}

// Two nodes with TLS on their own traffic: one has the certificate as the other.
func TestNodesWithTLS(t *testing.T) {
	t.Chdir(t.TempDir())
	certificates(t)
	flags := []string{"node", "-o", "json", "--control-port=0", "--data-port=0", "--http=127.0.0.1:0", "--memory=64MB", "--log-level=error",
		"--tls-cert=c.pem", "--tls-key=k.pem", "--tls-ca=ca.pem"}
	var first, second ready
	one := start(t, append(flags, "--name=one")...)
	one.line(t, &first)
	two := start(t, append(flags, "--name=two", "--seeds="+first.Control)...)
	two.line(t, &second)
	data := random(300_000)
	if _, err := client(t, first.HTTP).Put(t.Context(), "a", strings.NewReader(string(data)), int64(len(data)), httpapi.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := fetch(t, second.HTTP+"/v1/objects/a"); string(got) != string(data) {
		t.Errorf("got %d other bytes", len(got))
	}
	for flags, want := range map[string]string{"": "if that node has TLS", "--tls-cert=c.pem --tls-key=k.pem": "give the authority of that node's certificate (--tls-ca)"} {
		args := append([]string{"node", "--http=off", "--control-port=0", "--data-port=0", "--log-level=error", "--join-timeout=1s", "--seeds=" + first.Control}, strings.Fields(flags)...)
		must(t, (&bed{}).run(t, "", args...), want, "exit 9\n")
	}
	two.interrupt(t, os.Interrupt)
	one.interrupt(t, os.Interrupt)
}
