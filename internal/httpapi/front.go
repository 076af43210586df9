package httpapi

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Front listens from the moment that a process starts. Before its node is a member it says
// that the process lives, and to everything else why the node does not serve yet, at once.
// After Open the node's server answers.
type Front struct {
	opts    Options
	why     func() error
	waiting http.Handler
	grace   time.Duration // of requests that run when Serve is to end

	mu     sync.Mutex
	closed bool
	server *Server
	leave  func()        // or nil
	opened chan struct{} // closed by Open
}

// NewFront returns a front that has no server yet; why returns the reason for which the node waits.
func NewFront(why func() error, o Options) *Front {
	f := &Front{opts: o.withDefaults(), why: why, grace: grace, opened: make(chan struct{})}
	f.waiting = sameOrigin(http.HandlerFunc(f.wait))
	return f
}

// Open has s answer from now on. leave, which may be nil, has the node leave, and with it its
// calls end. Open is called at most once.
func (f *Front) Open(s *Server, leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.server, f.leave = s, leave
	close(f.opened)
	if f.closed {
		close(s.closing)
	}
}

// close tells the server that Serve ends, and returns Open's leave, or nil.
func (f *Front) close() (leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.server != nil {
		close(f.server.closing)
	}
	return f.leave
}

// ServeHTTP answers a request.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-f.opened:
		f.server.handler.ServeHTTP(w, r)
	default:
		f.waiting.ServeHTTP(w, r)
	}
}

// wait answers for a node that is no member yet.
func (f *Front) wait(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/livez" {
		_, _ = w.Write([]byte("ok\n"))
		return
	}
	writeError(w, r, &phalanx.Error{Kind: phalanx.ErrUnavailable, Err: f.why()})
}

// Serve answers requests on l until ctx ends; then running ones have a few
// seconds. If some run for longer, Serve has the node leave: it answers them as they end with
// that, and closes the connections of the rest. Serve returns when everything it started has
// ended, and must be called at most once.
func (f *Front) Serve(ctx context.Context, l net.Listener) error {
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	srv := &http.Server{
		Handler:           takesRest(onLoopback(l.Addr(), f)),
		TLSConfig:         f.opts.TLS,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          log.New(logWriter{f.opts.Logger}, "", 0),
	}
	counted := make(chan struct{})
	go func() {
		defer close(counted)
		select {
		case <-f.opened:
			f.server.metrics.countEvents(requests, f.server.node)
		case <-requests.Done():
		}
	}()
	served := make(chan error, 1)
	go func() {
		if f.opts.TLS != nil {
			served <- srv.ServeTLS(l, "", "")
		} else {
			served <- srv.Serve(l)
		}
	}()
	var err error
	select {
	case err = <-served:
		f.close()
	case <-ctx.Done():
		leave := f.close()
		ended := func(within time.Duration) bool {
			late, stop := context.WithTimeout(requests, within)
			defer stop()
			return srv.Shutdown(late) == nil
		}
		over := ended(f.grace)
		if !over && leave != nil {
			leave()
			over = ended(answering)
		}
		if !over {
			cancel()
			_ = srv.Close()
		}
		err = <-served
	}
	cancel()
	<-counted
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
