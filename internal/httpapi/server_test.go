package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/internal/httpapi/fakenode"
)

// quiet discards what the server logs.
func quiet() logrus.FieldLogger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return l
}

// bed is a server of a fake node and a client of it.
type bed struct {
	node   *fakenode.Node
	server *httptest.Server
	http   *http.Client
	client *httpapi.Client
}

func newBed(t *testing.T, o httpapi.Options) *bed {
	t.Helper()
	o.Logger = quiet()
	b := &bed{node: fakenode.New()}
	b.server = httptest.NewServer(httpapi.New(b.node, o).Handler())
	b.http = b.server.Client()
	b.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	var err error
	if b.client, err = httpapi.NewClient(b.server.URL, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.server.Close)
	t.Cleanup(b.client.Close)
	return b
}

// do sends a request and returns the answer with its body.
func (b *bed) do(t *testing.T, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, b.server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := b.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(data)
}

// wantError checks status, kind and culprit of an error.
func wantError(t *testing.T, res *http.Response, body string, status int, kind phalanx.Kind, text string) {
	t.Helper()
	var got struct{ Error httpapi.ErrorInfo }
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatalf("%d %q: %v", res.StatusCode, body, err)
	}
	if res.StatusCode != status || got.Error.Kind != kind.Error() || res.Header.Get("Phalanx-Error") != kind.Error() || !strings.Contains(body, text) {
		t.Errorf("got %d %s, want %d, %q and %q", res.StatusCode, body, status, kind, text)
	}
}

func TestPutGetHeadDelete(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	data := strings.Repeat("0123456789ab", 2)
	res, body := b.do(t, "PUT", "/v1/objects/grad/1", data, "Phalanx-DType", "float32", "Phalanx-Shape", "2,3")
	if res.StatusCode != 201 {
		t.Fatalf("%d %s", res.StatusCode, body)
	}
	var info httpapi.Info
	if err := json.Unmarshal([]byte(body), &info); err != nil || info.ID != "grad/1" || info.Size != 24 || info.DType != "float32" || len(info.Shape) != 2 || info.Generation != "1.1" || len(info.Digest) != 32 {
		t.Errorf("%v %+v", err, info)
	}
	for _, method := range []string{"GET", "HEAD"} {
		res, body = b.do(t, method, "/v1/objects/grad%2F1", "")
		want := map[string]string{"Phalanx-DType": "float32", "Phalanx-Shape": "2,3", "Phalanx-Generation": "1.1", "Phalanx-Digest": info.Digest,
			"ETag": `"` + info.Digest + `"`, "Content-Length": "24", "Accept-Ranges": "bytes", "Content-Type": "application/octet-stream"}
		for name, value := range want {
			if got := res.Header.Get(name); got != value {
				t.Errorf("%s: %s is %q, want %q", method, name, got, value)
			}
		}
		if res.StatusCode != 200 || method == "GET" && body != data {
			t.Errorf("%s: %d %q", method, res.StatusCode, body)
		}
	}
	if res, _ := b.do(t, "GET", "/v1/objects/grad/1", "", "If-None-Match", `"x", "`+info.Digest+`"`); res.StatusCode != 304 {
		t.Errorf("If-None-Match: %d", res.StatusCode)
	}
	res, body = b.do(t, "PUT", "/v1/objects/grad/1", "other")
	wantError(t, res, body, 409, phalanx.ErrExists, `"object":"grad/1"`)
	if res, body := b.do(t, "DELETE", "/v1/objects/grad/1", ""); res.StatusCode != 204 || body != "" {
		t.Errorf("DELETE: %d %q", res.StatusCode, body)
	}
	res, body = b.do(t, "GET", "/v1/objects/grad/1", "")
	wantError(t, res, body, 404, phalanx.ErrNotFound, "nobody has announced it")
	if res, _ := b.do(t, "HEAD", "/v1/objects/grad/1", ""); res.StatusCode != 410 || res.Header.Get("Phalanx-Error") != "deleted" {
		t.Errorf("HEAD: %d %v", res.StatusCode, res.Header)
	}
}

