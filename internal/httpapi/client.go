package httpapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
)

// late is how much longer than its timeout the client waits for an answer,
// which names what was missing.
const late = 5 * time.Second

// Client talks to one node.
type Client struct {
	base  *url.URL
	http  *http.Client
	stall time.Duration // after which a node cuts a connection that moves no byte
}

// NewClient returns a client of the node at addr: host:port, or a URL. A TLS
// configuration is for https, which it makes the default.
func NewClient(addr string, t *tls.Config) (*Client, error) {
	u, err := parseAddr(addr, t != nil)
	if err != nil {
		return nil, err
	}
	return &Client{base: u, stall: time.Minute, http: &http.Client{Transport: &http.Transport{
		DialContext:        dial,
		TLSClientConfig:    t,
		ForceAttemptHTTP2:  true,
		DisableCompression: true, // objects come as they are
		WriteBufferSize:    256 << 10,
		ReadBufferSize:     256 << 10,
	}}}, nil
}

// parseAddr returns the URL of the node at addr. A URL without a port has that of its
// scheme. An address that is no URL must say its port: 80 is not where nodes listen.
func parseAddr(addr string, secure bool) (*url.URL, error) {
	full, whole := addr, strings.Contains(addr, "://")
	if !whole {
		scheme := "http://"
		if secure {
			scheme = "https://"
		}
		full = scheme + addr
	}
	u, err := url.Parse(full)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" {
		return nil, invalid("", "", "the address %q is neither host:port nor a URL such as https://10.0.0.1:7420", addr)
	}
	switch port, err := strconv.ParseUint(u.Port(), 10, 16); {
	case u.Port() == "" && !whole:
		_, port, _ := net.SplitHostPort(DefaultAddr)
		return nil, invalid("", "", "the address %q names no port: give host:port, such as %s, where a node serves HTTP (--http), or a URL", addr, net.JoinHostPort(u.Hostname(), port))
	case u.Port() != "" && (err != nil || port == 0):
		return nil, invalid("", "", "the address %q: %q is not a port from 1 to 65535", addr, u.Port())
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

// Addr returns the node's URL.
func (c *Client) Addr() string { return c.base.String() }

// Close ends connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// request is one call.
type request struct {
	op     string
	object phalanx.ObjectID
	method string
	path   string // escaped
	query  url.Values
	header http.Header
	body   io.Reader
	size   int64
}

// do returns the answer, if it is 2xx; else an error. The caller closes its body.
func (c *Client) do(ctx context.Context, q request) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, q.method, c.base.String()+q.path, q.body)
	if err != nil {
		return nil, invalid(q.op, q.object, "%v", err)
	}
	r.URL.RawQuery = q.query.Encode()
	for name, values := range q.header {
		r.Header[name] = values
	}
	if q.body != nil {
		r.ContentLength = q.size
		if q.size == 0 {
			r.Body = http.NoBody
		}
	}
	res, err := c.http.Do(r)
	if err != nil {
		return nil, c.failure(ctx, q.op, q.object, err)
	}
	if res.StatusCode < 300 {
		return res, nil
	}
	defer res.Body.Close()
	return nil, c.refusal(q.op, q.object, res)
}

// refusal reads the error that an answer is.
func (c *Client) refusal(op string, id phalanx.ObjectID, res *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10)) // a short body cannot be decoded
	var e errorBody
	if json.Unmarshal(body, &e) == nil && e.Error.Kind != "" {
		return e.Error.Err()
	}
	if k, ok := parseKind(res.Header.Get(headerError)); ok {
		return &phalanx.Error{Op: op, Object: id, Kind: k}
	}
	if strings.Contains(string(body), insecureRequest) {
		return &phalanx.Error{Op: op, Object: id, Kind: phalanx.ErrUnavailable, Err: fmt.Errorf("%s wants TLS: give --addr as %s", c.Addr(), c.otherScheme())}
	}
	return &phalanx.Error{Op: op, Object: id, Kind: phalanx.ErrUnavailable, Err: fmt.Errorf("%s answers %s: is that a phalanx node? %s", c.Addr(), res.Status, httpPort)}
}

// httpPort says which port of a node a client wants.
const httpPort = "the port of --http is wanted, 7420 unless told otherwise, not that for control or data"

