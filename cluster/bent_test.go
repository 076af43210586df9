package cluster_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
)

// The frames of the data connections, as far as a bent link looks into them.
const (
	frameHeader = 20
	frameData   = 6
	frameWait   = 8
	roleStreams = 2 // the first byte of a hello
	roleBeats   = 3
)

// bent is a node's data port with somebody in between, who sees what the node
// sends to its receivers: who dials gets the frames that pass lets through,
// changed as it likes. Objects only: pass gets frames of connections for streams.
type bent struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	pass  func(s *bentStream, kind byte, payload []byte)
	sent  map[string]int64 // bytes of objects, by the name of the receiver
	lost  map[string]bool  // by who has dialled: what goes over its connections gets lost
	beats map[string]int   // connections for heartbeats that are open, by who has dialled
	conns map[net.Conn]bool
	done  bool
	wg    sync.WaitGroup
}

// bentStream is one connection.
type bentStream struct {
	to   string // the receiver's name
	data int    // data frames so far
}

// bend puts a bent link before the data port of the node that cfg is of, which
// listens on another address than it tells.
func bend(t testing.TB, cfg *cluster.Config) *bent {
	t.Helper()
	cfg.Advertise = "127.0.0.2"
	b := &bent{sent: map[string]int64{}, lost: map[string]bool{}, beats: map[string]int{}, conns: map[net.Conn]bool{}}
	cfg.DataPort = b.listen(t)
	cfg.ControlPort = plain(t)
	return b
}

func (b *bent) listen(t testing.TB) int {
	l, port := twoAddresses(t)
	b.listener, b.to = l, (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}).String()
	b.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.wg.Go(func() { b.carry(c) })
		}
	})
	t.Cleanup(b.close)
	return port
}

// twoAddresses listens on the second loopback address, on a port that is free on
// the first one too, where a node will listen. It is below those that connections
// are given.
func twoAddresses(t testing.TB) (net.Listener, int) {
	t.Helper()
	var err error
	for range 100 {
		port := 20_000 + rand.IntN(10_000)
		var first, second net.Listener
		if first, err = net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err != nil {
			continue
		}
		_ = first.Close()
		if second, err = net.Listen("tcp", fmt.Sprint("127.0.0.2:", port)); err == nil {
			return second, port
		}
	}
	t.Skipf("this machine has no second loopback address: %v", err)
	return nil, 0
}

// plain forwards a control port.
func plain(t testing.TB) int { return (&bent{conns: map[net.Conn]bool{}}).listen(t) }

func (b *bent) close() {
	_ = b.listener.Close()
	b.mu.Lock()
	b.done = true
	for c := range b.conns {
		_ = c.Close()
	}
	b.mu.Unlock()
	b.wg.Wait()
}

func (b *bent) hold(c net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		_ = c.Close()
		return false
	}
	b.conns[c] = true
	return true
}

func (b *bent) drop(c net.Conn) {
	_ = c.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.conns, c)
}

// set changes what happens to frames from now on; nil lets them through.
func (b *bent) set(pass func(s *bentStream, kind byte, payload []byte)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass = pass
}

// lose has everything get lost that goes over connections which the named node has
// dialled, or dials from now on.
func (b *bent) lose(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost[name] = true
}

// mend has nothing get lost any more. Connections break, since something is missing.
func (b *bent) mend() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.lost)
	for c := range b.conns {
		_ = c.Close()
	}
}

func (b *bent) loses(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost[name]
}

