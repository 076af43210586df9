package dataplane

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

type note struct {
	from phalanx.NodeID
	text string
}

// inbox keeps messages and breaks for a test.
type inbox struct {
	messages chan note
	broken   chan error
}

func newInbox() *inbox {
	return &inbox{messages: make(chan note, 100_000), broken: make(chan error, 100)}
}

func (i *inbox) listen(c *Config) {
	c.OnMessage = func(from phalanx.NodeID, p []byte) { i.messages <- note{from, string(p)} }
	c.OnBroken = func(n phalanx.NodeID, err error) { i.broken <- err }
}

func receive[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-deadline(t).Done():
		t.Fatal("nothing came")
	}
	return v
}

func TestMessagesComeInOrder(t *testing.T) {
	var w town
	in := newInbox()
	w.node(t, "b#1", in.listen)
	a := w.node(t, "a#1", nil)
	sizes := []int{0, 1, 100, MaxMessage, 70_000}
	const n = 2000
	for i := range n {
		text := strings.Repeat(string(rune('a'+i%26)), 1+i%50)
		if i < len(sizes) {
			text = strings.Repeat("x", sizes[i])
		}
		if err := a.Post("b#1", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		m := receive(t, in.messages)
		want := strings.Repeat(string(rune('a'+i%26)), 1+i%50)
		if i < len(sizes) {
			want = strings.Repeat("x", sizes[i])
		}
		if m.from != "a#1" || m.text != want {
			t.Fatalf("message %d from %s has %d bytes, want %d", i, m.from, len(m.text), len(want))
		}
	}
	if s := a.Stats(); len(s) != 1 || s[0].Posted != n || s[0].Dropped != 0 {
		t.Fatalf("%+v", s)
	}
	if err := a.Post("b#1", make([]byte, MaxMessage+1)); !errors.Is(err, phalanx.ErrInvalid) {
		t.Fatalf("%v", err)
	}
}

func TestPostNeverWaits(t *testing.T) {
	var w town
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, in the kernel, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	w.set("b#1", silent.Addr().String())
	a := w.node(t, "a#1", func(c *Config) { c.MaxQueue = 1000 })
	for range 9 {
		if err := a.Post("b#1", make([]byte, 80)); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		var e *phalanx.Error
		if err := a.Post("b#1", make([]byte, 180)); !errors.As(err, &e) || e.Kind != phalanx.ErrUnavailable || e.Node != "b#1" {
			t.Fatalf("%v", err)
		}
	}
	if s := a.Stats()[0]; s.Posted != 9 || s.Dropped != 5 {
		t.Fatalf("%+v", s)
	}
}

func TestUnreachablePeers(t *testing.T) {
	var w town
	in := newInbox()
	a := w.node(t, "a#1", in.listen)
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.set("b#1", gone.Addr().String())
	gone.Close()
	if err := a.Post("b#1", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, in.broken); !errors.Is(err, syscall.ECONNREFUSED) || !errors.Is(err, phalanx.ErrUnavailable) {
		t.Fatalf("%v", err)
	}
	if _, err := a.Open(deadline(t), "b#1", request); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("%v", err)
	}
	if _, err := a.Open(deadline(t), "nobody#1", request); !errors.Is(err, phalanx.ErrUnavailable) || !strings.Contains(err.Error(), "nobody#1") {
		t.Fatalf("%v", err)
	}
}

func TestHelloIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*Config)
		to   phalanx.NodeID
		kind phalanx.Kind
		text string
	}{
		"another incarnation": {nil, "b#1", phalanx.ErrClosed, "node b#1 does not run here any more, this is b#2"},
		"another cluster":     {func(c *Config) { c.Cluster = "other" }, "b#2", phalanx.ErrRefused, `this is cluster "other"`},
		"a removed peer": {func(c *Config) {
			c.Admit = func(from phalanx.NodeID, view uint64) error {
				return &phalanx.Error{Node: from, Kind: phalanx.ErrFenced, Err: errors.New("it was removed")}
			}
		}, "b#2", phalanx.ErrFenced, "it was removed"},
	} {
		t.Run(name, func(t *testing.T) {
			var w town
			b := w.node(t, "b#2", c.set)
			w.set(c.to, b.Addr().String())
			in := newInbox()
			a := w.node(t, "a#1", in.listen)
			_, open := a.Open(deadline(t), c.to, request)
			_ = a.Post(c.to, nil)
			for _, err := range []error{open, receive(t, in.broken)} {
				var e *phalanx.Error
				if !errors.As(err, &e) || e.Kind != c.kind || e.Node != c.to || !strings.Contains(err.Error(), c.text) {
					t.Fatalf("%v", err)
				}
			}
		})
	}
}

