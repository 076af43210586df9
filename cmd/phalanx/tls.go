package main

import (
	"crypto/tls"
	"crypto/x509"
	"os"
)

// tlsFiles name the PEM files of a certificate, its key, and the authority that
// peers' certificates are of.
type tlsFiles struct{ cert, key, ca string }

// load reads the files. Without a certificate there is none.
func (f tlsFiles) load() (certs []tls.Certificate, pool *x509.CertPool, err error) {
	if (f.cert == "") != (f.key == "") {
		return nil, nil, invalid("--tls-cert and --tls-key are needed together")
	}
	if f.cert != "" {
		c, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, nil, invalid("--tls-cert %s, --tls-key %s: %w", f.cert, f.key, err)
		}
		certs = []tls.Certificate{c}
	}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, nil, invalid("--tls-ca: %w", err)
		}
		pool = x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, nil, invalid("--tls-ca: %s has no certificate in PEM", f.ca)
		}
	}
	return certs, pool, nil
}

// client returns the configuration of the dialing side. Without an authority the
// system's are trusted.
func (f tlsFiles) client() (*tls.Config, error) {
	certs, pool, err := f.load()
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: certs, RootCAs: pool, MinVersion: tls.VersionTLS13}, nil
}

// server returns the configuration of the listening side, nil without a certificate.
// With an authority clients must show a certificate of it.
func (f tlsFiles) server() (*tls.Config, error) {
	certs, pool, err := f.load()
	if err != nil || certs == nil {
		return nil, err
	}
	c := &tls.Config{Certificates: certs, ClientCAs: pool, MinVersion: tls.VersionTLS13}
	if pool != nil {
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return c, nil
}