// copy copies until the connection ends; that of a link that loses everything does not.
func (b *bent) copy(to io.Writer, from io.Reader, name string) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if b.loses(name) {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (b *bent) beat(from string, by int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.beats[from] += by
}

// watchedBy reports whether the named node has a connection open for heartbeats to this one.
func (b *bent) watchedBy(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.beats[name] > 0
}

func (b *bent) bytesTo(name string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sent[name]
}

func (b *bent) carry(in net.Conn) {
	if !b.hold(in) {
		return
	}
	defer b.drop(in)
	out, err := net.Dial("tcp", b.to)
	if err != nil || !b.hold(out) {
		return
	}
	defer b.drop(out)
	_ = out.(*net.TCPConn).SetReadBuffer(64 << 10) // so that a slow link is slow for the sender
	if b.sent == nil {
		b.wg.Go(func() { _, _ = io.Copy(out, in); _ = out.Close() })
		_, _ = io.Copy(in, out)
		return
	}
	hello, err := frame(in, nil)
	if err != nil {
		return
	}
	s := &bentStream{to: sender(hello[frameHeader:])}
	if b.loses(s.to) {
		_, _ = io.Copy(io.Discard, in)
		return
	}
	if _, err := out.Write(hello); err != nil {
		return
	}
	b.wg.Go(func() { b.copy(out, in, s.to); _ = out.Close() })
	if hello[frameHeader] == roleBeats {
		b.beat(s.to, 1)
		defer b.beat(s.to, -1)
	}
	if hello[frameHeader] != roleStreams {
		b.copy(in, out, s.to)
		return
	}
	for buf := hello; ; {
		if buf, err = frame(out, buf); err != nil {
			return
		}
		kind := buf[3]
		b.mu.Lock()
		pass := b.pass
		b.mu.Unlock()
		if kind == frameData {
			s.data++
		}
		if pass != nil {
			pass(s, kind, buf[frameHeader:])
		}
		if _, err := in.Write(buf); err != nil {
			return
		}
		if kind == frameData {
			b.mu.Lock()
			b.sent[s.to] += int64(len(buf) - frameHeader)
			b.mu.Unlock()
		}
	}
}

// frame reads one whole frame.
func frame(r io.Reader, buf []byte) ([]byte, error) {
	if cap(buf) < frameHeader {
		buf = make([]byte, frameHeader)
	}
	buf = buf[:frameHeader]
	if _, err := io.ReadFull(r, buf); err != nil {
		return nil, err
	}
	n := frameHeader + int(binary.LittleEndian.Uint64(buf[4:]))
	if cap(buf) < n {
		buf = append(make([]byte, 0, n), buf...)
	}
	buf = buf[:n]
	_, err := io.ReadFull(r, buf[frameHeader:])
	return buf, err
}

// sender returns the name in a hello: of the node that dials.
func sender(hello []byte) string {
	p := hello[17:] // behind the role, the features and the view
	for range 2 {
		n, k := binary.Uvarint(p)
		name := p[k : k+int(n)]
		if i := bytes.IndexByte(name, '#'); i >= 0 {
			return string(name[:i])
		}
		p = p[k+int(n):]
	}
	return ""
}

// slowly returns what makes a link slow: each frame of data takes a while, until free is closed.
// The link never stands still as a stalled one does.
func slowly(free <-chan struct{}) func(*bentStream, byte, []byte) {
	return func(_ *bentStream, kind byte, _ []byte) {
		if kind == frameData {
			linger(50*time.Millisecond, free)
		}
	}
}

// linger is the time that a frame takes on a slow link, unless free is closed.
func linger(d time.Duration, free <-chan struct{}) {
	select {
	case <-time.After(d):
	case <-free:
	}
}

// startBent starts nodes of which those named have bent links.
func startBent(t testing.TB, k int, names ...string) ([]*cluster.Node, map[string]*bent) {
	t.Helper()
	links := map[string]*bent{}
	nodes := start(t, k, func(cfg *cluster.Config) {
		for _, n := range names {
			if cfg.Name == n {
				links[n] = bend(t, cfg)
			}
		}
	})
	return nodes, links
}

// got is what a Get brought.
type got struct {
	bytes []byte
	err   error
}

// getting begins a Get and returns where its end is told.
func getting(ctx context.Context, n *cluster.Node, id phalanx.ObjectID) <-chan got {
	c := make(chan got, 1)
	go func() {
		v, err := n.Get(ctx, id)
		if err != nil {
			c <- got{nil, err}
			return
		}
		defer v.Release()
		c <- got{bytes.Clone(v.Bytes()), nil}
	}()
	return c
}

// brings waits for a Get that has to bring data.
func brings(t testing.TB, what string, c <-chan got, data []byte) {
	t.Helper()
	g := <-c
	if g.err != nil {
		t.Fatalf("%s: %v", what, g.err)
	}
	if !bytes.Equal(g.bytes, data) {
		t.Fatalf("%s got other bytes", what)
	}
}
