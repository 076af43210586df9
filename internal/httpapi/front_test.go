package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/internal/httpapi/fakenode"
	"github.com/phalanx-go/phalanx/storenode"
)

// leavingNode has a Put go on until the node leaves.
type leavingNode struct {
	httpapi.Node
	put, leaves chan struct{}
}

func (n *leavingNode) Put(_ context.Context, id phalanx.ObjectID, r io.Reader, _ phalanx.Meta, _ httpapi.Putting) (storenode.Info, bool, error) {
	close(n.put)
	go func() { _, _ = io.Copy(io.Discard, r) }()
	<-n.leaves
	return storenode.Info{}, false, &phalanx.Error{Op: "put", Object: id, Node: n.ID(), Kind: phalanx.ErrClosed, Err: errors.New("the node is leaving")}
}

// Serve ends while an upload runs that does not end by itself. It has the node leave, and tells
// the client why the upload has failed.
func TestAnUploadAsTheNodeLeaves(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &leavingNode{fakenode.New(), make(chan struct{}), make(chan struct{})}
	f := httpapi.NewFront(nil, httpapi.Options{Logger: quiet()})
	f.SetGrace(time.Millisecond)
	f.Open(httpapi.New(n, httpapi.Options{Logger: quiet()}), func() { close(n.leaves) })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- f.Serve(ctx, l) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "PUT /v1/objects/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nbegin")
	<-n.put
	cancel()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	wantError(t, res, string(body), http.StatusServiceUnavailable, phalanx.ErrClosed, `"object":"x","node":"`+string(n.ID())+`"`)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
