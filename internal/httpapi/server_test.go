package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
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
	var info httpapi.PutResult
	if err := json.Unmarshal([]byte(body), &info); err != nil || !info.Created || info.ID != "grad/1" || info.Size != 24 || info.DType != "float32" || len(info.Shape) != 2 || info.Generation != "1.1" || len(info.Digest) != 32 {
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
	if res, body := b.do(t, "PUT", "/v1/objects/grad/1", data, "Phalanx-DType", "float32", "Phalanx-Shape", "2,3"); res.StatusCode != 200 || !strings.Contains(body, `"created":false`) {
		t.Errorf("the same bytes again: %d %s", res.StatusCode, body)
	}
	res, body = b.do(t, "PUT", "/v1/objects/grad/1", "other")
	wantError(t, res, body, 409, phalanx.ErrExists, `"object":"grad/1"`)
	if res, body := b.do(t, "DELETE", "/v1/objects/grad/1", ""); res.StatusCode != 204 || body != "" {
		t.Errorf("DELETE: %d %q", res.StatusCode, body)
	}
	res, body = b.do(t, "GET", "/v1/objects/grad/1", "")
	wantError(t, res, body, 410, phalanx.ErrDeleted, "the object was deleted")
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

// counted counts what is read of it.
type counted struct {
	io.Reader
	n int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}

// Like curl -T, a client can ask before it sends a body, with a length or without.
func TestExpectContinue(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	tr := &http.Transport{ExpectContinueTimeout: time.Minute}
	defer tr.CloseIdleConnections()
	for _, c := range []struct {
		id     string
		size   int64
		status int
		sent   bool
	}{{"known", 1 << 20, 201, true}, {"chunked", -1, 201, true}, {"known", 1 << 20, 200, true}, {"chunked", -1, 200, true},
		{strings.Repeat("i", 257), 1 << 20, 400, false}, {"known?tmieout=1s", -1, 400, false}} {
		body := &counted{Reader: bytes.NewReader(make([]byte, 1<<20))}
		r, err := http.NewRequest("PUT", b.server.URL+"/v1/objects/"+c.id, body)
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = c.size
		r.Header.Set("Expect", "100-continue")
		res, err := tr.RoundTrip(r)
		if err != nil {
			t.Errorf("%s: %v", c.id, err)
			continue
		}
		_ = res.Body.Close()
		if res.StatusCode != c.status || c.sent != (body.n == 1<<20) || !c.sent && body.n > 0 {
			t.Errorf("%s of %d bytes: %d after %d bytes", c.id, c.size, res.StatusCode, body.n)
		}
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
		{"PUT", "/v1/objects/a", "12345678", []string{"Phalanx-DType", "float32", "Phalanx-Shape", "3"}, 400, "the shape [3] has 3 elements, the object has 2"},
		{"PUT", "/v1/objects/a", "12345678", []string{"Phalanx-Shape", "1,x"}, 400, "Phalanx-Shape"},
		{"PUT", "/v1/objects/a", "1234567", []string{"Phalanx-DType", "float32"}, 400, "no multiple"},
		{"PUT", "/v1/objects/a", "1", []string{"Phalanx-Copies", "0"}, 400, "Phalanx-Copies"},
		{"PUT", "/v1/objects/a", "1", []string{"Content-Range", "bytes 5-5/6"}, 400, "in parts"},
		{"PUT", "/v1/objects/a", "1", []string{"Phalanx-Dtyp", "bytes"}, 400, "no request header Phalanx-Dtyp"},
		{"PUT", "/v1/objects/a", "1", []string{"Phalanx-Digest", "9f"}, 400, "Phalanx-Digest"},
		{"GET", "/v1/objects/a", "", []string{"Phalanx-Wait", "5s"}, 400, "no request header Phalanx-Wait"},
		{"GET", "/v1/objects/a", "", []string{"Phalanx-DType", "bytes"}, 400, "Phalanx-Dtype"},
		{"DELETE", "/v1/objects/a", "", []string{"phalanx-copies", "2"}, 400, "Phalanx-Copies"},
		{"POST", "/v1/reduce", "{}", []string{"Phalanx-Op", "sum"}, 400, "Phalanx-Op"},
		{"GET", "/v1/objects", "", []string{"Phalanx-Prefix", "a"}, 400, "Phalanx-Prefix"},
		{"POST", "/v1/objects/a", "1", nil, 405, "only DELETE, GET, HEAD, PUT"},
		{"PUT", "/v1/reduce", "{}", nil, 405, "only POST"},
		{"GET", "/v2/objects", "", nil, 404, "there is no /v2/objects"},
		{"POST", "/v1/reduce", "{", nil, 400, "JSON"},
		{"POST", "/v1/reduce", `{"target":"t","sources":["a"],"op":"sum","nmu":2}`, nil, 400, `unknown field \"nmu\"`},
		{"POST", "/v1/reduce", `{"target":"t","sources":["a"],"op":"sum"} x`, nil, 400, "more than one"},
		{"POST", "/v1/reduce", `{"target":"","sources":["a"],"op":"sum"}`, nil, 400, "empty"},
		{"POST", "/v1/reduce", `{"target":"t","sources":["a"],"op":"sum","timeout":"x"}`, nil, 400, "timeout"},
		{"POST", "/v1/allreduce", `{"target":"t","sources":[""],"op":"sum"}`, nil, 400, "empty"},
		{"POST", "/v1/gather", `{"sources":["a"],"target":"t"}`, nil, 400, `unknown field \"target\"`},
		{"POST", "/v1/gather", `{"sources":["a",""]}`, nil, 400, "empty"},
		{"POST", "/v1/reduce", `<a/>`, []string{"Content-Type", "text/xml"}, 400, "text/xml"},
		{"POST", "/v1/prefetch", `{"id":"a","nodes":["n9"]}`, nil, 400, `"node":"n9"`},
		{"POST", "/v1/prefetch", `{"id":""}`, nil, 400, "empty"},
		{"GET", "/v1/objects?prefex=a", "", nil, 400, "prefex"},
		{"GET", "/v1/groups?prefex=a", "", nil, 400, "prefex"},
		{"GET", "/v1/groups?timeout=25h", "", nil, 400, "timeout"},
		{"GET", "/v1/status?all", "", nil, 400, "all"},
		{"GET", "/v1/status", "", []string{"If-Match", "*"}, 400, "If-Match is not understood"},
		{"GET", "/v1/stat/a", "", []string{"If-None-Match", "*"}, 400, "If-None-Match is not understood"},
		{"DELETE", "/v1/objects/a", "", []string{"If-Match", "*"}, 400, "If-Match is not understood"},
		{"POST", "/metrics", "", nil, 405, "only GET, HEAD"},
		{"POST", "/livez", "", nil, 405, "only GET, HEAD"},
		{"GET", "/v1//status", "", nil, 404, "there is no /v1//status"},
		{"GET", "/v1/./status", "", nil, 404, "there is no /v1/./status"},
		{"GET", "/v1/status/", "", nil, 404, "there is no /v1/status/"},
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

// A program that watches over a node may add parameters and headers; and JSON is read in any case.
func TestWhatIsTolerated(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	for _, path := range []string{"/livez?a=b", "/readyz?a=b", "/metrics?a=b"} {
		if res, body := b.do(t, "GET", path, "", "Phalanx-Probe", "1", "If-None-Match", "*"); res.StatusCode != 200 {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
	b.do(t, "PUT", "/v1/objects/a", "1")
	if res, body := b.do(t, "POST", "/v1/gather", `{"Sources":["a"]}`); res.StatusCode != 200 || !strings.Contains(body, `"id":"a"`) {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}

// A page in a browser can neither change anything nor reach a server on
// loopback by a name of its own.
func TestForeignPages(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	res, body := b.do(t, "POST", "/v1/reduce", `{}`, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
	wantError(t, res, body, 403, phalanx.ErrRefused, "web page")
	own := strings.TrimPrefix(b.server.URL, "http://")
	for _, path := range []string{"/v1/objects", "/v1/objects/a", "/v1/events", "/v1/status", "/metrics", "/livez"} {
		for _, from := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"},
			{"Origin", "http://evil.example:80", "Sec-Fetch-Site", "cross-site"}} {
			res, body := b.do(t, "GET", path, "", from...)
			wantError(t, res, body, 403, phalanx.ErrRefused, "web page")
		}
	}
	if res, _ := b.do(t, "OPTIONS", "/v1/objects/a", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "PUT"); res.StatusCode != 403 {
		t.Errorf("OPTIONS: %d", res.StatusCode)
	}
	for _, from := range [][]string{nil, {"Sec-Fetch-Site", "same-origin", "Origin", "http://" + own}, {"Sec-Fetch-Site", "none"}, {"Origin", "http://" + own}} {
		if res, body := b.do(t, "GET", "/v1/objects", "", from...); res.StatusCode != 200 {
			t.Errorf("%q: %d %s", from, res.StatusCode, body)
		}
	}

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
	r, err = b.client.AllReduce(ctx, httpapi.ReduceRequest{Target: "all", Sources: []phalanx.ObjectID{"g/1", "g/2"}, Op: phalanx.Sum})
	if err != nil || r.Target != "all" || len(r.In) != 2 {
		t.Errorf("allreduce: %+v, %v", r, err)
	}
	g, err := b.client.Gather(ctx, httpapi.GatherRequest{Sources: []phalanx.ObjectID{"g/1", "g/2", "g/3"}, Num: 2, Timeout: "5s"})
	if err != nil || len(g.In) != 2 || g.In[1].ID != "g/2" || g.In[1].Size != 8 || len(g.Out) != 1 {
		t.Errorf("gather: %+v, %v", g, err)
	}
	if _, err := b.client.Gather(ctx, httpapi.GatherRequest{Sources: []phalanx.ObjectID{"g/9"}, Timeout: "50ms"}); !errors.Is(err, phalanx.ErrDeadline) || !strings.Contains(err.Error(), "g/9") {
		t.Errorf("gather: %v", err)
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
	if _, err := b.client.Recover(ctx, httpapi.RecoverRequest{}); !errors.Is(err, phalanx.ErrUnavailable) || !strings.Contains(err.Error(), "missing: n2#2") {
		t.Errorf("recover: %v", err)
	}
	if f, err := b.client.Recover(ctx, httpapi.RecoverRequest{Force: true, Timeout: "5s"}); err != nil || f.View != 1<<52-1 || len(f.Members) != 1 || len(f.Missing) != 1 || f.LostShards != 2 {
		t.Errorf("recover: %+v, %v", f, err)
	}
	b.node.Fail = &phalanx.Error{Op: "recover", Node: "n2#2", Kind: phalanx.ErrRefused, Err: errors.New("it hears the majority of the voters")}
	refused, said := b.do(t, "POST", "/v1/recover", "{}")
	wantError(t, refused, said, 409, phalanx.ErrRefused, "it hears the majority")
	b.node.Fail = nil
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
	b.node.Info.Unready = &httpapi.ErrorInfo{Kind: "fenced", Node: "n1#1", Message: "it was removed"}
	res, body := b.do(t, "GET", "/readyz", "")
	wantError(t, res, body, 503, phalanx.ErrFenced, "removed")
}

// A front answers at once before its node is a member, and lets its server answer after that;
// also if it ends before the server comes.
func TestFront(t *testing.T) {
	for _, opens := range []bool{true, false} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		b := newBed(t, httpapi.Options{})
		f := httpapi.NewFront(func() error { return errors.New("it waits for a seed") }, httpapi.Options{Logger: quiet()})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- f.Serve(ctx, l) }()
		ask := func(path, host string) (int, string) {
			r, _ := http.NewRequest("GET", "http://"+l.Addr().String()+path, nil)
			r.Host = host
			res, err := b.http.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, _ := io.ReadAll(res.Body)
			return res.StatusCode, string(body)
		}
		for path, want := range map[string]int{"/livez": 200, "/readyz": 503, "/v1/status": 503, "/nowhere": 503} {
			if status, body := ask(path, "localhost"); status != want || status == 503 && !strings.Contains(body, "it waits for a seed") {
				t.Errorf("%s: %d %s", path, status, body)
			}
		}
		if status, body := ask("/readyz", "evil.example"); status != 421 {
			t.Errorf("%d %s", status, body)
		}
		server := httpapi.New(b.node, httpapi.Options{Logger: quiet()})
		if opens {
			f.Open(server, nil)
			for _, path := range []string{"/livez", "/readyz", "/v1/status"} {
				if status, body := ask(path, "localhost"); status != 200 {
					t.Errorf("%s: %d %s", path, status, body)
				}
			}
		}
		b.http.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if !opens {
			f.Open(server, nil)
		}
	}
}
