package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/internal/httpapi/fakenode"
	"github.com/phalanx-go/phalanx/storenode"
)

// fullNode has a Put wait for memory until somebody sends to room, its caller goes, or
// the test ends.
type fullNode struct {
	httpapi.Node
	waits chan httpapi.Putting
	room  chan bool
	gone  chan time.Time
	ended chan struct{}
}

func (f *fullNode) Put(ctx context.Context, id phalanx.ObjectID, r io.Reader, meta phalanx.Meta, how httpapi.Putting) (storenode.Info, bool, error) {
	f.waits <- how
	select {
	case <-f.room:
		return f.Node.Put(ctx, id, r, meta, how)
	case <-ctx.Done():
		f.gone <- time.Now()
	case <-f.ended: // or the server could not be closed
	}
	return storenode.Info{}, false, &phalanx.Error{Op: "put", Object: id, Kind: phalanx.ErrCanceled}
}

func full(t *testing.T) (*fullNode, *httptest.Server, *httpapi.Client) {
	t.Helper()
	f := &fullNode{fakenode.New(), make(chan httpapi.Putting, 1), make(chan bool), make(chan time.Time, 1), make(chan struct{})}
	s := httptest.NewServer(httpapi.New(f, httpapi.Options{}).Handler())
	t.Cleanup(func() {
		close(f.ended)
		s.Close()
	})
	c, err := httpapi.NewClient(s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return f, s, c
}

// A client of a PUT that waits for memory is told so every second, and its object is whole.
func TestAPutThatWaitsSaysSo(t *testing.T) {
	f, s, c := full(t)
	var told atomic.Int32
	twice := make(chan bool)
	o := httpapi.PutOptions{MemoryWait: time.Minute, Waits: func() {
		if told.Add(1) == 2 {
			close(twice)
		}
	}}
	data := strings.Repeat("0123456789", 1_000_000)
	put := make(chan error, 1)
	go func() {
		_, err := c.Put(t.Context(), "x", strings.NewReader(data), int64(len(data)), o)
		put <- err
	}()
	if how := <-f.waits; how.MemoryWait != time.Minute {
		t.Errorf("it waits for %v", how.MemoryWait)
	}
	<-twice
	f.room <- true
	if err := <-put; err != nil {
		t.Fatal(err)
	}
	d, err := c.Get(t.Context(), "x", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if got, err := io.ReadAll(d); err != nil || string(got) != data {
		t.Errorf("%d bytes came, %v", len(got), err)
	}
	// Without a word about it the wait is 10 s; 0s does not wait.
	for query, want := range map[string]time.Duration{"": 10 * time.Second, "?memory-wait=0s": 0, "?memory-wait=3s": 3 * time.Second} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL+"/v1/objects/x"+query, strings.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		go func() { f.room <- true }()
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if how := <-f.waits; res.StatusCode != http.StatusOK || how.MemoryWait != want {
			t.Errorf("%q: %s, it waits for %v", query, res.Status, how.MemoryWait)
		}
	}
}

// A client that goes away while its PUT waits ends that within a few seconds, although
// the end of its connection stands behind bytes that nobody reads.
func TestACallerThatGoesWhileItsPutWaits(t *testing.T) {
	f, s, _ := full(t)
	conn := upload(t, s.Listener.Addr().String(), "HTTP/1.1")
	<-f.waits
	answer := bufio.NewReader(conn)
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if line, err := answer.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Errorf("it is told %q, %v", line, err)
	}
	went := time.Now()
	_ = conn.Close()
	select {
	case at := <-f.gone:
		if took := at.Sub(went); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nobody has noticed")
	}
}

// HTTP/1.0 has no interim answers.
func TestAnOldClientIsToldNothing(t *testing.T) {
	f, s, _ := full(t)
	conn := upload(t, s.Listener.Addr().String(), "HTTP/1.0")
	defer conn.Close()
	<-f.waits
	if err := conn.SetReadDeadline(time.Now().Add(1500 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 100)); n != 0 || err == nil {
		t.Errorf("%d bytes came, %v", n, err)
	}
	_ = conn.Close()
	f.room <- true // it reads, and finds out
}

// upload begins a PUT over a connection of its own, and sends as much as the other side
// takes without reading.
func upload(t *testing.T, addr, protocol string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	const size = 64 << 20
	body := make([]byte, size)
	fmt.Fprintf(conn, "PUT /v1/objects/x?memory-wait=1h %s\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", protocol, size, body[:1])
	if err := conn.SetWriteDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Write(body[1:]); err == nil {
		t.Fatalf("%d bytes were taken", n)
	}
	return conn
}