// failure says why there was no answer, or not a whole one.
func (c *Client) failure(ctx context.Context, op string, id phalanx.ObjectID, err error) error {
	var pe *phalanx.Error
	var dial *net.OpError
	e := &phalanx.Error{Op: op, Object: id, Kind: phalanx.ErrUnavailable}
	switch {
	case errors.As(err, &pe):
		return pe
	case context.Cause(ctx) == errSilent:
		e.Err = fmt.Errorf("the node at %s sends nothing any more: %w", c.Addr(), errSilent)
	case errors.Is(ctx.Err(), context.Canceled):
		e.Kind, e.Err = phalanx.ErrCanceled, errors.New("interrupted")
	case errors.As(err, &dial) && dial.Op == "dial":
		e.Err = fmt.Errorf("no node answers at %s; start one with `phalanx dev` or give --addr (%w)", c.Addr(), dial.Err)
	case ctx.Err() != nil:
		e.Kind, e.Err = phalanx.ErrDeadline, fmt.Errorf("%s did not answer in time", c.Addr())
	default:
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		e.Err = &brokenConn{c.Addr(), err}
		if what := c.remedy(err); what != "" {
			e.Err = fmt.Errorf("%w: %s", e.Err, what)
		}
		if noHTTP(err) {
			e.Err = fmt.Errorf("%s does not speak HTTP: %s (%w)", c.Addr(), httpPort, err)
		}
	}
	return e
}

// noHTTP reports whether the answer is not HTTP, or came before the request had been
// sent, as the first bytes from a control port may. The package net/http has no type for
// either.
func noHTTP(err error) bool {
	return strings.Contains(err.Error(), "malformed HTTP") || strings.Contains(err.Error(), "readLoopPeekFailLocked: %!w(<nil>)")
}

// call does q, with v as the JSON answer unless it is nil; of a *[]byte the answer has the bytes.
func (c *Client) call(ctx context.Context, q request, timeout time.Duration, v any) error {
	if timeout == 0 {
		timeout = time.Minute
	}
	over := time.Now().Add(timeout)
	ctx, cancel := context.WithDeadline(ctx, over.Add(late))
	defer cancel()
	res, err := c.do(ctx, q)
	if err != nil {
		if broken := (*brokenConn)(nil); errors.As(err, &broken) && !time.Now().Before(over) {
			// The node has given the call up, and its answer got lost.
			return &phalanx.Error{Op: q.op, Object: q.object, Kind: phalanx.ErrDeadline, Err: fmt.Errorf("it was not done within %v, and %w", timeout, broken)}
		}
		return err
	}
	defer res.Body.Close()
	if v == nil {
		return nil
	}
	if b, raw := v.(*[]byte); raw {
		*b, err = io.ReadAll(res.Body)
	} else {
		err = json.NewDecoder(res.Body).Decode(v)
	}
	if err != nil {
		return c.failure(ctx, q.op, q.object, err)
	}
	return nil
}

// post does q with a JSON body.
func (c *Client) post(ctx context.Context, q request, timeout time.Duration, body, v any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return invalid(q.op, q.object, "%v", err)
	}
	q.method, q.body, q.size = http.MethodPost, bytes.NewReader(data), int64(len(data))
	q.header = http.Header{"Content-Type": {"application/json"}}
	return c.call(ctx, q, timeout, v)
}

// get does q, a question to a node.
func (c *Client) get(ctx context.Context, q request, timeout time.Duration, v any) error {
	q.method = http.MethodGet
	if timeout > 0 {
		if q.query == nil {
			q.query = url.Values{}
		}
		q.query.Set("timeout", timeout.String())
	}
	return c.call(ctx, q, timeout, v)
}

// Delete removes an object everywhere.
func (c *Client) Delete(ctx context.Context, id phalanx.ObjectID, timeout time.Duration) error {
	if err := validID("delete", id); err != nil {
		return err
	}
	q := request{op: "delete", object: id, method: http.MethodDelete, path: "/v1/objects/" + escapeID(id)}
	if timeout > 0 {
		q.query = url.Values{"timeout": {timeout.String()}}
	}
	return c.call(ctx, q, timeout, nil)
}

// Stat returns the state of an object.
func (c *Client) Stat(ctx context.Context, id phalanx.ObjectID, timeout time.Duration) (o Object, err error) {
	if err := validID("stat", id); err != nil {
		return o, err
	}
	err = c.get(ctx, request{op: "stat", object: id, path: "/v1/stat/" + escapeID(id)}, timeout, &o)
	return o, err
}

// Tree returns the live tree of an object.
func (c *Client) Tree(ctx context.Context, id phalanx.ObjectID, timeout time.Duration) (t Tree, err error) {
	if err := validID("tree", id); err != nil {
		return t, err
	}
	err = c.get(ctx, request{op: "tree", object: id, path: "/v1/trees/" + escapeID(id)}, timeout, &t)
	return t, err
}

// List returns the objects whose ids begin with prefix, in order.
func (c *Client) List(ctx context.Context, prefix string, timeout time.Duration) ([]Object, error) {
	var l List
	err := c.get(ctx, request{op: "list", path: "/v1/objects", query: url.Values{"prefix": {prefix}}}, timeout, &l)
	return l.Objects, err
}

