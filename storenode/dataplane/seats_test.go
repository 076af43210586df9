package dataplane

import (
	"errors"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// until waits until a condition holds.
var until = poll.Until

// running counts the streams that a node serves at a time.
type running struct{ now, most atomic.Int64 }

func (r *running) begin() (end func()) {
	n := r.now.Add(1)
	for most := r.most.Load(); n > most && !r.most.CompareAndSwap(most, n); most = r.most.Load() {
	}
	return func() { r.now.Add(-1) }
}

// asks opens a stream, and returns its end if that comes within a moment; nil if bytes come.
func asks(t testing.TB, c *Conns, to phalanx.NodeID) (*Stream, error) {
	t.Helper()
	s, err := c.Open(deadline(t), to, request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	_, err = s.Read(make([]byte, 1))
	return s, err
}

// smallBuffers makes the kernel hold few unread bytes.
type smallBuffers struct{ net.Listener }

func (l smallBuffers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return c, c.(*net.TCPConn).SetWriteBuffer(64 << 10)
}

func isBusy(err error) bool {
	var e *Ended
	return errors.As(err, &e) && e.Reason == Busy && e.Kind == phalanx.ErrUnavailable
}

// impatient lets a node ask for more streams than others give it.
func impatient(c *Config) { c.MaxStreams = 100_000 }

// Streams of objects from one peer take turns: the peer turns none away.
func TestStreamsTakeTurns(t *testing.T) {
	var w town
	src := filled(t, pool(t, 64*mb), random(mb))
	var streams running
	few := func(c *Config) { c.MaxStreams, c.TurnWait = 8, time.Hour }
	b := w.node(t, "b#1", func(c *Config) {
		few(c)
		c.OnStream = func(_ phalanx.NodeID, r Request, out *Writer) {
			defer streams.begin()()
			_ = out.SendBuffer(out.Context(), src, r.Offset, SendOptions{})
		}
	})
	a := w.node(t, "a#1", few)
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			s, err := a.Open(deadline(t), "b#1", request)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if _, err := io.Copy(io.Discard, s); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n, busy := streams.most.Load(), b.TurnedAway(); n < 2 || busy > 0 {
		t.Errorf("%d streams at most at a time, %d were turned away", n, busy)
	}
}

// A peer's unread streams take no more than its seats, and end soon after WriteStall. The node
// turns further ones away at once, and counts them.
func TestUnreadStreamsAreFewAndEnd(t *testing.T) {
	const opened, stall = 300, 4 * time.Second
	var w town
	src := filled(t, pool(t, 64*mb), random(8*mb))
	var streams running
	b := w.node(t, "b#1", func(c *Config) {
		c.WriteStall = stall
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c.Listener = smallBuffers{l}
		c.OnStream = func(_ phalanx.NodeID, r Request, out *Writer) {
			defer streams.begin()()
			_ = out.SendBuffer(out.Context(), src, r.Offset, SendOptions{})
		}
	})
	a := w.node(t, "a#1", impatient)
	before := runtime.NumGoroutine()
	var unread []*Stream
	for range opened {
		s, err := a.Open(deadline(t), "b#1", request)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		unread = append(unread, s)
	}
	until(t, "the rest are turned away", func() bool { return b.TurnedAway() == opened-DefaultStreams })
	if n := runtime.NumGoroutine() - before; n > DefaultStreams+idleShare*4+16 {
		t.Errorf("%d goroutines more than before for %d streams", n, opened)
	}
	began := time.Now()
	busy := 0
	for _, s := range unread[DefaultStreams:] {
		if _, err := s.Read(make([]byte, 1)); isBusy(err) {
			busy++
		}
	}
	if took := time.Since(began); busy < opened-DefaultStreams-10 || took > time.Second {
		t.Errorf("%d streams were told within %v that the node is busy", busy, took)
	}
	until(t, "no stream is left", func() bool { return streams.now.Load() == 0 })
	if took := time.Since(began); took > stall*5/4+2*time.Second {
		t.Errorf("streams that nobody reads ended after %v", took)
	}
	if sent, _ := b.Traffic(); sent > DefaultStreams*8*mb {
		t.Errorf("%d bytes were sent to somebody who reads nothing", sent)
	}
	if n := streams.most.Load(); n > DefaultStreams {
		t.Errorf("%d streams ran at a time", n)
	}
	for _, s := range unread {
		s.Close()
	}
	until(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before+idleShare*4 })
	if _, err := asks(t, a, "b#1"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A peer has its own seats, wherever it connects from. The end of a stream frees its seat.
func TestSeatsBelongToANode(t *testing.T) {
	var w town
	src := filled(t, pool(t, 64*mb), random(16*mb))
	b := w.node(t, "b#1", func(c *Config) { c.MaxStreams = 2; serve(src)(c) })
	first, second := w.node(t, "a#1", impatient), w.node(t, "a#1", impatient) // of one name
	one, err := asks(t, first, "b#1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := asks(t, second, "b#1"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Conns{first, second} {
		if _, err := asks(t, c, "b#1"); !isBusy(err) {
			t.Errorf("a third stream: %v", err)
		}
	}
	for range 2 {
		if _, err := asks(t, w.node(t, phalanx.NodeID("other#1"), nil), "b#1"); err != nil {
			t.Errorf("another node: %v", err)
		}
	}
	if n := b.TurnedAway(); n != 2 {
		t.Errorf("%d were counted", n)
	}
	one.Close()
	until(t, "the seat is free", func() bool { _, err := asks(t, second, "b#1"); return err == nil })
}

// A stream that has had nothing to send for a while yields its seat to one that was turned away.
func TestAWaitingStreamYields(t *testing.T) {
	var w town
	p := pool(t, 64*mb)
	slow, full := buffer(t, p, mb), filled(t, p, random(mb))
	w.node(t, "b#1", func(c *Config) {
		c.MaxStreams, c.WaitEvery = 1, 50*time.Millisecond
		c.OnStream = func(_ phalanx.NodeID, r Request, out *Writer) {
			src := full
			if r.Object == "slow" {
				src = slow
			}
			_ = out.SendBuffer(out.Context(), src, r.Offset, SendOptions{})
		}
	})
	a := w.node(t, "a#1", nil)
	waits := request
	waits.Object = "slow"
	s, err := a.Open(deadline(t), "b#1", waits)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	end, waiting := make(chan error, 1), make(chan struct{}, 1000)
	s.OnWait(func([]phalanx.NodeID) { waiting <- struct{}{} })
	go func() {
		_, err := s.Read(make([]byte, 1))
		end <- err
	}()
	receive(t, waiting)
	until(t, "the other stream has its turn", func() bool { _, err := asks(t, a, "b#1"); return err == nil })
	if err := receive(t, end); !isBusy(err) {
		t.Errorf("the stream that waited: %v", err)
	}
}

// The streams of places that a node runs take no seat from each other or from objects.
func TestPlacesTakeNoSeat(t *testing.T) {
	var w town
	src := filled(t, pool(t, 64*mb), random(16*mb))
	w.node(t, "b#1", func(c *Config) {
		c.MaxStreams = 1
		c.OnStream = func(_ phalanx.NodeID, r Request, out *Writer) {
			switch {
			case r.Kind == Place && r.Place > 0: // not known here
				if !out.Seat() {
					_ = out.TurnAway()
					return
				}
			case r.Kind == Place:
				out.Stand()
			}
			_ = out.SendBuffer(out.Context(), src, r.Offset, SendOptions{})
		}
	})
	a := w.node(t, "a#1", nil)
	place := Request{Kind: Place, Object: "sum"}
	open := func(r Request) error {
		s, err := a.Open(deadline(t), "b#1", r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		_, err = s.Read(make([]byte, 1))
		return err
	}
	for range 20 {
		if err := open(place); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(request); err != nil {
		t.Errorf("an object: %v", err)
	}
	place.Place = 1
	if err := open(place); !isBusy(err) {
		t.Errorf("an unknown place: %v", err)
	}
}

// greets connects as node from, and returns the answer to its hello.
func greets(t testing.TB, to *Conns, from phalanx.NodeID) (net.Conn, error) {
	t.Helper()
	conn, err := net.Dial("tcp", to.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	h := hello{role: roleStreams, cluster: "test", from: from, to: to.cfg.Self}
	if _, err := conn.Write(appendFrame(nil, kindHello, h.append(nil))); err != nil {
		return conn, err
	}
	frames := newFrameReader(conn, streamBuffer)
	head, err := frames.next()
	if err != nil {
		return conn, err
	}
	p, err := frames.payload(head)
	if err != nil || head.kind == kindHelloOK {
		return conn, err
	}
	kind, text, err := parseFault(head.kind, p)
	if err != nil {
		return conn, err
	}
	return conn, &phalanx.Error{Kind: kind, Err: errors.New(text)}
}

// Silent connections are few: the oldest makes room, and a member comes through.
func TestSilentConnectionsMakeRoom(t *testing.T) {
	var w town
	src := filled(t, pool(t, 64*mb), random(1000))
	b := w.node(t, "b#1", func(c *Config) { c.MaxHellos, c.HelloTimeout = 4, time.Hour; serve(src)(c) })
	var closed atomic.Int64
	var reads sync.WaitGroup
	defer reads.Wait()
	for range 40 {
		conn, err := net.Dial("tcp", b.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		reads.Go(func() {
			_, _ = conn.Read(make([]byte, 1))
			closed.Add(1)
		})
	}
	until(t, "all but four are closed", func() bool { return closed.Load() == 36 })
	if _, err := asks(t, w.node(t, "a#1", nil), "b#1"); err != nil {
		t.Errorf("a member: %v", err)
	}
	until(t, "the oldest has made room", func() bool { return closed.Load() == 37 })
}

// Nodes that are no members share a few connections. The node forgets them with these.
func TestStrangersLeaveRoomForMembers(t *testing.T) {
	var w town
	src := filled(t, pool(t, 64*mb), random(1000))
	b := w.node(t, "b#1", func(c *Config) { c.MaxStrangers = 3; serve(src)(c) })
	var open []net.Conn
	for i := range 3 {
		conn, err := greets(t, b, phalanx.NodeID("z"+string(rune('0'+i))+"#1"))
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
	}
	if _, err := greets(t, b, "z9#1"); !errors.Is(err, phalanx.ErrUnavailable) || !strings.Contains(err.Error(), "no such member") {
		t.Errorf("one more: %v", err)
	}
	if _, err := asks(t, w.node(t, "a#1", nil), "b#1"); err != nil {
		t.Errorf("a member: %v", err)
	}
	w.set("z0#1", "127.0.0.1:1") // it joins
	if _, err := greets(t, b, "z9#1"); err != nil {
		t.Errorf("one more, when one of them is a member: %v", err)
	}
	for _, conn := range open {
		conn.Close()
	}
	until(t, "strangers are forgotten", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.peers["z1#1"] == nil && b.peers["z2#1"] == nil && b.peers["z0#1"] != nil
	})
	if _, err := greets(t, b, "z8#1"); err != nil {
		t.Errorf("when they have gone: %v", err)
	}
}

// BenchmarkOpen opens a short stream on a new connection, beside the streams of twenty peers.
func BenchmarkOpen(b *testing.B) {
	for _, others := range []int{20, 1000} {
		b.Run(strconv.Itoa(others), func(b *testing.B) {
			var w town
			p := pool(b, 64*mb)
			waits, src := buffer(b, p, mb), filled(b, p, random(1000))
			w.node(b, "b#1", func(c *Config) {
				c.WaitEvery = time.Hour
				c.OnStream = func(_ phalanx.NodeID, r Request, out *Writer) {
					from := src
					if r.Object == "waits" {
						from = waits
					}
					_ = out.SendBuffer(out.Context(), from, r.Offset, SendOptions{})
				}
			})
			slow := request
			slow.Object = "waits"
			var wg sync.WaitGroup
			for i := range 20 {
				c := w.node(b, phalanx.NodeID("a"+string(rune('a'+i))+"#1"), nil)
				for range others / 20 {
					wg.Go(func() {
						s, err := c.Open(deadline(b), "b#1", slow)
						if err != nil {
							b.Error(err)
							return
						}
						b.Cleanup(s.Close)
					})
				}
			}
			wg.Wait()
			c := w.node(b, "c#1", func(c *Config) { c.MaxIdle = 1 })
			for b.Loop() {
				c.ClosePeer("b#1") // each stream on a connection of its own
				s, err := c.Open(b.Context(), "b#1", request)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Read(make([]byte, 1000)); err != nil {
					b.Fatal(err)
				}
				s.Close()
			}
		})
	}
}
