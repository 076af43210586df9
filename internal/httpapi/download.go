package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
)

// get sends an object as it arrives. An object that is not begun is not found,
// unless ?wait says how long to wait for it.
func (s *Server) get(w http.ResponseWriter, r *http.Request) error {
	const op = "get"
	q, err := query(r, op, "wait", "timeout")
	if err != nil {
		return err
	}
	id, err := pathID(r, op)
	if err != nil {
		return err
	}
	wait, err := parseTimeout(op, "wait", q.Get("wait"), 0)
	if err != nil {
		return err
	}
	only, err := parseConditions(r, op)
	if err != nil {
		return err
	}
	ctx, cancel, err := within(r, op, q.Get("timeout"), s.opts.Transfer)
	if err != nil {
		return err
	}
	defer cancel()
	find := wait
	if find == 0 {
		find = s.opts.Deadline
	}
	if only.given() { // nothing has to be fetched to compare
		if st, final := s.final(ctx, id); final {
			writeInfo(w.Header(), storenode.Info{Object: id, Gen: st.Gen, Meta: st.Meta, Digest: st.Digest})
			if done, err := only.answer(w, op, id); done {
				return err
			}
			clear(w.Header())
		}
	}
	search := newSearch(ctx, find)
	look := s.lookAfter(search, id, wait)
	defer look.stop()
	stream, err := s.node.Open(search, id, wait > 0)
	if err != nil {
		return advise(look.blame(err), phalanx.ErrNotFound, ifMissing)
	}
	defer stream.Close()
	if err := search.found(); err != nil {
		return look.blame(&phalanx.Error{Kind: typed(err).Kind, Err: errors.New("the object was found too late")})
	}
	look.opened()
	return s.send(w, r, stream, only, look)
}

// send answers with stream. The headers go out with the first byte: until then an error is
// an answer as any other, and afterwards a *cut.
func (s *Server) send(w http.ResponseWriter, r *http.Request, stream Stream, only conditions, look *lookout) error {
	info := stream.Info()
	writeInfo(w.Header(), info)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if done, err := only.answer(w, "get", info.Object); done {
		return err
	}
	part := span{0, info.Meta.Size}
	status := http.StatusOK
	if info.Meta.Size >= 0 {
		w.Header().Set("Accept-Ranges", "bytes")
		asked, partial, ok := parseRange(r.Header.Get("Range"), info.Meta.Size)
		if tag := r.Header.Get("If-Range"); tag != "" && tag != w.Header().Get("ETag") {
			asked, partial, ok = part, false, true
		}
		if !ok {
			clear(w.Header())
			w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", info.Meta.Size))
			return &refusal{http.StatusRequestedRangeNotSatisfiable, invalid("get", info.Object, "the range %q is not in its %d bytes", r.Header.Get("Range"), info.Meta.Size)}
		}
		if partial {
			part, status = asked, http.StatusPartialContent
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", part.from, part.to-1, info.Meta.Size))
		}
		w.Header().Set("Content-Length", strconv.FormatInt(part.to-part.from, 10))
	} else {
		w.Header().Set("Trailer", headerDigest)
	}
	out := &outlet{w: w, status: status, conn: http.NewResponseController(w), stall: s.opts.Stall, look: look, skip: part.from, left: -1}
	if info.Meta.Size >= 0 {
		out.left = part.to - part.from
	}
	defer out.close()
	if err := out.copy(stream); err != nil {
		err = look.blame(err)
		if out.begun {
			return &cut{err}
		}
		clear(w.Header())
		return err
	}
	if info.Meta.Size < 0 {
		w.Header().Set(headerDigest, stream.Info().Digest.String())
	}
	return nil
}

// outlet writes a part of an object to a client that reads, and holds the last byte back: an
// answer is complete only if the object is final.
type outlet struct {
	w      http.ResponseWriter
	status int
	begun  bool // the headers were written
	conn   *http.ResponseController
	stall  time.Duration
	look   *lookout
	held   []byte // the last byte that was given to it
	skip   int64  // that are not sent
	left   int64  // that may still be written after these; -1: no limit
}

// copy writes the part of stream. The rest is not sent, but awaited.
func (o *outlet) copy(stream Stream) error {
	if _, err := stream.WriteTo(o); err != nil {
		return err
	}
	if o.left > 0 {
		return io.ErrUnexpectedEOF
	}
	o.begin()
	return o.write(o.held)
}

