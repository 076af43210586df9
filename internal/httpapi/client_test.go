package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/internal/httpapi/fakenode"
)

func TestEventsAndMetrics(t *testing.T) {
	node := fakenode.New()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	server := httpapi.New(node, httpapi.Options{Logger: quiet(), Heartbeat: time.Millisecond})
	go func() { done <- server.Serve(ctx, l) }()
	client, err := httpapi.NewClient(l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan actors.Event)
	read := make(chan error, 1)
	go func() {
		read <- client.Events(context.Background(), func(kind string, data []byte) error {
			e, err := actors.Decode(kind, data)
			got <- e
			return err
		})
	}()
	want := actors.PlaceLost{Target: "t", Place: 3, Node: "n2#2", Source: "s", Cause: "node n2#2 is down"}
	node.Publish(2, want) // the stream and the counter
	if e := <-got; e != actors.Event(want) {
		t.Errorf("got %v", e)
	}
	if _, err := client.Put(ctx, "secret-object", strings.NewReader("x"), 1, httpapi.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	metrics := scrape(t, l.Addr().String())
	for _, line := range []string{
		`phalanx_events_total{kind="PlaceLost"} 1`,
		`phalanx_http_requests_total{method="PUT",route="/v1/objects/{id}",status="201"} 1`,
		"phalanx_memory_used_bytes 3.145728e+06", "phalanx_members 2", "phalanx_view_number 3", "phalanx_shards_owned 32",
		"phalanx_copies_pinned 2", "phalanx_evictions_total 5", "phalanx_fetches 1", "phalanx_sent_bytes_total 7.340032e+06", "phalanx_streams_busy_total 6",
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("the metrics have no line %q", line)
		}
	}
	if strings.Contains(metrics, "secret-object") {
		t.Error("the metrics have an object's id")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := <-read; !errors.Is(err, phalanx.ErrClosed) {
		t.Errorf("the stream of events ended with %v", err)
	}
	client.Close()
}

// scrape returns the metrics once the event was counted, which is done beside
// its delivery.
func scrape(t *testing.T, addr string) string {
	t.Helper()
	for t.Context().Err() == nil {
		res, err := http.Get("http://" + addr + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(body), "phalanx_events_total{") {
			http.DefaultClient.CloseIdleConnections()
			return string(body)
		}
	}
	return ""
}

func TestClientFailures(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	c, err := httpapi.NewClient(addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Status(t.Context()); !errors.Is(err, phalanx.ErrUnavailable) || !strings.Contains(err.Error(), "no node answers at http://"+addr+"; start one with `phalanx dev` or give --addr") {
		t.Errorf("nobody there: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Status(gone); !errors.Is(err, phalanx.ErrCanceled) {
		t.Errorf("canceled: %v", err)
	}
	if err := c.Delete(t.Context(), "", 0); !errors.Is(err, phalanx.ErrInvalid) {
		t.Errorf("no id: %v", err)
	}
	for _, bad := range []string{"", "ftp://x", "http://", "a b:1", "http://x/?q=1"} {
		if _, err := httpapi.NewClient(bad, nil); !errors.Is(err, phalanx.ErrInvalid) || !strings.Contains(err.Error(), bad) {
			t.Errorf("NewClient(%q): %v", bad, err)
		}
	}
	for addr, want := range map[string]string{"foo": "host:port, such as foo:7420", "foo:": "such as foo:7420", "10.0.0.1": "such as 10.0.0.1:7420", "[::1]": "such as [::1]:7420",
		"foo:0": "not a port from 1 to 65535", "foo:70000": "not a port from 1 to 65535", "foo:x": "neither host:port"} {
		if _, err := httpapi.NewClient(addr, nil); !errors.Is(err, phalanx.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("NewClient(%q): %v, want %q", addr, err, want)
		}
	}
	for _, good := range []string{"foo:80", ":7420", "http://foo", "https://foo/at/", "[::1]:7420"} {
		if _, err := httpapi.NewClient(good, nil); err != nil {
			t.Errorf("NewClient(%q): %v", good, err)
		}
	}
	hello := "\x00\x00\x06\x04\x00\x00\x00\x00\x00" // as the control port of a node speaks
	controls := []*httpapi.Client{abrupt(t, func() string { return hello })}
	for range 50 {
		controls = append(controls, eager(t, hello))
	}
	for _, control := range controls {
		if _, err := control.Status(t.Context()); !errors.Is(err, phalanx.ErrUnavailable) || !strings.Contains(err.Error(), "does not speak HTTP: the port of --http is wanted, 7420") {
			t.Fatalf("a control port: %v", err)
		}
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	if c, err = httpapi.NewClient(other.URL, nil); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Status(t.Context()); !errors.Is(err, phalanx.ErrUnavailable) || !strings.Contains(err.Error(), "is that a phalanx node?") {
		t.Errorf("another server: %v", err)
	}
	if u, err := url.Parse(c.Addr()); err != nil || u.Host == "" {
		t.Errorf("Addr: %v, %v", u, err)
	}
}
