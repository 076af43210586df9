package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// joined returns k nodes of a cluster in this process.
func joined(t *testing.T, k int) []*cluster.Node {
	t.Helper()
	var nodes []*cluster.Node
	for i := range k {
		cfg := cluster.Config{Name: fmt.Sprintf("n%d", i+1), Memory: 64 << 20, Logger: quiet()}
		if nodes != nil {
			cfg.Seeds = []string{nodes[0].ControlAddr()}
		}
		n, err := cluster.Join(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.Close() })
		nodes = append(nodes, n)
	}
	return nodes
}

func quiet() *logrus.Logger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return l
}

// overHTTP serves n.
func overHTTP(t *testing.T, n httpapi.Node) *httptest.Server {
	s := httptest.NewServer(httpapi.New(n, httpapi.Options{Logger: quiet()}).Handler())
	t.Cleanup(s.Close)
	return s
}

// failed returns the answer to a GET, which is an error.
func failed(t *testing.T, url string) (status int, e httpapi.ErrorInfo) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return 0, e
	}
	defer res.Body.Close()
	var got struct{ Error httpapi.ErrorInfo }
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		t.Error(err)
	}
	return res.StatusCode, got.Error
}

// An object whose only holder has died is told to be lost, with the name of that, to a GET without
// wait; one with wait gets it once it is put again.
func TestLostObjectOverHTTP(t *testing.T) {
	nodes := joined(t, 4)
	origin := nodes[3]
	data := make([]byte, 16<<20)
	if _, err := origin.Put(t.Context(), "only", data); err != nil {
		t.Fatal(err)
	}
	s := overHTTP(t, servedNode(nodes[0]))
	c := client(t, s.URL)
	origin.Close()
	began := time.Now()
	if status, e := failed(t, s.URL+"/v1/objects/only"); status != http.StatusGone || e.Kind != "lost" || e.Node != origin.ID() {
		t.Errorf("GET: %d %+v", status, e)
	}
	if _, err := c.Get(t.Context(), "only", 0, 0); !errors.Is(err, phalanx.ErrLost) {
		t.Errorf("get: %v", err)
	}
	if took := time.Since(began); took > 40*time.Second { // far below the limit of 60 s
		t.Errorf("it took %v", took)
	}
	var waiting sync.WaitGroup
	for i := range 40 { // also where the wait is over before anybody has looked
		waiting.Go(func() {
			wait := []time.Duration{300 * time.Millisecond, 1}[i%2]
			if status, e := failed(t, fmt.Sprintf("%s/v1/objects/only?wait=%v", s.URL, wait)); status != http.StatusGone || e.Kind != "lost" || e.Node != origin.ID() {
				t.Errorf("GET that waits for %v: %d %+v", wait, status, e)
			}
		})
	}
	waiting.Wait()
	// The same bytes put again are the object again.
	go func() {
		_, _ = nodes[1].Put(t.Context(), "only", data)
	}()
	d, err := c.Get(t.Context(), "only", 30*time.Second, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if n, err := io.Copy(io.Discard, d); n != int64(len(data)) || err != nil {
		t.Errorf("put again: %d bytes, %v", n, err)
	}
}

// opening tells when an Open has returned.
type opening struct {
	httpapi.Node
	done chan bool
}

func (o opening) Open(ctx context.Context, id phalanx.ObjectID, wait bool) (httpapi.Stream, error) {
	defer func() { o.done <- true }()
	return o.Node.Open(ctx, id, wait)
}

// A GET of an upload of which no byte has come is answered with an error, by the node that takes
// the upload and by another one.
func TestUploadWithoutAByteOverHTTP(t *testing.T) {
	nodes := joined(t, 2)
	open := make(chan bool, 10)
	at := []*httptest.Server{overHTTP(t, opening{servedNode(nodes[0]), open}), overHTTP(t, opening{servedNode(nodes[1]), open})}
	conn, err := net.Dial("tcp", at[0].Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "PUT /v1/objects/empty HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n")
	c := client(t, at[1].URL)
	until := func(ok func(httpapi.Object) bool) {
		t.Helper()
		for t.Context().Err() == nil {
			o, err := c.Stat(t.Context(), "empty", 0)
			if err == nil && ok(o) {
				return
			}
			if err != nil && !errors.Is(err, phalanx.ErrNotFound) {
				t.Fatal(err)
			}
		}
	}
	until(func(o httpapi.Object) bool { return o.State == "begun" })
	for i, s := range at {
		status, e := failed(t, s.URL+"/v1/objects/empty?timeout=300ms")
		<-open
		if status != http.StatusGatewayTimeout || e.Kind != "deadline" || e.Object != "empty" || e.Message == "" {
			t.Errorf("node %d: %d %+v", i+1, status, e)
		}
	}
	until(func(o httpapi.Object) bool { return len(o.Waiting) == 0 })
	ended := make(chan func(), len(at))
	for i, s := range at {
		go func() {
			status, e := failed(t, s.URL+"/v1/objects/empty")
			ended <- func() {
				gone := i == 1 && status == http.StatusNotFound && e.Kind == "not found" // it had no part of the object
				if !gone && (status != http.StatusBadGateway || e.Kind != "aborted") || e.Object != "empty" || e.Message == "" {
					t.Errorf("node %d: %d %+v", i+1, status, e)
				}
			}
		}()
	}
	<-open // at the node that takes the upload; the other one waits for its first byte
	until(func(o httpapi.Object) bool { return len(o.Waiting) == 1 })
	_ = conn.Close()
	for range at {
		(<-ended)()
	}
}
