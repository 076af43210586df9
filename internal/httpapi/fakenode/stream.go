package fakenode

import (
	"context"
	"io"

	"github.com/phalanx-go/phalanx/storenode"
)

// stream reads an object that may still be written.
type stream struct {
	node  *Node
	ctx   context.Context // as storenode.Reader has one
	o     *object
	at    int
	leave func() bool
}

// next returns bytes that were not read, and waits for some.
func (s *stream) next() ([]byte, error) {
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	for {
		switch {
		case s.o.err != nil:
			return nil, s.o.err
		case s.at < len(s.o.bytes):
			return s.o.bytes[s.at:], nil
		case s.o.final:
			return nil, io.EOF
		case s.ctx.Err() != nil:
			return nil, s.ctx.Err()
		}
		s.node.changed.Wait()
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
	return nil
}
