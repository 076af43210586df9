package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	packageSize = 64 << 10
	chunk       = 4 << 10
)

// server is an HTTP server whose disk thrashes: up to its capacity, every download
// has the full speed; with more, all share less than that.
type server struct {
	o       options
	bytes   []byte
	sum     [32]byte
	http    *http.Server
	client  *http.Client
	url     string
	present atomic.Int32
}

func newServer(o options) (*server, error) {
	s := &server{o: o, bytes: make([]byte, packageSize)}
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(s.bytes) // it never fails
	s.sum = sha256.Sum256(s.bytes)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.url = "http://" + l.Addr().String()
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	s.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	go func() { _ = s.http.Serve(l) }()
	return s, nil
}

func (s *server) close() {
	s.client.CloseIdleConnections()
	_ = s.http.Close()
}

// ServeHTTP sends the package, each chunk at the speed of the moment.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.present.Add(1)
	defer s.present.Add(-1)
	each := s.o.download / (packageSize / chunk)
	for at := 0; at < packageSize; at += chunk {
		over := max(1, float64(s.present.Load())/float64(s.o.capacity))
		select {
		case <-time.After(time.Duration(float64(each) * over * over)):
		case <-r.Context().Done():
			return
		}
		if _, err := w.Write(s.bytes[at : at+chunk]); err != nil {
			return
		}
	}
}

// fetch downloads the package, and checks it.
func (s *server) fetch(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(b); !bytes.Equal(sum[:], s.sum[:]) {
		return errors.New("the package has other bytes")
	}
	return nil
}
