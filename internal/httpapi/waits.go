package httpapi

import (
	"net/http"
	"sync"
	"time"
)

// waits tells the client of a PUT every second that the node does not take its body yet,
// with an interim answer of 100: any other is the whole answer to some clients, such as
// http.client of Python. A connection whose client has gone resets it, and the
// next answer finds that out and ends the request: net/http does not look at the connection
// while there is a body to read, and its end stands behind the bytes of the client.
type waits struct {
	w    http.ResponseWriter
	conn *http.ResponseController
	most time.Duration // that writing one may take

	mu    sync.Mutex // held while one is written
	timer *time.Timer
	over  bool
}

// waitsEvery is the time between two interim answers.
const waitsEvery = time.Second

// tellWaits begins to tell the client of r that it waits. stop must be called before
// the body is read or the answer is written.
func (s *Server) tellWaits(w http.ResponseWriter, r *http.Request, conn *http.ResponseController) *waits {
	t := &waits{w: w, conn: conn, most: s.opts.Stall}
	if !r.ProtoAtLeast(1, 1) { // there are no interim answers
		t.over = true
		return t
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(waitsEvery, t.tell)
	return t
}

func (t *waits) tell() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	_ = t.conn.SetWriteDeadline(time.Now().Add(t.most)) // a writer that cannot has no stalls
	t.w.WriteHeader(http.StatusContinue)
	_ = t.conn.SetWriteDeadline(time.Time{})
	t.timer.Reset(waitsEvery)
}

// stop returns when no interim answer is written any more.
func (t *waits) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		t.over = true
		t.timer.Stop()
	}
}
