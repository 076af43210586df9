package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// abrupt is a server that reads the head of each request and the first bytes of its body,
// and then answers and resets the connection, while the client still writes.
func abrupt(t *testing.T, answer func() string) *httpapi.Client {
	t.Helper()
	return clientOf(t, func(c *net.TCPConn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err == nil {
			_, _ = io.CopyN(io.Discard, r.Body, 1000)
		}
		_, _ = io.WriteString(c, answer())
		_ = c.SetLinger(0)
	})
}

// eager returns a client of a server that speaks first, and does not wait for a request.
func eager(t *testing.T, hello string) *httpapi.Client {
	t.Helper()
	return clientOf(t, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, hello)
		_, _ = c.Read(make([]byte, 1000)) // what is no answer to that
	})
}

// clientOf returns a client of a server that handles each connection by serve, and closes it
// then.
func clientOf(t *testing.T, serve func(*net.TCPConn)) *httpapi.Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c.(*net.TCPConn))
			}()
		}
	}()
	client, err := httpapi.NewClient(l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// zeros never end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A node that gives up an upload says why. The client hears that although the
// connection breaks as it writes.
func TestAnAnswerInTheMiddleOfAnUpload(t *testing.T) {
	const body = `{"error":{"kind":"no space","op":"put","object":"x","message":"it is full"}}`
	client := abrupt(t, func() string {
		return fmt.Sprintf("HTTP/1.1 507 Insufficient Storage\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	})
	for _, size := range []int64{phalanx.UnknownSize, 1 << 40} {
		for i := range 50 {
			if _, err := client.Put(t.Context(), "x", zeros{}, size, httpapi.PutOptions{}); !errors.Is(err, phalanx.ErrNoSpace) || !strings.Contains(err.Error(), "it is full") {
				t.Fatalf("size %d, put %d: %v", size, i, err)
			}
		}
	}
}

// A connection that a node breaks because the call's time is over is no broken one to the
// caller.
func TestAConnectionThatBreaksAfterTheTimeout(t *testing.T) {
	const timeout = 10 * time.Millisecond
	client := abrupt(t, func() string {
		over, cancel := context.WithTimeout(t.Context(), timeout) // since the request came, which is later than it began
		defer cancel()
		<-over.Done()
		return ""
	})
	_, err := client.Put(t.Context(), "x", zeros{}, phalanx.UnknownSize, httpapi.PutOptions{Timeout: timeout})
	if !errors.Is(err, phalanx.ErrDeadline) || !strings.Contains(err.Error(), "not done within 10ms") {
		t.Errorf("after the timeout: %v", err)
	}
	if _, err := client.Put(t.Context(), "x", zeros{}, phalanx.UnknownSize, httpapi.PutOptions{}); !errors.Is(err, phalanx.ErrUnavailable) {
		t.Errorf("before it: %v", err)
	}
}

// A client that is interrupted in an upload ends, though its source does not.
func TestAnUploadThatIsInterrupted(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	put := make(chan error, 1)
	go func() {
		_, err := b.client.Put(ctx, "endless", zeros{}, phalanx.UnknownSize, httpapi.PutOptions{})
		put <- err
	}()
	b.node.Await("endless", 1)
	cancel()
	if err := <-put; !errors.Is(err, phalanx.ErrCanceled) {
		t.Errorf("it ended with %v", err)
	}
}

// A download that is cut at its deadline was not given up by its creator.
func TestADownloadThatIsNotDoneInTime(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	in, feed := io.Pipe()
	put := make(chan error, 1)
	go func() {
		_, err := b.client.Put(context.Background(), "slow", in, 30, httpapi.PutOptions{})
		put <- err
	}()
	write(t, feed, "0123456789")
	b.node.Await("slow", 10)
	d, err := b.client.Get(t.Context(), "slow", 0, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(d); !errors.Is(err, phalanx.ErrDeadline) || !strings.Contains(err.Error(), "9 bytes") {
		t.Errorf("got %q, %v", got, err)
	}
	_ = d.Close()
	_ = feed.CloseWithError(errors.New("no more"))
	<-put
}

// A server that speaks first, as a node's control port does, leaves nothing in the standard log.
func TestAServerThatSpeaksFirstIsNotLogged(t *testing.T) {
	var said strings.Builder
	log.SetOutput(&said)
	defer log.SetOutput(os.Stderr)
	for range 300 {
		client := eager(t, "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00\x40\x00")
		if _, err := client.Status(t.Context()); err == nil {
			t.Fatal("it has a status")
		}
		client.Close()
	}
	if said.Len() > 0 {
		t.Errorf("the log has %.200s", said.String())
	}
}

// A node closes a connection on which no request has come. The client notices that before it makes one: it could
// not repeat a Put whose connection breaks.
func TestAConnectionThatEndsBeforeItIsUsed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := httpapi.Dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = other.Close()
	read := make(chan error, 1)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		read <- err
	}()
	select {
	case err := <-read:
		if !errors.Is(err, io.EOF) {
			t.Errorf("it reads %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for a request")
	}
}