// TestBadPeersHarmNobody: the node serves others, whatever a stranger does.
func TestBadPeersHarmNobody(t *testing.T) {
	var w town
	in := newInbox()
	b := w.node(t, "b#1", func(c *Config) {
		in.listen(c)
		c.HelloTimeout = 20 * time.Millisecond
	})
	hi := appendFrame(nil, kindHello, hello{role: roleMessages, cluster: "test", from: "z#1", to: "b#1"}.append(nil))
	broken := appendFrame(nil, kindHello, []byte("not a hello"))
	flipped := appendFrame(nil, kindMessage, []byte("hello"))
	flipped[len(flipped)-1] ^= 1
	bad := map[string][]byte{
		"closes":                nil,
		"closes in the hello":   hi[:10],
		"malformed hello":       broken,
		"no hello":              appendFrame(nil, kindMessage, nil),
		"data among messages":   append(bytes.Clone(hi), appendHeader(nil, kindData, 1, 0)...),
		"flipped message":       append(bytes.Clone(hi), flipped...),
		"closes in the message": append(bytes.Clone(hi), flipped[:22]...),
	}
	for name, h := range badHeaders() {
		bad["first: "+name] = h
		bad["later: "+name] = append(bytes.Clone(hi), h...)
	}
	for name, p := range bad {
		conn, err := net.Dial("tcp", b.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write(p)
		_ = conn.(*net.TCPConn).CloseWrite()
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection stays open", name)
		}
		conn.Close()
	}
	silent, err := net.Dial("tcp", b.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	_ = silent.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := silent.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatalf("a silent peer: %v", err)
	}
	if err := w.node(t, "a#1", nil).Post("b#1", []byte("good")); err != nil {
		t.Fatal(err)
	}
	if m := receive(t, in.messages); m.text != "good" {
		t.Fatalf("%+v", m)
	}
	for range len(in.broken) {
		var e *phalanx.Error
		if err := <-in.broken; !errors.As(err, &e) || e.Node != "z#1" {
			t.Errorf("%v does not name the peer", err)
		}
	}
}

func TestClosePeerAndComeBack(t *testing.T) {
	var w town
	in, out := newInbox(), newInbox()
	w.node(t, "b#1", in.listen)
	a := w.node(t, "a#1", out.listen)
	for _, text := range []string{"one", "two"} {
		if err := a.Post("b#1", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if m := receive(t, in.messages); m.text != text {
			t.Fatalf("%+v", m)
		}
		a.ClosePeer("b#1")
		if err := receive(t, in.broken); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("%v", err)
		}
	}
	if len(out.broken) != 0 {
		t.Fatalf("who closes is told: %v", <-out.broken)
	}
}

func TestCloseTellsPeersAndEndsEverything(t *testing.T) {
	var w town
	in := newInbox()
	came := newInbox()
	b := w.node(t, "b#1", came.listen)
	a := w.node(t, "a#1", in.listen)
	if err := a.Warm(deadline(t), "b#1"); err != nil {
		t.Fatal(err)
	}
	if err := a.Post("b#1", nil); err != nil {
		t.Fatal(err)
	}
	receive(t, came.messages)
	for range 2 {
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	receive(t, in.broken)
	if err := b.Post("a#1", nil); !errors.Is(err, phalanx.ErrClosed) {
		t.Fatalf("%v", err)
	}
}

func TestBadConfig(t *testing.T) {
	lookup := func(phalanx.NodeID) (string, bool) { return "", false }
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, c := range map[string]Config{
		"no name":       {Lookup: lookup},
		"no lookup":     {Self: "a#1"},
		"negative time": {Self: "a#1", Lookup: lookup, Stall: -1},
		"port in use":   {Self: "a#1", Lookup: lookup, Bind: taken.Addr().String()},
	} {
		if _, err := New(c); !errors.Is(err, phalanx.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMessagesAllocateNothing: posting and receiving, once warm.
func TestMessagesAllocateNothing(t *testing.T) {
	var w town
	var echo *Conns
	back := make(chan struct{}, 1)
	echo = w.node(t, "b#1", func(c *Config) { c.OnMessage = func(n phalanx.NodeID, p []byte) { _ = echo.Post(n, p) } })
	var got atomic.Int64
	a := w.node(t, "a#1", func(c *Config) {
		c.OnMessage = func(phalanx.NodeID, []byte) { got.Add(1); back <- struct{}{} }
	})
	p := make([]byte, 100)
	if n := testing.AllocsPerRun(500, func() { _ = a.Post("b#1", p); <-back }); n > 0.5 {
		t.Errorf("%v allocations per message and answer", n)
	}
	if got.Load() != 501 {
		t.Errorf("%d answers", got.Load())
	}
}

// A stream from a peer that is suspected, and takes no connection, fails soon: another peer may have the
// same bytes. Others have the whole time.
func TestStreamFromASuspectedPeer(t *testing.T) {
	var w town
	w.node(t, "b#1", nil)
	a := w.node(t, "a#1", func(c *Config) {
		c.Dial = func(ctx context.Context, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
		c.DialTimeout, c.SuspectTimeout = time.Hour, time.Millisecond
		c.Suspects = func(id phalanx.NodeID) bool { return id == "b#1" }
	})
	ctx := deadline(t)
	if _, err := a.Open(ctx, "b#1", Request{Kind: Object, Object: "x"}); err == nil || ctx.Err() != nil {
		t.Errorf("%v, %v", err, ctx.Err())
	}
}
