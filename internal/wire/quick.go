//go:build linux && !race

package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// conn is a TCP connection with quicker calls.
type conn struct {
	*net.TCPConn
	raw syscall.RawConn

	reading sync.Mutex
	in      []byte
	got     int
	inErr   syscall.Errno
	try     func(fd uintptr) bool // reads

	writing sync.Mutex
	out     [2][]byte // bytes left to write
	vec     [2]syscall.Iovec
	outErr  syscall.Errno
	push    func(fd uintptr) bool // writes
}

// Quick returns c with quicker calls, if it can have them.
func Quick(c net.Conn) net.Conn {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return c
	}
	q := &conn{TCPConn: tcp, raw: raw}
	q.try, q.push = q.tryRead, q.tryWrite
	return q
}

// Read is net.Conn's.
func (c *conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	c.in, c.got, c.inErr = p, 0, 0
	err := c.raw.Read(c.try)
	c.in = nil
	switch {
	case err != nil:
		return 0, c.failed("read", err)
	case c.inErr != 0:
		return 0, c.failed("read", os.NewSyscallError("read", c.inErr))
	case c.got == 0:
		return 0, io.EOF
	}
	return c.got, nil
}

func (c *conn) tryRead(fd uintptr) bool {
	for {
		n, _, e := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&c.in[0])), uintptr(len(c.in)))
		switch e {
		case 0:
			c.got = int(n)
			return true
		case syscall.EAGAIN:
			return false
		case syscall.EINTR:
		default:
			c.inErr = e
			return true
		}
	}
}

// Write is net.Conn's.
func (c *conn) Write(p []byte) (int, error) { return c.write(p, nil) }

// write writes two parts, with one call where that is enough.
func (c *conn) write(head, body []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.out, c.outErr = [2][]byte{head, body}, 0
	err := c.raw.Write(c.push)
	n := len(head) + len(body) - len(c.out[0]) - len(c.out[1])
	c.out, c.vec = [2][]byte{}, [2]syscall.Iovec{}
	switch {
	case err != nil:
		return n, c.failed("write", err)
	case c.outErr != 0:
		return n, c.failed("write", os.NewSyscallError("writev", c.outErr))
	}
	return n, nil
}

func (c *conn) tryWrite(fd uintptr) bool {
	for {
		parts := 0
		for _, p := range c.out {
			if len(p) > 0 {
				c.vec[parts].Base = &p[0]
				c.vec[parts].SetLen(len(p))
				parts++
			}
		}
		if parts == 0 {
			return true
		}
		n, _, e := syscall.RawSyscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&c.vec[0])), uintptr(parts))
		switch e {
		case 0:
			for i, p := range c.out {
				k := min(int(n), len(p))
				c.out[i] = p[k:]
				n -= uintptr(k)
			}
		case syscall.EAGAIN:
			return false
		case syscall.EINTR:
		default:
			c.outErr = e
			return true
		}
	}
}

// failed is the error as net would have it.
func (c *conn) failed(op string, err error) error {
	var e *net.OpError
	if errors.As(err, &e) {
		err = e.Err
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// Write writes head and then body to c, with one system call where it can.
func (w *Writer) Write(c net.Conn, head, body []byte) error {
	if q, ok := c.(*conn); ok {
		_, err := q.write(head, body)
		return err
	}
	return w.plain(c, head, body)
}
