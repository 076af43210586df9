package fakenode

import (
	"context"
	"errors"
	"io"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/storenode"
)

// stream reads an object that may still be written.
type stream struct {
	node   *Node
	ctx    context.Context // as storenode.Reader has one
	o      *object
	at     int
	leave  func() bool
	closed bool
}

// Open reads an object as it is written.
func (n *Node) Open(ctx context.Context, id phalanx.ObjectID, wait bool) (httpapi.Stream, error) {
	if err := n.refuse(ctx, "open", id); err != nil {
		return nil, err
	}
	stop := n.wakes(ctx)
	defer stop()
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		o, err := n.find("open", id)
		switch {
		case err == nil && (!o.lost || len(o.bytes) > 0):
			n.reading[id] = true
			n.changed.Broadcast()
			return &stream{node: n, ctx: ctx, o: o, leave: n.wakes(ctx)}, nil
		case errors.Is(err, phalanx.ErrDeleted), err != nil && !wait:
			return nil, err
		}
		if !n.searching {
			n.searching = true
			n.changed.Broadcast()
		}
		if err := n.wait(ctx, "open", id, nobody); err != nil {
			return nil, err
		}
	}
}

// next returns bytes that were not read, and waits for some.
func (s *stream) next() ([]byte, error) {
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	id := s.o.info.Object
	for {
		switch {
		case s.closed:
			return nil, fail("open", id, phalanx.ErrClosed, "the reader was closed")
		case s.o.err != nil:
			return nil, as("open", s.o.err)
		case s.at < len(s.o.bytes):
			return s.o.bytes[s.at:], nil
		case s.o.final:
			return nil, io.EOF
		}
		if err := s.node.wait(s.ctx, "open", id, "its bytes have not all arrived"); err != nil {
			return nil, err
		}
	}
}

// Read reads the bytes that have arrived.
func (s *stream) Read(p []byte) (int, error) {
	b, err := s.next()
	k := copy(p, b)
	s.at += k
	return k, err
}

// WriteTo writes all that comes.
func (s *stream) WriteTo(w io.Writer) (int64, error) {
	total := int64(0)
	for {
		b, err := s.next()
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
		k, err := w.Write(b)
		s.at += k
		total += int64(k)
		if err != nil {
			return total, err
		}
	}
}

// Info describes the object.
func (s *stream) Info() storenode.Info {
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	return s.o.info
}

// Close ends the reading.
func (s *stream) Close() error {
	s.leave()
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	s.closed = true
	s.node.changed.Broadcast()
	return nil
}
