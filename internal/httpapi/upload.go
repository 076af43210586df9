package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode"
)

// The headers that describe an object.
const (
	headerDType      = "Phalanx-DType"
	headerShape      = "Phalanx-Shape"
	headerGeneration = "Phalanx-Generation"
	headerDigest     = "Phalanx-Digest"
	headerState      = "Phalanx-State"
	headerCopies     = "Phalanx-Copies"
)

// putHeaders are the headers that a PUT may have.
var putHeaders = []string{headerDType, headerShape, headerCopies}

// put creates an object from the body, which others can read while it comes.
func (s *Server) put(w http.ResponseWriter, r *http.Request) error {
	const op = "put"
	q, err := query(r, op, "timeout", "memory-wait")
	if err != nil {
		return err
	}
	id, err := pathID(r, op)
	if err != nil {
		return err
	}
	meta, copies, err := describe(r, id)
	if err != nil {
		return err
	}
	how := Putting{Copies: copies}
	if how.MemoryWait, err = parseTimeout(op, "memory-wait", q.Get("memory-wait"), storenode.MemoryWait); err != nil {
		return err
	}
	created, err := onlyNew(r, op)
	if err != nil {
		return err
	}
	ctx, cancel, err := within(r, op, q.Get("timeout"), s.opts.Transfer)
	if err != nil {
		return err
	}
	defer cancel()
	if created {
		if _, final := s.final(ctx, id); final {
			return exists(op, id) // before it has sent its body
		}
	}
	conn := http.NewResponseController(w)
	body := &upload{body: r.Body, conn: conn, stall: s.opts.Stall, size: r.ContentLength, waits: s.tellWaits(w, r, conn)}
	ctx, cancel = body.apart(ctx)
	defer cancel()
	info, existed, err := s.node.Put(ctx, id, body, meta, how)
	failed := body.stop()
	if created && (existed || errors.Is(err, phalanx.ErrExists)) {
		return exists(op, id)
	}
	if err != nil {
		if failed != nil && errors.Is(err, phalanx.ErrAborted) { // say why, not only that
			return &phalanx.Error{Op: op, Object: id, Kind: phalanx.ErrAborted, Err: failed}
		}
		return advise(err, phalanx.ErrExists, ifExists)
	}
	status := http.StatusCreated
	if existed {
		status = http.StatusOK
	}
	writeJSON(w, status, PutResult{Info: infoOf(info), Created: !existed})
	return nil
}

// describe reads the object's properties from the headers.
func describe(r *http.Request, id phalanx.ObjectID) (meta phalanx.Meta, copies int, err error) {
	const op = "put"
	if r.Header.Get("Content-Range") != "" { // a part would become the object
		return meta, 0, invalid(op, id, "an object cannot be put in parts: there is a Content-Range, as curl -C sends")
	}
	meta.Size = r.ContentLength // -1 is phalanx.UnknownSize
	if name := r.Header.Get(headerDType); name != "" {
		if meta.DType, err = phalanx.ParseDType(name); err != nil {
			return meta, 0, invalid(op, id, "%s: %v", headerDType, typed(err).Err)
		}
	}
	if shape := r.Header.Get(headerShape); shape != "" {
		if meta.Shape, err = ParseShape(shape); err != nil {
			return meta, 0, invalid(op, id, "%s: %v", headerShape, typed(err).Err)
		}
	}
	if n := r.Header.Get(headerCopies); n != "" {
		if copies, err = strconv.Atoi(n); err != nil || copies < 1 {
			return meta, 0, invalid(op, id, "%s: %q is not a number from 1", headerCopies, n)
		}
	}
	if err := meta.Validate(); err != nil {
		return meta, 0, invalid(op, id, "%v", typed(err).Err)
	}
	return meta, copies, nil
}

// upload reads a request's body, and fails if it breaks off or stalls. Reads
// may come from another goroutine than the handler's. Reads after the handler is
// done fail.
type upload struct {
	body  io.Reader
	conn  *http.ResponseController
	stall time.Duration
	size  int64 // -1: unknown
	waits *waits

	mu     sync.Mutex // held by a read
	at     int64
	failed error

	deadline sync.Mutex // held as the deadline of reads is set
	stopped  bool       // by deadline
}

// Read reads the bytes that have come, and waits for them as long as a stall may last.
func (u *upload) Read(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.failed != nil {
		return 0, u.failed
	}
	u.waits.stop()
	began := time.Now()
	if !u.until(began.Add(u.stall)) {
		return 0, io.ErrClosedPipe
	}
	n, err := u.body.Read(p)
	u.at += int64(n)
	switch {
	case err == io.EOF:
		u.until(time.Time{}) // the next bytes are another request
	case errors.Is(err, os.ErrDeadlineExceeded) && time.Since(began) < u.stall: // stop has set another deadline
		err = io.ErrClosedPipe
	case err != nil:
		u.failed = u.broken(err)
		err = u.failed
	}
	return n, err
}

// until sets the deadline of reads, unless stop has been called: that has set another one.
func (u *upload) until(t time.Time) bool {
	u.deadline.Lock()
	defer u.deadline.Unlock()
	if !u.stopped {
		_ = u.conn.SetReadDeadline(t) // a writer that cannot has no stalls
	}
	return !u.stopped
}

// apart returns a context that ends when ctx does, unless the body fails then: net/http cancels a request
// as its body fails, and the Put and those who read the object are to hear why it failed.
func (u *upload) apart(ctx context.Context) (context.Context, context.CancelFunc) {
	apart, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		u.mu.Lock() // once a read that is under way has ended
		defer u.mu.Unlock()
		if u.failed == nil {
			cancel(context.Cause(ctx))
		}
	})
	deadline, _ := ctx.Deadline() // within has set one
	apart, release := context.WithDeadline(apart, deadline)
	return apart, func() { stop(); release(); cancel(nil) }
}

func (u *upload) broken(err error) error {
	of := ""
	if u.size >= 0 {
		of = fmt.Sprintf(" of %d", u.size)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("the upload stopped after %d%s bytes: no more came for %v", u.at, of, u.stall)
	}
	return fmt.Errorf("the upload broke off after %d%s bytes: %w", u.at, of, err)
}

// stop makes a read that waits, and all later ones, fail; it returns why the
// body had failed before. The connection must not be used for reads after the
// handler has returned.
func (u *upload) stop() error {
	u.waits.stop()
	u.deadline.Lock()
	u.stopped = true
	if u.mu.TryLock() {
		u.deadline.Unlock()
	} else {
		_ = u.conn.SetReadDeadline(time.Unix(1, 0))
		u.deadline.Unlock()
		u.mu.Lock()
	}
	defer u.mu.Unlock()
	return u.failed
}