func TestIDsOfAllKinds(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	for i, id := range []phalanx.ObjectID{"a", "a/b", "a//b", "/a/", "a/../b", ".", "..", "a b?c#d&e=f", "100%", "a%2Fb", "größe/∞", "a+b", "c:d@e", `"<>"`, "a\\b"} {
		data := fmt.Sprint("data of ", i)
		if _, err := b.client.Put(t.Context(), id, strings.NewReader(data), int64(len(data)), httpapi.PutOptions{}); err != nil {
			t.Errorf("%q: %v", id, err)
			continue
		}
		if got := string(b.node.Bytes(id)); got != data {
			t.Errorf("%q: the node has %q", id, got)
		}
		d, err := b.client.Get(t.Context(), id, 0, 0)
		if err != nil {
			t.Errorf("%q: %v", id, err)
			continue
		}
		if got, err := io.ReadAll(d); err != nil || string(got) != data {
			t.Errorf("%q: got %q, %v", id, got, err)
		}
		_ = d.Close()
		if o, err := b.client.Stat(t.Context(), id, 0); err != nil || o.ID != id {
			t.Errorf("%q: %+v, %v", id, o, err)
		}
	}
	// As a person types them, without encoding what need not be.
	for path, id := range map[string]phalanx.ObjectID{"/v1/objects/x//y/../z": "x//y/../z", "/v1/objects/x%20y": "x y"} {
		if res, body := b.do(t, "PUT", path, "typed"); res.StatusCode != 201 || string(b.node.Bytes(id)) != "typed" {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
	long := strings.Repeat("i", 257)
	for path, text := range map[string]string{"/v1/objects/": "empty", "/v1/objects/" + long: "257 bytes", "/v1/objects/a%00b": "unprintable", "/v1/objects/%ff": "not valid UTF-8"} {
		res, body := b.do(t, "PUT", path, "x")
		wantError(t, res, body, 400, phalanx.ErrInvalid, text)
	}
}

func TestRange(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	res, body := b.do(t, "PUT", "/v1/objects/r", "0123456789")
	if res.StatusCode != 201 {
		t.Fatal(body)
	}
	tag := `"` + b.stat(t, "r").Digest + `"`
	for _, c := range []struct {
		header, ifRange string
		status          int
		body, content   string
	}{
		{"bytes=0-3", "", 206, "0123", "bytes 0-3/10"},
		{"bytes=4-", "", 206, "456789", "bytes 4-9/10"},
		{"bytes=-3", "", 206, "789", "bytes 7-9/10"},
		{"bytes=-30", "", 206, "0123456789", "bytes 0-9/10"},
		{"bytes=9-9", "", 206, "9", "bytes 9-9/10"},
		{"bytes=5-99", "", 206, "56789", "bytes 5-9/10"},
		{"bytes=2-3", tag, 206, "23", "bytes 2-3/10"},
		{"bytes=2-3", `"other"`, 200, "0123456789", ""},
		{"bytes=0-1,4-5", "", 200, "0123456789", ""},
		{"bytes=7-2", "", 200, "0123456789", ""},
		{"lines=1-2", "", 200, "0123456789", ""},
	} {
		h := []string{"Range", c.header}
		if c.ifRange != "" {
			h = append(h, "If-Range", c.ifRange)
		}
		res, body := b.do(t, "GET", "/v1/objects/r", "", h...)
		if res.StatusCode != c.status || body != c.body || res.Header.Get("Content-Range") != c.content || res.ContentLength != int64(len(c.body)) {
			t.Errorf("%v: %d %q %q", c, res.StatusCode, body, res.Header.Get("Content-Range"))
		}
	}
	for _, header := range []string{"bytes=10-", "bytes=10-12", "bytes=-0"} {
		res, body := b.do(t, "GET", "/v1/objects/r", "", "Range", header)
		wantError(t, res, body, 416, phalanx.ErrInvalid, header)
		if res.Header.Get("Content-Range") != "bytes */10" {
			t.Errorf("%s: %v", header, res.Header)
		}
	}
}

func (b *bed) stat(t *testing.T, id phalanx.ObjectID) httpapi.Object {
	t.Helper()
	o, err := b.client.Stat(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

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
	wantError(t, res, string(body), 502, phalanx.ErrAborted, "stopped after 5 of 10 bytes: nothing came for 20ms")
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

func TestBadRequests(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	for _, c := range []struct {
		method, path, body string
		headers            []string
		status             int
		text               string
	}{
		{"GET", "/v1/objects/a?wait=soon", "", nil, 400, `wait: \"soon\" is not a duration`},
		{"GET", "/v1/objects/a?wait=-1s", "", nil, 400, "wait"},
		{"GET", "/v1/objects/a?timeout=25h", "", nil, 400, "timeout"},
		{"GET", "/v1/objects/a?wiat=5s", "", nil, 400, `no parameter \"wiat\"`},
		{"GET", "/v1/objects/a?wait=1s&wait=2s", "", nil, 400, "2 times"},
		{"HEAD", "/v1/objects/a?wait=5s", "", nil, 400, ""},
		{"PUT", "/v1/objects/a", "12345678", []string{"Phalanx-DType", "float"}, 400, `Phalanx-DType: there is no dtype \"float\"`},
		{"PUT", "/v1/objects/a", "12345678", []string{"Phalanx-DType", "float32", "Phalanx-Shape", "3"}, 400, "the shape [3] has 3 elements, the object 2"},
		{"PUT", "/v1/objects/a", "12345678", []string{"Phalanx-Shape", "1,x"}, 400, "Phalanx-Shape"},
		{"PUT", "/v1/objects/a", "1234567", []string{"Phalanx-DType", "float32"}, 400, "no multiple"},
		{"PUT", "/v1/objects/a", "1", []string{"Phalanx-Copies", "0"}, 400, "Phalanx-Copies"},
		{"POST", "/v1/objects/a", "1", nil, 405, "only DELETE, GET, HEAD, PUT"},
		{"PUT", "/v1/reduce", "{}", nil, 405, "only POST"},
		{"GET", "/v2/objects", "", nil, 404, "there is no /v2/objects"},
		{"POST", "/v1/reduce", "{", nil, 400, "JSON"},
		{"POST", "/v1/reduce", `{"target":"t","sources":["a"],"op":"sum","nmu":2}`, nil, 400, `unknown field \"nmu\"`},
		{"POST", "/v1/reduce", `{"target":"t","sources":["a"],"op":"sum"} x`, nil, 400, "more than one"},
		{"POST", "/v1/reduce", `{"target":"","sources":["a"],"op":"sum"}`, nil, 400, "empty"},
		{"POST", "/v1/reduce", `{"target":"t","sources":["a"],"op":"sum","timeout":"x"}`, nil, 400, "timeout"},
		{"POST", "/v1/reduce", `<a/>`, []string{"Content-Type", "text/xml"}, 400, "text/xml"},
		{"POST", "/v1/prefetch", `{"id":"a","nodes":["n9"]}`, nil, 400, `"node":"n9"`},
		{"POST", "/v1/prefetch", `{"id":""}`, nil, 400, "empty"},
		{"GET", "/v1/objects?prefex=a", "", nil, 400, "prefex"},
		{"GET", "/v1/status?all", "", nil, 400, "all"},
		{"GET", "/debug/pprof/", "", nil, 404, "there is no"},
	} {
		res, body := b.do(t, c.method, c.path, c.body, c.headers...)
		if c.method == "HEAD" {
			if res.StatusCode != c.status || res.Header.Get("Phalanx-Error") != "invalid" {
				t.Errorf("%s %s: %d %v", c.method, c.path, res.StatusCode, res.Header)
			}
			continue
		}
		t.Run(c.method+c.path, func(t *testing.T) { wantError(t, res, body, c.status, phalanx.ErrInvalid, c.text) })
	}
	if l, err := b.client.List(t.Context(), "", 0); err != nil || len(l) != 0 {
		t.Errorf("bad requests left %v, %v", l, err)
	}
}

// A page in a browser can neither change anything nor reach a server on
// loopback by a name of its own.
func TestForeignPages(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	res, body := b.do(t, "POST", "/v1/reduce", `{}`, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
	wantError(t, res, body, 403, phalanx.ErrRefused, "web page")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- httpapi.New(b.node, httpapi.Options{Logger: quiet()}).Serve(ctx, l) }()
	for host, status := range map[string]int{"evil.example": 421, "localhost:7420": 200, l.Addr().String(): 200, "[::1]:7420": 200} {
		r, _ := http.NewRequest("GET", "http://"+l.Addr().String()+"/v1/status", nil)
		r.Host = host
		res, err := b.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != status {
			t.Errorf("%s: %d, want %d", host, res.StatusCode, status)
		}
	}
	b.http.CloseIdleConnections()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCalls(t *testing.T) {
	b := newBed(t, httpapi.Options{Pprof: true})
	ctx := t.Context()
	for _, id := range []phalanx.ObjectID{"g/1", "g/2", "g/3", "h"} {
		if _, err := b.client.Put(ctx, id, bytes.NewReader(make([]byte, 8)), 8, httpapi.PutOptions{DType: "float32", Shape: []int64{2}}); err != nil {
			t.Fatal(err)
		}
	}
	l, err := b.client.List(ctx, "g/", time.Second)
	if err != nil || len(l) != 3 || l[0].ID != "g/1" || l[0].State != "final" || l[0].Size != 8 {
		t.Errorf("list: %+v, %v", l, err)
	}
	o, err := b.client.Stat(ctx, "g/1", time.Second)
	if err != nil || len(o.Holders) != 1 || !o.Holders[0].Pinned || o.Origin != "n1#1" {
		t.Errorf("stat: %+v, %v", o, err)
	}
	r, err := b.client.Reduce(ctx, httpapi.ReduceRequest{Target: "sum", Sources: []phalanx.ObjectID{"g/1", "g/2", "g/3"}, Op: phalanx.Sum, Num: 2, Timeout: "5s"})
	if err != nil || r.Target != "sum" || r.Size != 8 || len(r.In) != 2 || len(r.Out) != 1 || r.Digest == "" {
		t.Errorf("reduce: %+v, %v", r, err)
	}
	if _, err := b.client.Reduce(ctx, httpapi.ReduceRequest{Target: "x", Sources: []phalanx.ObjectID{"g/1"}, Op: "mean"}); !errors.Is(err, phalanx.ErrUnknownOp) || !strings.Contains(err.Error(), "n1#1") {
		t.Errorf("reduce: %v", err)
	}
	p, err := b.client.Prefetch(ctx, httpapi.PrefetchRequest{ID: "h", Nodes: []phalanx.NodeID{"n2"}})
	if err != nil || len(p.Nodes) != 1 || p.Nodes[0] != "n2#2" || len(b.node.Prefetched("h")) != 1 {
		t.Errorf("prefetch: %+v, %v", p, err)
	}
	if p, err = b.client.Prefetch(ctx, httpapi.PrefetchRequest{ID: "h"}); err != nil || len(p.Nodes) != 2 {
		t.Errorf("prefetch: %+v, %v", p, err)
	}
	b.node.Tr = httpapi.Tree{Object: "h", Kind: "broadcast", State: "final", Nodes: []httpapi.TreeNode{{Node: "n1#1", Origin: true}}}
	tree, err := b.client.Tree(ctx, "h", 0)
	if err != nil || tree.Kind != "broadcast" || len(tree.Nodes) != 1 || tree.Edges == nil {
		t.Errorf("tree: %+v, %v", tree, err)
	}
	st, err := b.client.Status(ctx)
	if err != nil || st.Node != "n1#1" || st.Memory.Cap != 1<<30 || len(st.Members) != 2 {
		t.Errorf("status: %+v, %v", st, err)
	}
	if err := b.client.Delete(ctx, "h", 0); err != nil || b.node.Bytes("h") != nil {
		t.Errorf("delete: %v", err)
	}
	for _, path := range []string{"/livez", "/readyz", "/debug/pprof/"} {
		if res, body := b.do(t, "GET", path, ""); res.StatusCode != 200 {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
	b.node.Info.Members = b.node.Info.Members[1:]
	res, body := b.do(t, "GET", "/readyz", "")
	wantError(t, res, body, 503, phalanx.ErrUnavailable, "not a member")
}

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
		"phalanx_copies_pinned 2", "phalanx_fetches 1", "phalanx_sent_bytes_total 7.340032e+06",
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
