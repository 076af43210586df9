package wire_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/internal/wire"
)

// pair returns both ends of a TCP connection.
func pair(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if a, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close(); _ = b.Close() })
	return wire.Quick(a), wire.Quick(b)
}

// More goes through than the kernel has room for, in both parts of each write.
func TestBytesGoThrough(t *testing.T) {
	a, b := pair(t)
	head, body := bytes.Repeat([]byte("head"), 5), bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	const times = 32
	sent := make(chan error, 1)
	go func() {
		var err error
		for range times {
			err = errors.Join(err, new(wire.Writer).Write(a, head, body))
		}
		sent <- errors.Join(err, new(wire.Writer).Write(a, nil, nil), a.Close())
	}()
	got, err := io.ReadAll(struct{ io.Reader }{b})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, bytes.Repeat(append(bytes.Clone(head), body...), times)) {
		t.Fatalf("%d bytes came, other than were sent", len(got))
	}
}

// Errors are those that package net would give.
func TestErrors(t *testing.T) {
	a, b := pair(t)
	var p [1]byte
	_ = a.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if _, err := a.Read(p[:]); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read past its deadline: %v", err)
	}
	_ = a.SetReadDeadline(time.Time{})
	began := make(chan struct{})
	go func() { // the deadline passes when some bytes are through
		defer close(began)
		_, _ = a.Read(p[:])
		_ = b.SetWriteDeadline(time.Now())
	}()
	big := make([]byte, 64<<20)
	if n, err := b.Write(big); !errors.Is(err, os.ErrDeadlineExceeded) || n == 0 || n == len(big) {
		t.Errorf("a write past its deadline: %d bytes, %v", n, err)
	}
	<-began
	_ = a.(interface{ SetLinger(int) error }).SetLinger(0)
	_ = a.Close()
	if _, err := a.Read(p[:]); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a read after the end: %v", err)
	}
	if err := new(wire.Writer).Write(a, p[:], nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a write after the end: %v", err)
	}
	_ = b.SetDeadline(time.Time{})
	_, err := b.Read(p[:])
	var op *net.OpError
	if !errors.Is(err, syscall.ECONNRESET) || !errors.As(err, &op) || op.Op != "read" {
		t.Errorf("a read from a peer that has reset the connection: %v", err)
	}
}

// A closed peer is the end of the file.
func TestEnd(t *testing.T) {
	a, b := pair(t)
	_ = a.Close()
	if _, err := b.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}
