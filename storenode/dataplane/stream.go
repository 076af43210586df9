package dataplane

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Stream is the receiver's side of one transfer. One goroutine uses it; others may call Close.
type Stream struct {
	p      *peer
	req    Request
	onWait func(path []phalanx.NodeID)

	mu     sync.Mutex
	link   *link // nil once the stream was closed or parked its link
	closed bool

	frames *frameReader // of link
	warm   bool         // the connection is a used one, and has brought nothing yet
	left   int          // bytes of the data frame still to come
	end    *Ended
	gated  bool        // the stream has a place in the gate; guarded by mu
	clean  atomic.Bool // the sender ended it: the connection can serve another stream
	sum    verifier    // of Read
	speed  stretch
}

// Progress gets a stream's news besides bytes.
type Progress struct {
	// Wait gets the sender's path up to the origin, the sender first. The callee owns the slice.
	Wait func(path []phalanx.NodeID)
}

// Open asks a node for a stream, on a warm connection if there is one. The stream brings the
// sender's answer. ctx bounds only the opening.
func (c *Conns) Open(ctx context.Context, to phalanx.NodeID, req Request) (*Stream, error) {
	if err := req.validate(); err != nil {
		return nil, withNode(err, "open", to)
	}
	s := &Stream{p: c.peer(to), req: req}
	s.sum.start(req.Offset)
	if req.Kind == Object {
		s.gated = s.p.pass(ctx)
	}
	for l := s.p.warm(); l != nil; l = s.p.warm() {
		if s.ask(l) == nil {
			s.warm = true
			return s, nil
		}
	}
	if err := s.fresh(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// fresh asks on a new connection.
func (s *Stream) fresh(ctx context.Context) error {
	s.warm = false
	l, err := s.p.dial(ctx, roleStreams)
	if err != nil {
		return err
	}
	return s.ask(l)
}

func (s *Stream) ask(l *link) error {
	s.mu.Lock()
	closed := s.closed
	s.link, s.frames = l, l.frames
	s.mu.Unlock()
	cfg := &s.p.c.cfg
	err := l.conn.SetWriteDeadline(time.Now().Add(cfg.WriteStall))
	if err == nil {
		_, err = l.conn.Write(appendFrame(nil, kindOpen, s.req.append(nil)))
	}
	if err == nil {
		err = l.frames.watch(cfg.Stall)
	}
	if closed {
		err = phalanx.ErrCanceled
	}
	if err != nil {
		l.drop()
		return withNode(err, "open", s.p.node)
	}
	return nil
}

// next reads a header, or returns the end of the stream. It replaces a connection that the peer
// gave up while idle.
func (s *Stream) next() (header, *Ended) {
	h, err := s.frames.next()
	if err != nil && s.warm && !errors.Is(err, errSilent) && !isProtocol(err) {
		s.mu.Lock()
		stale := s.link
		s.mu.Unlock()
		if stale == nil {
			return h, s.lost(err)
		}
		stale.drop()
		if err = s.fresh(s.p.ctx); err == nil {
			h, err = s.frames.next()
		}
	}
	if err != nil {
		return h, s.lost(err)
	}
	s.warm = false
	return h, nil
}

func isProtocol(err error) bool {
	var e *phalanx.Error
	return errors.As(err, &e)
}

// ended sets the end of the stream, once.
func (s *Stream) ended(r Reason, err error) *Ended {
	if s.end == nil {
		s.end = &Ended{Reason: r, Node: s.p.node, Err: err}
		if r == Complete {
			s.speed.tell(&s.p.rate, leastReceived)
		}
		s.clean.Store(r == Complete || r == Reset || r == Busy || r == Gone)
		if r != Complete {
			s.end.Kind = kindOf[r]
			var e *phalanx.Error
			if errors.As(err, &e) && r == Broken {
				s.end.Kind = e.Kind
			}
		}
	}
	return s.end
}

// lost ends the stream on an error of its connection, or of the peer.
func (s *Stream) lost(err error) *Ended {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	switch {
	case closed || s.p.ctx.Err() != nil:
		return s.ended(Closed, err)
	case errors.Is(err, errSilent):
		return s.ended(Stalled, err)
	}
	return s.ended(Broken, err)
}

// bad ends the stream on an error of a Buffer or the verifier.
func (s *Stream) bad(err error) *Ended {
	var piece *BadPiece
	if errors.As(err, &piece) {
		e := s.ended(Corrupt, err)
		e.Piece = piece.Piece
		return e
	}
	return s.ended(Broken, err)
}

// control handles the frames without data. It returns nil if the stream goes on.
func (s *Stream) control(h header, p []byte) *Ended {
	d := decoder{b: p}
	switch h.kind {
	case kindWait:
		path, err := parsePath(p)
		if err != nil {
			return s.lost(err)
		}
		if s.onWait != nil {
			s.onWait(path)
		}
		return nil
	case kindReset:
		e := s.ended(Reset, nil)
		e.Generation = d.generation()
		return e
	case kindBusy:
		return s.ended(Busy, nil)
	case kindGone:
		kind, text, err := parseFault(h.kind, p)
		if err != nil {
			return s.lost(err)
		}
		e := s.ended(Gone, errors.New(text))
		e.Kind = kind
		return e
	}
	return s.lost(refused("a %v frame in a stream", h.kind))
}

// sink takes a stream's bytes: a Buffer, or a place of a Ring.
type sink interface {
	Size() int64    // of all bytes, or phalanx.UnknownSize
	Arrived() int64 // how many have come
	Space(limit int) []byte
	noRoom(n int64) error // why Space returns none
	CommitRaw(n int) error
	SetCheck(piece int64, c Check) error
	Finish(size int64) error
	is(digest phalanx.Digest) bool // reports whether a finished sink has this digest
}

// ReceiveInto brings the stream's bytes into b, which must have arrived up to the request's offset,
// and returns the end of the stream. After an incomplete stream b goes on at b.Resume with another
// one.
func (s *Stream) ReceiveInto(b *Buffer, on Progress) *Ended { return s.receive(b, on) }

func (s *Stream) receive(b sink, on Progress) *Ended {
	s.onWait = on.Wait
	if at := b.Arrived(); at != s.req.Offset {
		return s.ended(Closed, refused("the buffer is at %d, the stream at %d", at, s.req.Offset))
	}
	for s.end == nil {
		h, end := s.next()
		if end != nil {
			return end
		}
		if h.kind == kindData {
			s.data(b, h.length)
			continue
		}
		p, err := s.frames.payload(h)
		switch {
		case err != nil:
			s.lost(err)
		case h.kind == kindChecks:
			if err := eachCheck(p, b.SetCheck); err != nil {
				s.bad(err)
			}
		case h.kind == kindEnd:
			size, digest, idle := parseEnd(p)
			if err := b.Finish(size); err != nil {
				return s.bad(err)
			}
			if !b.is(digest) {
				return s.bad(&BadPiece{Piece: -1})
			}
			s.ended(Complete, nil)
			s.end.Idle = idle
		default:
			s.control(h, p)
		}
	}
	return s.end
}

// data reads a data frame into b.
func (s *Stream) data(b sink, left int) *Ended {
	if size := b.Size(); size != phalanx.UnknownSize && b.Arrived()+int64(left) > size {
		return s.lost(refused("%d bytes follow the object's %d of %d", left, b.Arrived(), size))
	}
	for left > 0 {
		sp := b.Space(left)
		if len(sp) == 0 {
			return s.ended(NoRoom, b.noRoom(int64(left)))
		}
		n, err := s.frames.into(sp)
		left -= n
		s.p.countReceived(n)
		if n > 0 {
			s.speed.add(n)
			if err := b.CommitRaw(n); err != nil {
				return s.bad(err)
			}
		}
		if err != nil {
			return s.lost(err)
		}
	}
	return nil
}

// Read brings the stream's next bytes into p, unchecked; a bad piece fails the next Read. After the
// last byte, when everything is checked, it returns io.EOF; any other error is an *Ended.
func (s *Stream) Read(p []byte) (int, error) {
	for s.left == 0 && len(p) > 0 {
		if s.end != nil {
			return 0, s.readEnd()
		}
		h, end := s.next()
		if end != nil {
			return 0, end
		}
		if h.kind == kindData {
			s.left = h.length
			break
		}
		payload, err := s.frames.payload(h)
		switch {
		case err != nil:
			s.lost(err)
		case h.kind == kindChecks:
			if err := eachCheck(payload, s.sum.expectCheck); err != nil {
				s.bad(err)
			}
		case h.kind == kindEnd:
			size, _, idle := parseEnd(payload)
			if err := s.sum.finish(size); err != nil {
				s.bad(err)
			} else {
				s.ended(Complete, nil)
				s.end.Idle = idle
			}
		default:
			s.control(h, payload)
		}
	}
	if s.end != nil {
		return 0, s.readEnd()
	}
	n, err := s.frames.into(p[:min(len(p), s.left)])
	s.left -= n
	s.p.countReceived(n)
	s.speed.add(n)
	if err != nil {
		return 0, s.lost(err)
	}
	if err := s.sum.cover(p[:n]); err != nil {
		return n, s.bad(err)
	}
	return n, nil
}

// OnWait sets the function that Read calls with the sender's path up to the origin.
func (s *Stream) OnWait(f func(path []phalanx.NodeID)) { s.onWait = f }

func (s *Stream) readEnd() error {
	if s.end.Reason == Complete {
		return io.EOF
	}
	return s.end
}

// Close ends the stream. It keeps the connection for another stream if the sender has ended this
// one; otherwise the sender sees the connection close.
func (s *Stream) Close() {
	s.mu.Lock()
	l, gated := s.link, s.gated
	s.link, s.closed, s.gated = nil, true, false
	s.mu.Unlock()
	if gated {
		<-s.p.gate
	}
	if l == nil {
		return
	}
	if s.clean.Load() {
		s.p.park(l)
	} else {
		l.drop()
	}
}

func eachCheck(p []byte, f func(piece int64, c Check) error) error {
	first := int64(binary.LittleEndian.Uint64(p))
	p = p[8:]
	if len(p)%checkSize != 0 || first < 0 || first > 1<<47 {
		return refused("%d bytes of checks from piece %d on", len(p), first)
	}
	for ; len(p) > 0; p, first = p[checkSize:], first+1 {
		if err := f(first, parseCheck(p)); err != nil {
			return err
		}
	}
	return nil
}