// Write writes the byte that was held back and the part of p to send, without its last byte.
func (o *outlet) Write(p []byte) (int, error) {
	o.look.writing()
	defer o.look.wrote()
	skip := min(int64(len(p)), o.skip)
	o.skip -= skip
	taken := p[skip:]
	if o.left >= 0 {
		taken = taken[:min(int64(len(taken)), o.left)]
		o.left -= int64(len(taken))
	}
	if len(taken) == 0 {
		return len(p), nil
	}
	if err := o.write(o.held); err != nil {
		return 0, err
	}
	last := len(taken) - 1
	if err := o.write(taken[:last]); err != nil {
		return 0, err
	}
	o.held = append(o.held[:0], taken[last])
	if !o.begun {
		return len(p), nil
	}
	if err := o.conn.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return len(p), notTaken(err)
	}
	return len(p), nil
}

// notTaken says that err is the client's end, or its connection's.
func notTaken(err error) error {
	return &phalanx.Error{Kind: phalanx.ErrCanceled, Err: fmt.Errorf("the client reads no more: %w", err)}
}

// begin writes the headers.
func (o *outlet) begin() {
	if !o.begun {
		o.begun = true
		o.w.WriteHeader(o.status)
	}
}

// writeAtOnce is how many bytes a client has to take before the stall limit.
const writeAtOnce = 256 << 10

func (o *outlet) write(p []byte) error {
	for len(p) > 0 {
		o.begin()
		_ = o.conn.SetWriteDeadline(time.Now().Add(o.stall))
		n, err := o.w.Write(p[:min(len(p), writeAtOnce)])
		if err != nil {
			return notTaken(err)
		}
		p = p[n:]
	}
	return nil
}

// close leaves the connection as it was.
func (o *outlet) close() { _ = o.conn.SetWriteDeadline(time.Time{}) }

// head describes an object without its bytes, at once.
func (s *Server) head(w http.ResponseWriter, r *http.Request) error {
	const op = "stat"
	only, err := parseConditions(r, op)
	if err != nil {
		return err
	}
	st, err := s.find(r, op)
	if err != nil {
		return err
	}
	writeInfo(w.Header(), storenode.Info{Object: st.Object, Gen: st.Gen, Meta: st.Meta, Digest: st.Digest})
	w.Header().Set(headerState, st.State.String())
	w.Header().Set("Content-Type", "application/octet-stream")
	if st.Meta.Size >= 0 {
		w.Header().Set("Accept-Ranges", "bytes")
		w.Header().Set("Content-Length", strconv.FormatInt(st.Meta.Size, 10))
	}
	if done, err := only.answer(w, op, st.Object); done {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// stat tells the directory's state of an object.
func (s *Server) stat(w http.ResponseWriter, r *http.Request) error {
	st, err := s.find(r, "stat")
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, objectOf(st))
	return nil
}

// find asks for the object in r's path.
func (s *Server) find(r *http.Request, op string) (storenode.ObjectStat, error) {
	q, err := query(r, op, "timeout")
	if err != nil {
		return storenode.ObjectStat{}, err
	}
	id, err := pathID(r, op)
	if err != nil {
		return storenode.ObjectStat{}, err
	}
	ctx, cancel, err := within(r, op, q.Get("timeout"), s.opts.Deadline)
	if err != nil {
		return storenode.ObjectStat{}, err
	}
	defer cancel()
	st, err := s.node.Stat(ctx, id)
	if err != nil {
		return st, err
	}
	switch st.State {
	case directory.Unbound:
		return st, &phalanx.Error{Op: op, Object: id, Kind: phalanx.ErrNotFound, Err: errors.New("nobody has announced it")}
	case directory.Deleted:
		return st, &phalanx.Error{Op: op, Object: id, Kind: phalanx.ErrDeleted}
	}
	return st, nil
}

// final returns the directory's state of an object, if the object can be read and the directory
// answers soon.
func (s *Server) final(ctx context.Context, id phalanx.ObjectID) (storenode.ObjectStat, bool) {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	st, err := s.node.Stat(ctx, id)
	return st, err == nil && st.State == directory.Finished
}

// writeInfo puts the properties of an object into h.
func writeInfo(h http.Header, i storenode.Info) {
	h.Set(headerDType, i.Meta.DType.String())
	if i.Meta.Shape != nil {
		h.Set(headerShape, FormatShape(i.Meta.Shape))
	}
	if !i.Gen.IsZero() {
		h.Set(headerGeneration, i.Gen.String())
	}
	if !i.Digest.IsZero() {
		h.Set(headerDigest, i.Digest.String())
		h.Set("ETag", `"`+i.Digest.String()+`"`)
	}
}
