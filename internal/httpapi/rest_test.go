package httpapi_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// A client that sends all of its body before it reads sees why it was refused, and can go on
// with the connection.
func TestARefusedClientSendsItsBodyFirst(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	b.node.Fail = &phalanx.Error{Op: "put", Object: "x", Kind: phalanx.ErrNoSpace, Err: errors.New("there is no room")}
	data := strings.Repeat("0123456789abcdef", 1<<20) // more than the connection holds
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{"/v1/objects/x", fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(data), data), http.StatusInsufficientStorage},
		{"/v1/objects/x", fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(data), data), http.StatusInsufficientStorage},
		{"/objects/x", fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(data), data), http.StatusNotFound},
	} {
		conn := b.dial(t)
		in := bufio.NewReader(conn)
		write(t, conn, "PUT "+c.path+" HTTP/1.1\r\nHost: localhost\r\n"+c.body)
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.path, err)
		}
		if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != c.status || !strings.HasPrefix(string(body), `{"error":{"kind"`) {
			t.Errorf("%s: %d %s, %v", c.path, res.StatusCode, body, err)
		}
		write(t, conn, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if res, err := http.ReadResponse(in, nil); err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("%s, then on the same connection: %v, %v", c.path, res, err)
		}
	}
}

// A client that does not stop is cut off.
func TestARefusedClientThatSendsWithoutEnd(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	b.node.Fail = &phalanx.Error{Op: "put", Object: "x", Kind: phalanx.ErrNoSpace, Err: errors.New("there is no room")}
	conn := b.dial(t)
	write(t, conn, fmt.Sprintf("PUT /v1/objects/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", int64(1)<<50))
	for data := make([]byte, 1<<20); ; {
		if _, err := conn.Write(data); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("it was not cut off")
		} else if err != nil {
			return
		}
	}
}

// A client that asks first is answered without its body.
func TestARefusedClientThatAsksFirst(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	b.node.Fail = &phalanx.Error{Op: "put", Object: "x", Kind: phalanx.ErrNoSpace, Err: errors.New("there is no room")}
	conn := b.dial(t)
	write(t, conn, "PUT /v1/objects/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n")
	if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || res.StatusCode != http.StatusInsufficientStorage || !res.Close {
		t.Errorf("%+v, %v", res, err)
	}
}

// dial returns a connection to the server that ends with the test, or soon.
func (b *bed) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", b.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(soon))
	return conn
}
