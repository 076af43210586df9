package dataplane

import (
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// frameReader reads frames from a connection. Headers and control payloads pass through a small
// buffer; data goes directly to its destination.
type frameReader struct {
	conn    net.Conn
	buf     []byte
	r, w    int           // buf[r:w] was read ahead
	ahead   int           // how much to read at once; little if data follows
	silence time.Duration // a read fails after it; 0: never
	set     time.Time     // when the deadline was last moved
}

func newFrameReader(c net.Conn, size int) *frameReader {
	return &frameReader{conn: c, buf: make([]byte, size), ahead: size}
}

var errSilent = errors.New("the peer is silent")

func (f *frameReader) read(p []byte) (int, error) {
	if f.silence > 0 {
		// Moving a deadline costs more than looking at the clock.
		if now := time.Now(); now.Sub(f.set) > f.silence/8 {
			f.set = now
			if err := f.conn.SetReadDeadline(now.Add(f.silence + f.silence/8)); err != nil {
				return 0, err
			}
		}
	}
	n, err := f.conn.Read(p)
	if err != nil && n == 0 && f.silence > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		err = errSilent
	}
	return n, err
}

// watch makes reads fail after d of silence; 0: never.
func (f *frameReader) watch(d time.Duration) error {
	f.silence, f.set = d, time.Time{}
	if d == 0 {
		return f.conn.SetReadDeadline(time.Time{})
	}
	return nil
}

// next reads a header. At the end of the connection between two frames it
// returns io.EOF.
func (f *frameReader) next() (header, error) {
	p, err := f.peek(headerSize)
	if err != nil {
		return header{}, err
	}
	f.r += headerSize
	return parseHeader(p)
}

// payload reads and checks a control payload, which is valid until the next call.
func (f *frameReader) payload(h header) ([]byte, error) {
	p, err := f.peek(h.length)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	f.r += h.length
	return p, h.checkPayload(p)
}

// peek returns the next n bytes. The kind of the frame bounds n.
func (f *frameReader) peek(n int) ([]byte, error) {
	if f.r == f.w {
		f.r, f.w = 0, 0
		if len(f.buf) > keepBuffer && n <= keepBuffer {
			f.buf = make([]byte, keepBuffer)
		}
	}
	if f.r+n > len(f.buf) {
		to := f.buf
		if n > len(to) {
			to = make([]byte, max(n, f.ahead))
		}
		f.w = copy(to, f.buf[f.r:f.w])
		f.r, f.buf = 0, to
	}
	for f.w-f.r < n {
		end := min(len(f.buf), max(f.r+n, f.w+f.ahead))
		k, err := f.read(f.buf[f.w:end])
		f.w += k
		if f.w-f.r >= n {
			break
		}
		if err != nil {
			if errors.Is(err, io.EOF) && f.w > f.r {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return f.buf[f.r : f.r+n], nil
}

const keepBuffer = 256 << 10

// into reads some bytes of a data frame into p: first the bytes that came with its header, then
// bytes from the socket.
func (f *frameReader) into(p []byte) (int, error) {
	n := copy(p, f.buf[f.r:f.w])
	f.r += n
	if n == len(p) {
		return n, nil
	}
	k, err := f.read(p[n:])
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if n+k > 0 {
		err = nil // the next read returns it again
	}
	return n + k, err
}
