package httpapi

import (
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

// get sends an object as it arrives. An object that nobody has begun is not
// found, unless ?wait says for how long it is waited for.
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
	ctx, cancel, err := within(r, op, q.Get("timeout"), s.opts.Transfer)
	if err != nil {
		return err
	}
	defer cancel()
	find := wait
	if find == 0 {
		find = s.opts.Deadline
	}
	search := newSearch(ctx, find)
	defer search.end()
	stream, err := s.node.Open(search, id, wait > 0)
	if err != nil {
		e := *typed(err)
		e.Op = op // as the caller knows it
		return &e
	}
	defer stream.Close()
	if err := search.found(); err != nil {
		return &phalanx.Error{Op: op, Object: id, Kind: typed(err).Kind, Err: errors.New("it was found too late")}
	}
	return s.send(w, r, stream)
}

// send answers with stream. Once bytes were sent, an error can only be told by
// breaking the connection.
func (s *Server) send(w http.ResponseWriter, r *http.Request, stream Stream) error {
	info := stream.Info()
	writeInfo(w.Header(), info)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if tag := w.Header().Get("ETag"); tag != "" && matches(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
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
			writeStatus(w, http.StatusRequestedRangeNotSatisfiable, invalid("get", info.Object, "the range %q is not in its %d bytes", r.Header.Get("Range"), info.Meta.Size))
			return nil
		}
		if partial {
			part, status = asked, http.StatusPartialContent
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", part.from, part.to-1, info.Meta.Size))
		}
		w.Header().Set("Content-Length", strconv.FormatInt(part.to-part.from, 10))
	} else {
		w.Header().Set("Trailer", headerDigest)
	}
	if err := stream.Skip(part.from); err != nil {
		clear(w.Header())
		return err
	}
	out := &outlet{w: w, conn: http.NewResponseController(w), stall: s.opts.Stall}
	defer out.close()
	w.WriteHeader(status)
	if err := out.copy(stream, part, info.Meta.Size); err != nil {
		s.opts.Logger.WithError(err).WithField("object", string(info.Object)).Debug("a download broke off")
		panic(http.ErrAbortHandler) // the answer must not look complete
	}
	if info.Meta.Size < 0 {
		w.Header().Set(headerDigest, stream.Info().Digest.String())
	}
	return nil
}

// outlet writes to a client who reads, and holds the last byte back: an answer
// is complete only if the object is final.
type outlet struct {
	w     http.ResponseWriter
	conn  *http.ResponseController
	stall time.Duration
	held  []byte // the last byte that was given to it
	left  int64  // that may still be written; -1: no limit
}

// errEnough ends a copy whose part is written.
var errEnough = errors.New("the part is complete")

// copy writes the part of stream, which is at part.from of size bytes.
func (o *outlet) copy(stream Stream, part span, size int64) error {
	o.left = -1
	if size >= 0 {
		o.left = part.to - part.from
	}
	_, err := stream.WriteTo(o)
	if errors.Is(err, errEnough) { // the rest is not sent, but awaited
		_, err = stream.WriteTo(io.Discard)
	}
	if err != nil {
		return err
	}
	if o.left > 0 {
		return io.ErrUnexpectedEOF
	}
	return o.write(o.held)
}

// Write writes what was held back and all of p but its last byte.
func (o *outlet) Write(p []byte) (int, error) {
	taken := p
	if o.left >= 0 {
		taken = p[:min(int64(len(p)), o.left)]
		o.left -= int64(len(taken))
	}
	if len(taken) > 0 {
		if err := o.write(o.held); err != nil {
			return 0, err
		}
		last := len(taken) - 1
		if err := o.write(taken[:last]); err != nil {
			return 0, err
		}
		o.held = append(o.held[:0], taken[last])
	}
	if o.left == 0 {
		return len(taken), errEnough
	}
	return len(taken), o.conn.Flush()
}

func (o *outlet) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	_ = o.conn.SetWriteDeadline(time.Now().Add(o.stall))
	_, err := o.w.Write(p)
	return err
}

// close leaves the connection as it was.
func (o *outlet) close() { _ = o.conn.SetWriteDeadline(time.Time{}) }

// head describes an object without its bytes, at once.
func (s *Server) head(w http.ResponseWriter, r *http.Request) error {
	const op = "stat"
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
	w.WriteHeader(http.StatusOK)
	return nil
}

// stat tells what the directory knows of an object.
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

// writeInfo puts what is known of an object into h.
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
