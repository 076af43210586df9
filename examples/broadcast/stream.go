package main

import (
	"context"
	"io"
	"math/rand/v2"
)

// stream is a source of bytes that come little by little: a Read waits until
// there are more.
type stream struct {
	ctx  context.Context // of the one Put that reads it
	more chan int64      // how many there are in all
	rng  *rand.ChaCha8
	size int64
	at   int64
	end  int64
}

func newStream(ctx context.Context, size int64) *stream {
	return &stream{ctx: ctx, size: size, more: make(chan int64, 1), rng: rand.NewChaCha8([32]byte{1})}
}

// write makes n bytes in all available. It never waits.
func (s *stream) write(n int64) {
	select {
	case <-s.more: // nobody has taken the last one yet
	default:
	}
	s.more <- n
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	for s.at == s.end {
		if s.at == s.size {
			return 0, io.EOF
		}
		select {
		case n := <-s.more:
			s.end = max(s.end, n)
		case <-s.ctx.Done():
			return 0, s.ctx.Err()
		}
	}
	n, err := s.rng.Read(p[:min(int64(len(p)), s.end-s.at)])
	s.at += int64(n)
	return n, err
}