// Status returns the node's status.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	err = c.get(ctx, request{op: "status", path: "/v1/status"}, 0, &s)
	return s, err
}

// Reduce creates r.Target from r.Sources.
func (c *Client) Reduce(ctx context.Context, r ReduceRequest) (ReduceResult, error) {
	return c.combine(ctx, "reduce", r)
}

// AllReduce is Reduce, and the node has the target after it.
func (c *Client) AllReduce(ctx context.Context, r ReduceRequest) (ReduceResult, error) {
	return c.combine(ctx, "allreduce", r)
}

func (c *Client) combine(ctx context.Context, op string, r ReduceRequest) (res ReduceResult, err error) {
	timeout, err := parseTimeout(op, "timeout", r.Timeout, 0)
	if err != nil {
		return res, err
	}
	err = c.post(ctx, request{op: op, object: r.Target, path: "/v1/" + op}, timeout, r, &res)
	return res, err
}

// Gather has the node get objects.
func (c *Client) Gather(ctx context.Context, g GatherRequest) (res GatherResult, err error) {
	timeout, err := parseTimeout("gather", "timeout", g.Timeout, 0)
	if err != nil {
		return res, err
	}
	err = c.post(ctx, request{op: "gather", path: "/v1/gather"}, timeout, g, &res)
	return res, err
}

// Bench has a node measure an operation on its cluster.
func (c *Client) Bench(ctx context.Context, b BenchRequest) (res BenchResult, err error) {
	timeout, err := parseTimeout("bench", "timeout", b.Timeout, 0)
	if err != nil {
		return res, err
	}
	err = c.post(ctx, request{op: "bench", path: "/v1/bench"}, timeout, b, &res)
	return res, err
}

// Prefetch has nodes fetch an object, and returns which did.
func (c *Client) Prefetch(ctx context.Context, p PrefetchRequest) (done PrefetchRequest, err error) {
	timeout, err := parseTimeout("prefetch", "timeout", p.Timeout, 0)
	if err != nil {
		return done, err
	}
	err = c.post(ctx, request{op: "prefetch", object: p.ID, path: "/v1/prefetch"}, timeout, p, &done)
	return done, err
}

// Recover has a node form the cluster anew from the members that live.
func (c *Client) Recover(ctx context.Context, r RecoverRequest) (res RecoverResult, err error) {
	timeout, err := parseTimeout("recover", "timeout", r.Timeout, 0)
	if err != nil {
		return res, err
	}
	err = c.post(ctx, request{op: "recover", path: "/v1/recover"}, timeout, r, &res)
	return res, err
}

// PutOptions are the optional arguments of Put.
type PutOptions struct {
	DType   string
	Shape   []int64
	Copies  int
	Timeout time.Duration
	// MemoryWait is how long the node waits for memory; 0 means its default, less not at all.
	MemoryWait time.Duration
	// Waits, if it is not nil, is called again and again, from another goroutine, while the
	// node does not take the bytes yet.
	Waits func()
}

// Put creates an object from r: size bytes, or all that comes if that is
// phalanx.UnknownSize. Nothing is put if r fails.
func (c *Client) Put(ctx context.Context, id phalanx.ObjectID, r io.Reader, size int64, o PutOptions) (res PutResult, err error) {
	const op = "put"
	if err := validID(op, id); err != nil {
		return res, err
	}
	q := request{op: op, object: id, method: http.MethodPut, path: "/v1/objects/" + escapeID(id), header: http.Header{}, size: size,
		body: &source{Reader: r, id: id}}
	set := func(header, value string) {
		if value != "" {
			q.header.Set(header, value)
		}
	}
	set("Content-Type", "application/octet-stream")
	set(headerDType, o.DType)
	set(headerShape, FormatShape(o.Shape))
	if o.Copies != 0 {
		set(headerCopies, strconv.Itoa(o.Copies))
	}
	q.query = url.Values{}
	if o.Timeout > 0 {
		q.query.Set("timeout", o.Timeout.String())
	} else {
		o.Timeout = time.Hour
	}
	if o.MemoryWait != 0 {
		q.query.Set("memory-wait", max(o.MemoryWait, 0).String())
	}
	if o.Waits != nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
			if code == http.StatusContinue { // it was not asked for
				o.Waits()
			}
			return nil
		}})
	}
	return res, c.call(ctx, q, o.Timeout, &res)
}

// source tells a failure of a Put's reader from a failure of the connection.
type source struct {
	io.Reader
	id phalanx.ObjectID
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && err != io.EOF {
		e := *typed(err)
		if e.Err == nil {
			e.Err = err
		}
		err = &phalanx.Error{Op: "put", Object: s.id, Kind: e.Kind, Err: fmt.Errorf("its source failed: %w", e.Err)}
	}
	return n, err
}
