package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/internal/httpapi/fakenode"
	"github.com/phalanx-go/phalanx/storenode"
)

// An object can be read while it is uploaded, with and without a known size;
// the answer does not end before the object is final.
func TestStreaming(t *testing.T) {
	for _, size := range []int64{20, phalanx.UnknownSize} {
		b := newBed(t, httpapi.Options{})
		in, feed := io.Pipe()
		put := make(chan error, 1)
		go func() {
			_, err := b.client.Put(context.Background(), "s", in, size, httpapi.PutOptions{})
			put <- err
		}()
		write(t, feed, "0123456789")
		b.node.Await("s", 10)
		d, err := b.client.Get(t.Context(), "s", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if d.Size != size || d.Digest != "" {
			t.Errorf("size %d, digest %q before the end", d.Size, d.Digest)
		}
		first := make([]byte, 9) // the tenth is held back
		if _, err := io.ReadFull(d, first); err != nil || string(first) != "012345678" {
			t.Fatalf("%q, %v", first, err)
		}
		if size < 0 && b.stat(t, "s").State != "begun" {
			t.Errorf("it is %s", b.stat(t, "s").State)
		}
		write(t, feed, "abcdefghij")
		_ = feed.Close()
		rest, err := io.ReadAll(d)
		if err != nil || string(rest) != "9abcdefghij" {
			t.Errorf("%q, %v", rest, err)
		}
		if err := <-put; err != nil {
			t.Error(err)
		}
		if size < 0 && d.Digest != b.stat(t, "s").Digest {
			t.Errorf("digest %q afterwards, want %q", d.Digest, b.stat(t, "s").Digest)
		}
		_ = d.Close()
	}
}

func write(t *testing.T, w io.Writer, s string) {
	t.Helper()
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatal(err)
	}
}

// What a reader gets of an object that is given up does not look complete, even
// if every byte had arrived.
func TestGivenUp(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	for _, size := range []int64{30, phalanx.UnknownSize} {
		in, feed := io.Pipe()
		put := make(chan error, 1)
		go func() {
			_, err := b.client.Put(context.Background(), "g", in, size, httpapi.PutOptions{})
			put <- err
		}()
		write(t, feed, "0123456789")
		b.node.Await("g", 10)
		d, err := b.client.Get(t.Context(), "g", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		_ = feed.CloseWithError(errors.New("the disk is gone"))
		if err := <-put; err == nil || !strings.Contains(err.Error(), "the disk is gone") {
			t.Errorf("the put: %v", err)
		}
		got, err := io.ReadAll(d)
		if !errors.Is(err, phalanx.ErrAborted) {
			t.Errorf("got %q, %v, want %v", got, err, phalanx.ErrAborted)
		}
		_ = d.Close()
	}
}

// Who reads an object that is deleted hears that it was.
func TestDeletedWhileRead(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	in, feed := io.Pipe()
	put := make(chan error, 1)
	go func() {
		_, err := b.client.Put(context.Background(), "d", in, 30, httpapi.PutOptions{})
		put <- err
	}()
	write(t, feed, "0123456789")
	b.node.Await("d", 10)
	d, err := b.client.Get(t.Context(), "d", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.client.Delete(t.Context(), "d", 0); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(d); !errors.Is(err, phalanx.ErrDeleted) || len(got) > 10 {
		t.Errorf("got %q, %v", got, err)
	}
	_ = d.Close()
	_ = feed.CloseWithError(errors.New("no more"))
	if err := <-put; err == nil {
		t.Error("the put of half an object succeeded")
	}
}

// blind is a node that cannot say what became of an object.
type blind struct {
	*fakenode.Node
	answer phalanx.Kind
	had    chan time.Duration // that it was asked to answer within
}

func (n *blind) Stat(ctx context.Context, id phalanx.ObjectID) (storenode.ObjectStat, error) {
	deadline, _ := ctx.Deadline()
	n.had <- time.Until(deadline)
	return storenode.ObjectStat{}, &phalanx.Error{Op: "stat", Object: id, Node: "n7#7", Kind: n.answer, Err: errors.New("its owner has not answered")}
}

// A stream that broke off where the object's owner cannot be reached does not tell
// that the object was given up.
func TestBrokenWhereNothingIsKnown(t *testing.T) {
	for _, kind := range []phalanx.Kind{phalanx.ErrUnavailable, phalanx.ErrDeadline, phalanx.ErrFenced, phalanx.ErrClosed} {
		n := &blind{fakenode.New(), kind, make(chan time.Duration, 1)}
		server := httptest.NewServer(httpapi.New(n, httpapi.Options{Logger: quiet()}).Handler())
		client, err := httpapi.NewClient(server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		in, feed := io.Pipe()
		put := make(chan error, 1)
		go func() {
			_, err := client.Put(context.Background(), "b", in, 30, httpapi.PutOptions{})
			put <- err
		}()
		write(t, feed, "0123456789")
		n.Await("b", 10)
		d, err := client.Get(t.Context(), "b", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		_ = feed.CloseWithError(errors.New("the disk is gone"))
		<-put
		_, err = io.ReadAll(d)
		var e *phalanx.Error
		if !errors.As(err, &e) || e.Kind != phalanx.ErrUnavailable || e.Node != "n7#7" {
			t.Errorf("%v: got %v", kind, err)
		}
		if had := <-n.had; had < 5*time.Second { // owners are silent for three seconds and more
			t.Errorf("the node had %v to say what became of it", had)
		}
		_ = d.Close()
		client.Close()
		server.Close()
	}
}

// rawPut sends a PUT whose body ends before its Content-Length.
func (b *bed) rawPut(t *testing.T, id, body string, size int) *bufio.Reader {
	t.Helper()
	c, err := net.Dial("tcp", b.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	fmt.Fprintf(c, "PUT /v1/objects/%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", id, size, body)
	if tcp := c.(*net.TCPConn); strings.HasPrefix(id, "truncated") {
		if err := tcp.CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	return bufio.NewReader(c)
}

func TestTruncatedUpload(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	res, err := http.ReadResponse(b.rawPut(t, "truncated", "01234", 10), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	wantError(t, res, string(body), 502, phalanx.ErrAborted, "broke off after 5 of 10 bytes")
	if b.node.Bytes("truncated") != nil {
		t.Error("half an object was put")
	}
}

func TestStalledUpload(t *testing.T) {
	b := newBed(t, httpapi.Options{Stall: 20 * time.Millisecond})
	res, err := http.ReadResponse(b.rawPut(t, "stalled", "01234", 10), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	wantError(t, res, string(body), 502, phalanx.ErrAborted, "stopped after 5 of 10 bytes: no more came for 20ms")
}

func TestWait(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	res, body := b.do(t, "GET", "/v1/objects/w?wait=1ms", "")
	wantError(t, res, body, 504, phalanx.ErrDeadline, "nobody has announced it")
	res, body = b.do(t, "GET", "/v1/objects/w?timeout=1ms&wait=1m", "")
	wantError(t, res, body, 504, phalanx.ErrDeadline, "nobody has announced it")
	got := make(chan string, 1)
	go func() {
		_, body := b.do(t, "GET", "/v1/objects/w?wait=1m", "")
		got <- body
	}()
	if res, body := b.do(t, "PUT", "/v1/objects/w", "here"); res.StatusCode != 201 {
		t.Fatal(body)
	}
	if body := <-got; body != "here" {
		t.Errorf("got %q", body)
	}
}
