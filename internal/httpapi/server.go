package httpapi

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/logging"
)

// DefaultAddr is where a node serves HTTP and where clients look for it.
const DefaultAddr = "127.0.0.1:7420"

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
	maxJSON       = 4 << 20 // a reduce may have many sources
	grace         = 5 * time.Second
	answering     = time.Second // from the end of a node until the answers that it has caused are written
)

// Options of a server. The zero value of each is its default.
type Options struct {
	Logger    logrus.FieldLogger
	TLS       *tls.Config
	Pprof     bool          // serve /debug/pprof/
	Deadline  time.Duration // of requests without a timeout; 60 s
	Transfer  time.Duration // of uploads and downloads without a timeout; 1 h
	Stall     time.Duration // after which a connection that moves no byte is cut; 1 min
	Heartbeat time.Duration // between comments in the stream of events; 15 s
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = logrus.StandardLogger()
	}
	o.Logger = logging.Limit(o.Logger)
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&o.Deadline, time.Minute}, {&o.Transfer, time.Hour}, {&o.Stall, time.Minute}, {&o.Heartbeat, 15 * time.Second}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return o
}

// Server serves a node over HTTP.
type Server struct {
	node    Node
	opts    Options
	handler http.Handler
	metrics *metrics
	closing chan struct{} // closed when Serve ends
}

// New returns a server of n.
func New(n Node, o Options) *Server {
	s := &Server{node: n, opts: o.withDefaults(), metrics: newMetrics(n), closing: make(chan struct{})}
	s.handler = s.metrics.count(sameOrigin(canonical(s.routes())))
	return s
}

// Handler returns the handler of all requests.
func (s *Server) Handler() http.Handler { return takesRest(s.handler) }

// Serve answers requests on l until ctx ends; then running ones have a few
// seconds. It returns when everything it started has ended, and must be called
// at most once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	f := NewFront(nil, s.opts)
	f.Open(s, nil)
	return f.Serve(ctx, l)
}

// logWriter writes the complaints of net/http to the log.
type logWriter struct{ log logrus.FieldLogger }

func (w logWriter) Write(p []byte) (int, error) {
	w.log.Debug("http: " + strings.TrimSpace(string(p)))
	return len(p), nil
}

// onLoopback keeps web pages from reaching a server that listens only on
// loopback through a name that they resolve to it: such a request names a host.
func onLoopback(addr net.Addr, next http.Handler) http.Handler {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsLoopback() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		host = strings.Trim(host, "[]")
		if host != "localhost" && net.ParseIP(host) == nil {
			writeStatus(w, http.StatusMisdirectedRequest, &phalanx.Error{Kind: phalanx.ErrRefused, Err: fmt.Errorf("this address is only for the machine itself: ask for localhost or the IP address, not for %q", host)})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// routes returns the handlers of all paths; a path that has no handler for a
// method says which it has.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	handle := func(method, path, op string, h handler) {
		mux.HandleFunc(method+" "+path, s.serve(op, h))
		methods[path] = append(methods[path], method)
	}
	for _, path := range []string{"/v1/objects/{id}", "/v1/objects/{$}"} {
		handle(http.MethodPut, path, "put", s.put)
		handle(http.MethodGet, path, "get", s.get)
		handle(http.MethodHead, path, "head", s.head)
		handle(http.MethodDelete, path, "delete", s.delete)
	}
	handle(http.MethodGet, "/v1/objects", "list", s.list)
	handle(http.MethodGet, "/v1/stat/{id}", "stat", s.stat)
	handle(http.MethodGet, "/v1/trees/{id}", "tree", s.tree)
	handle(http.MethodGet, "/v1/barriers", "barriers", s.barriers)
	handle(http.MethodGet, "/v1/groups", "groups", s.groups)
	s.workflows(handle)
	handle(http.MethodPost, "/v1/reduce", "reduce", s.reduce)
	handle(http.MethodPost, "/v1/allreduce", "allreduce", s.allReduce)
	handle(http.MethodPost, "/v1/gather", "gather", s.gather)
	handle(http.MethodPost, "/v1/prefetch", "prefetch", s.prefetch)
	handle(http.MethodPost, "/v1/bench", "bench", s.bench)
	handle(http.MethodPost, "/v1/recover", "recover", s.recover)
	handle(http.MethodGet, "/v1/status", "status", s.status)
	handle(http.MethodGet, "/v1/events", "events", s.events)
	handle(http.MethodGet, "/livez", "livez", s.livez)
	handle(http.MethodGet, "/readyz", "readyz", s.readyz)
	for path, allowed := range methods {
		if slices.Contains(allowed, http.MethodGet) && !slices.Contains(allowed, http.MethodHead) {
			allowed = append(allowed, http.MethodHead)
		}
		slices.Sort(allowed)
		mux.HandleFunc(path, notAllowed(strings.Join(allowed, ", ")))
	}
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/metrics", notAllowed("GET, HEAD"))
	if s.opts.Pprof {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	mux.HandleFunc("/", notHere)
	return mux
}

// canonical makes the rest of a path below one of these one segment, slashes
// and dots and all: ids may have any of them, and the mux would clean them.
func canonical(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, prefix := range []string{"/v1/objects/", "/v1/stat/", "/v1/trees/"} {
			rest, ok := strings.CutPrefix(r.URL.EscapedPath(), prefix)
			if !ok || rest == "" {
				continue
			}
			id, err := url.PathUnescape(rest)
			if err != nil { // cannot be: the server has parsed it
				writeError(w, r, invalid("", "", "the path: %v", err))
				return
			}
			r.URL.Path, r.URL.RawPath = prefix+id, prefix+escapeID(phalanx.ObjectID(id))
			next.ServeHTTP(w, r)
			return
		}
		if rest, ok := strings.CutPrefix(r.URL.EscapedPath(), workflowsPath); ok && rest != "" {
			path, raw, err := canonicalRun(rest)
			if err != nil { // cannot be: the server has parsed it
				writeError(w, r, invalid("", "", "the path: %v", err))
				return
			}
			r.URL.Path, r.URL.RawPath = path, raw
			next.ServeHTTP(w, r)
			return
		}
		if clean := path.Clean(r.URL.Path); clean != r.URL.Path && clean+"/" != r.URL.Path {
			notHere(w, r) // the mux would send the client on, in HTML
			return
		}
		next.ServeHTTP(w, r)
	})
}

// escapeID returns id as one segment of a path.
func escapeID(id phalanx.ObjectID) string {
	if id == "." || id == ".." {
		return strings.ReplaceAll(string(id), ".", "%2E")
	}
	return url.PathEscape(string(id))
}
