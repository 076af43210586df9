package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// soon is far below the limits after which a download would end anyhow, and far above what a
// slow machine takes.
const soon = 40 * time.Second

// An object whose every copy is gone is told to be lost at once, with the node that had put it.
func TestLostObject(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	b.node.Lose("gone", 1000, "")
	began := time.Now()
	res, body := b.do(t, "GET", "/v1/objects/gone", "")
	wantError(t, res, body, 410, phalanx.ErrLost, `"node":"n2#2"`)
	if took := time.Since(began); took > soon {
		t.Errorf("it took %v", took)
	}
	var e *phalanx.Error
	if _, err := b.client.Get(t.Context(), "gone", 0, 0); !errors.As(err, &e) || e.Kind != phalanx.ErrLost || e.Node != "n2#2" || httpapi.ExitCode(err) != 18 {
		t.Errorf("the client says %v", err)
	}
	// A caller that waits may get it, if it is put again.
	res, body = b.do(t, "GET", "/v1/objects/gone?wait=50ms", "")
	wantError(t, res, body, 410, phalanx.ErrLost, `"node":"n2#2"`)
}

// The stream of an object that is lost after a part was read is cut, and the client says why.
func TestLostAfterAPart(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	b.node.Lose("gone", 1000, "0123456789")
	for _, wait := range []time.Duration{0, time.Minute} { // for what is there nobody waits
		d, err := b.client.Get(t.Context(), "gone", wait, 0)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		got, err := io.ReadAll(d)
		var e *phalanx.Error
		if !errors.As(err, &e) || e.Kind != phalanx.ErrLost || e.Node != "n2#2" || len(got) > 9 {
			t.Errorf("got %q, %v", got, err)
		}
		if took := time.Since(began); took > soon {
			t.Errorf("it took %v", took)
		}
		_ = d.Close()
	}
}

// upload begins to put 30 bytes, of which the first ones come now.
func (b *bed) upload(t *testing.T, id phalanx.ObjectID, first string) *io.PipeWriter {
	t.Helper()
	in, feed := io.Pipe()
	put := make(chan error, 1)
	go func() {
		_, err := b.client.Put(context.Background(), id, in, 30, httpapi.PutOptions{})
		put <- err
	}()
	t.Cleanup(func() {
		_ = feed.CloseWithError(errors.New("no more"))
		<-put
	})
	write(t, feed, first)
	b.node.Await(id, len(first))
	return feed
}

// A download of which no bytes have come can still be answered with an error.
func TestDownloadOfWhatHasNoByteYet(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	conn, err := net.Dial("tcp", b.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	write(t, conn, "PUT /v1/objects/empty HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30\r\n\r\n")
	b.node.Await("empty", 0)
	res, body := b.do(t, "GET", "/v1/objects/empty?timeout=50ms", "")
	wantError(t, res, body, 504, phalanx.ErrDeadline, `"object":"empty"`)
	if got := res.Header.Get("Phalanx-Generation"); got != "" {
		t.Errorf("the error has the generation %s", got)
	}
	b.node.AwaitReader("empty")
	answer := make(chan func(), 1)
	go func() {
		res, body := b.do(t, "GET", "/v1/objects/empty", "")
		answer <- func() { wantError(t, res, body, 502, phalanx.ErrAborted, "broke off after 0 of 30 bytes") }
	}()
	b.node.AwaitReader("empty")
	_ = conn.Close()
	(<-answer)()
}

// A download of which no byte comes for as long as a stall may last ends: with an error before
// the first byte, and else with a broken connection.
func TestStalledDownload(t *testing.T) {
	b := newBed(t, httpapi.Options{Stall: 50 * time.Millisecond})
	b.node.Lack("some", 30, "0123456789")
	b.node.Lack("none", 30, "")
	began := time.Now()
	res, body := b.do(t, "GET", "/v1/objects/none", "")
	wantError(t, res, body, 504, phalanx.ErrDeadline, "no bytes have come for 50ms")
	d, err := b.client.Get(t.Context(), "some", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var e *phalanx.Error
	if got, err := io.ReadAll(d); !errors.As(err, &e) || e.Kind != phalanx.ErrAborted || e.Node != "n2#2" || len(got) > 9 {
		t.Errorf("got %q, %v", got, err)
	}
	res, body = b.do(t, "GET", "/v1/objects/some", "", "Range", "bytes=20-29")
	wantError(t, res, body, 504, phalanx.ErrDeadline, "no bytes have come for 50ms")
	if took := time.Since(began); took > soon {
		t.Errorf("it took %v", took)
	}
	// A caller may wait for the first byte for longer.
	began = time.Now()
	res, body = b.do(t, "GET", "/v1/objects/none?wait=300ms", "")
	wantError(t, res, body, 504, phalanx.ErrDeadline, "no bytes have come")
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("it waited only for %v", took)
	}
}

// A client does not wait for ever for a node that hangs in the middle of an object.
func TestNodeHangsInAnAnswer(t *testing.T) {
	release := make(chan struct{})
	b := newBed(t, httpapi.Options{})
	b.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "01234")
		_ = http.NewResponseController(w).Flush()
		<-release
	})
	defer close(release)
	b.client.SetStall(time.Millisecond - httpapi.Late)
	d, err := b.client.Get(t.Context(), "x", time.Minute+httpapi.Late, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	began := time.Now()
	if got, err := io.ReadAll(d); !errors.Is(err, phalanx.ErrUnavailable) || !strings.Contains(err.Error(), b.client.Addr()) {
		t.Errorf("got %q, %v", got, err)
	}
	if took := time.Since(began); took > soon {
		t.Errorf("it took %v", took)
	}
}
