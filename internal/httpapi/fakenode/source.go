package fakenode

import (
	"bytes"
	"io"
)

// source reads a reader beside the call that puts it: a read may block for as long as it likes.
type source struct {
	chunks <-chan chunk
	done   chan struct{}
}

type chunk struct {
	data []byte
	err  error
}

func newSource(r io.Reader) *source {
	s := &source{done: make(chan struct{})}
	s.from(r)
	return s
}

// from begins to read r.
func (s *source) from(r io.Reader) {
	chunks := make(chan chunk)
	s.chunks = chunks
	go func() {
		for {
			b := make([]byte, 64<<10)
			k, err := r.Read(b)
			select {
			case chunks <- chunk{b[:k], err}:
			case <-s.done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
}

// rewind has the bytes of a reader that was read to its end come again.
func (s *source) rewind(data []byte) { s.from(bytes.NewReader(data)) }

// close ends the reading, but for a read that blocks.
func (s *source) close() { close(s.done) }
