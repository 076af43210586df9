package dataplane

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

func open(t *testing.T, c *Conns, to phalanx.NodeID, offset, checked int64) *Stream {
	t.Helper()
	r := request
	r.Offset, r.Checked = offset, checked
	s, err := c.Open(deadline(t), to, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func equal(t *testing.T, b, want *Buffer) {
	t.Helper()
	got, ok := b.Digest()
	digest, _ := want.Digest()
	if !ok || got != digest || !bytes.Equal(b.Bytes(0, b.Size()), want.Bytes(0, want.Size())) {
		t.Fatalf("complete %v with digest %v, want %v", ok, got, digest)
	}
}

// dialer counts the connections a node makes, and may wrap them.
type dialer struct {
	n    atomic.Int64
	wrap func(net.Conn) net.Conn
}

func (d *dialer) set(c *Config) {
	c.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		d.n.Add(1)
		var nd net.Dialer
		conn, err := nd.DialContext(ctx, "tcp", addr)
		if err == nil && d.wrap != nil {
			conn = d.wrap(conn)
		}
		return conn, err
	}
}

func TestObjectsOfAllSizesOnOneConnection(t *testing.T) {
	var w town
	p := pool(t, 64*mb)
	data := random(5*mb + 3)
	sources := map[phalanx.ObjectID]*Buffer{}
	w.node(t, "b#1", func(c *Config) {
		c.OnStream = func(_ phalanx.NodeID, r Request, w *Writer) {
			_ = w.SendBuffer(w.Context(), sources[r.Object], r.Offset, SendOptions{})
		}
	})
	var d dialer
	a := w.node(t, "a#1", d.set)
	for _, size := range []int{0, 1, 1000, PieceSize, PieceSize + 1, MaxData, 3*MaxData + 17, len(data)} {
		id := phalanx.ObjectID(strings.Repeat("o", 1+len(sources)))
		sources[id] = filled(t, p, data[:size])
		for _, known := range []int64{int64(size), phalanx.UnknownSize} {
			b := buffer(t, p, known)
			r := request
			r.Object = id
			s, err := a.Open(deadline(t), "b#1", r)
			if err != nil {
				t.Fatal(err)
			}
			if end := s.ReceiveInto(b, Progress{}); end.Reason != Complete {
				t.Fatalf("%d bytes: %v", size, end)
			}
			s.Close()
			equal(t, b, sources[id])
		}
	}
	if d.n.Load() != 1 {
		t.Fatalf("%d connections for one stream after the other", d.n.Load())
	}
	st := a.Stats()[0]
	if st.Received < 2*uint64(len(data)) || a.Bandwidth("b#1") <= 0 || a.Bandwidth("x#1") != 0 {
		t.Fatalf("%+v", st)
	}
}

// TestChainForwardsWhileItReceives: four nodes each send their bytes on while the origin still
// writes; the first byte is at the end before the origin makes the last.
func TestChainForwardsWhileItReceives(t *testing.T) {
	for name, size := range map[string]int64{"known": 3*mb + 11, "unknown": phalanx.UnknownSize, "small": 40_000} {
		t.Run(name, func(t *testing.T) {
			var w town
			p := pool(t, 64*mb)
			want := random(3*mb + 11)
			if size > 0 {
				want = want[:size]
			}
			ids := []phalanx.NodeID{"n0#1", "n1#1", "n2#1", "n3#1"}
			bufs := make([]*Buffer, 4)
			nodes := make([]*Conns, 4)
			for i, id := range ids {
				bufs[i] = buffer(t, p, size)
				nodes[i] = w.node(t, id, serve(bufs[i]))
			}
			ends := make(chan *Ended, 3)
			for i := 1; i < 4; i++ {
				s := open(t, nodes[i], ids[i-1], 0, 0)
				go func() { ends <- s.ReceiveInto(bufs[i], Progress{}) }()
			}
			sub := bufs[3].Subscribe()
			defer sub.Close()
			half := len(want) / 2
			if _, err := bufs[0].Write(want[:half]); err != nil {
				t.Fatal(err)
			}
			for bufs[3].Arrived() < int64(half) {
				receive(t, sub.C)
			}
			if _, err := bufs[0].Write(want[half:]); err != nil {
				t.Fatal(err)
			}
			if err := bufs[0].Finish(int64(len(want))); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if end := receive(t, ends); end.Reason != Complete {
					t.Fatal(end)
				}
			}
			for _, b := range bufs[1:] {
				equal(t, b, bufs[0])
			}
		})
	}
}

// TestResumeSendsOnlyWhatIsMissing: the sender goes away, another one goes on.
func TestResumeSendsOnlyWhatIsMissing(t *testing.T) {
	var w town
	p := pool(t, 64*mb)
	src := filled(t, p, random(2*mb+5))
	half := buffer(t, p, src.Size())
	if _, err := half.Write(src.Bytes(0, mb+1000)); err != nil {
		t.Fatal(err)
	}
	first := w.node(t, "first#1", serve(half))
	w.node(t, "second#1", serve(src))
	a := w.node(t, "a#1", nil)
	b := buffer(t, p, src.Size())
	sub := b.Subscribe()
	s := open(t, a, "first#1", 0, 0)
	ends := make(chan *Ended, 1)
	go func() { ends <- s.ReceiveInto(b, Progress{}) }()
	for b.Arrived() < mb+1000 || b.Watermark() < mb {
		receive(t, sub.C)
	}
	_ = first.Close()
	if end := receive(t, ends); end.Reason != Broken || end.Node != "first#1" || !errors.Is(end, phalanx.ErrUnavailable) {
		t.Fatal(end)
	}
	if at := b.Resume(); at != mb {
		t.Fatalf("goes on at %d", at)
	}
	if end := open(t, a, "second#1", mb, 0).ReceiveInto(b, Progress{}); end.Reason != Complete {
		t.Fatal(end)
	}
	equal(t, b, src)
	for _, st := range a.Stats() {
		if st.Node == "second#1" && st.Received != mb+5 {
			t.Fatalf("%d bytes came again", st.Received-mb-5)
		}
	}
}

// flip is a connection that flips one bit of the bytes read.
type flip struct {
	net.Conn
	at int64 // of the bytes read
}

func (f *flip) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	if f.at >= 0 && f.at < int64(n) {
		p[f.at] ^= 0x10
	}
	f.at -= int64(n)
	return n, err
}

// TestFlippedBitIsNamed: wherever a bit flips in flight, the receiver takes nothing wrong.
func TestFlippedBitIsNamed(t *testing.T) {
	var w town
	p := pool(t, 64*mb)
	src := filled(t, p, random(mb))
	w.node(t, "b#1", serve(src))
	var at atomic.Int64
	d := dialer{wrap: func(c net.Conn) net.Conn { return &flip{Conn: c, at: at.Load()} }}
	a := w.node(t, "a#1", d.set)
	read := func(s *Stream) error {
		_, err := io.Copy(io.Discard, s)
		return err
	}
	for _, c := range []struct{ at, piece int64 }{{300, 0}, {190_000, 2}, {3*PieceSize + 2000, 3}, {mb - 1000, 15}} {
		at.Store(c.at)
		for name, get := range map[string]func(s *Stream) error{
			"buffer": func(s *Stream) error {
				b := buffer(t, p, mb)
				end := s.ReceiveInto(b, Progress{})
				if b.Resume() != c.piece*PieceSize {
					t.Errorf("%d bytes are held to be good", b.Watermark())
				}
				return end
			},
			"read": read,
		} {
			s := open(t, a, "b#1", 0, 0)
			err := get(s)
			s.Close()
			var end *Ended
			if !errors.As(err, &end) || end.Reason != Corrupt || end.Piece != c.piece || end.Node != "b#1" || !errors.Is(err, phalanx.ErrCorrupt) {
				t.Errorf("%s, byte %d: %v", name, c.at, err)
			}
		}
	}
	for headers := int64(70); headers < 250; headers += 7 { // in the hello, the checks, the header
		at.Store(headers)
		s, err := a.Open(deadline(t), "b#1", request)
		if err == nil {
			err = read(s)
			s.Close()
		}
		if err == nil {
			t.Errorf("byte %d: nothing was noticed", headers)
		}
	}
}

// TestBadPieceComesAgainChecked: the sender does not resend bytes before it has checked them.
func TestBadPieceComesAgainChecked(t *testing.T) {
	var w town
	p := pool(t, 64*mb)
	src := filled(t, p, random(2*PieceSize))
	var checks [2]Check
	src.checksFrom(0, checks[:])
	mid := buffer(t, p, src.Size())
	copy(mid.Space(2*PieceSize), src.Bytes(0, src.Size()))
	if err := mid.CommitRaw(2 * PieceSize); err != nil { // its checks are late
		t.Fatal(err)
	}
	waits := make(chan []phalanx.NodeID, 10)
	w.node(t, "b#1", func(c *Config) {
		c.WaitEvery = time.Millisecond
		c.OnStream = func(_ phalanx.NodeID, r Request, w *Writer) {
			_ = w.SendBuffer(w.Context(), mid, r.Offset, SendOptions{Checked: r.Checked,
				WaitPath: func() []phalanx.NodeID { return []phalanx.NodeID{"b#1", "origin#1"} }})
		}
	})
	b := buffer(t, p, src.Size())
	s := open(t, w.node(t, "a#1", nil), "b#1", 0, src.Size())
	ends := make(chan *Ended, 1)
	go func() {
		ends <- s.ReceiveInto(b, Progress{Wait: func(path []phalanx.NodeID) {
			select {
			case waits <- path:
			default:
			}
		}})
	}()
	if path := receive(t, waits); len(path) != 2 || path[1] != "origin#1" || b.Arrived() != 0 {
		t.Fatalf("%v, %d bytes", path, b.Arrived())
	}
	for i, c := range checks {
		if err := mid.SetCheck(int64(i), c); err != nil {
			t.Fatal(err)
		}
	}
	if end := receive(t, ends); end.Reason != Complete {
		t.Fatal(end)
	}
	equal(t, b, src)
}

func TestHowStreamsEnd(t *testing.T) {
	var w town
	p := pool(t, 64*mb)
	g := phalanx.Generation{Epoch: 2, Seq: 9}
	failed := buffer(t, p, 100)
	failed.Fail(&phalanx.Error{Kind: phalanx.ErrAborted, Err: errors.New("the creator gave up")})
	reset := buffer(t, p, 100)
	reset.Fail(&Ended{Reason: Reset, Generation: g, Kind: phalanx.ErrReset})
	longer, stuck := filled(t, p, random(200)), buffer(t, p, 100)
	handlers := map[phalanx.ObjectID]func(w *Writer){
		"busy":    func(w *Writer) { _ = w.Busy() },
		"reset":   func(w *Writer) { _ = w.Reset(g) },
		"gone":    func(w *Writer) { _ = w.Gone(phalanx.ErrDeleted, "the object was deleted") },
		"failed":  func(w *Writer) { _ = w.SendBuffer(w.Context(), failed, 0, SendOptions{}) },
		"renewed": func(w *Writer) { _ = w.SendBuffer(w.Context(), reset, 0, SendOptions{}) },
		"nothing": func(*Writer) {},
		"longer":  func(w *Writer) { _ = w.SendBuffer(w.Context(), longer, 0, SendOptions{}) },
		"beyond":  func(w *Writer) { _ = w.SendBuffer(w.Context(), longer, PieceSize, SendOptions{}) },
		"silent":  func(w *Writer) { <-w.Context().Done() },
		"stopped": func(w *Writer) {
			ctx, cancel := context.WithCancel(w.Context())
			cancel()
			_ = w.SendBuffer(ctx, stuck, 0, SendOptions{})
		},
	}
	w.node(t, "b#1", func(c *Config) {
		c.OnStream = func(_ phalanx.NodeID, r Request, w *Writer) { handlers[r.Object](w) }
	})
	var d dialer
	a := w.node(t, "a#1", func(c *Config) { d.set(c); c.Stall = 100 * time.Millisecond })
	for _, c := range []struct {
		id     phalanx.ObjectID
		reason Reason
		kind   phalanx.Kind
		text   string
		warm   bool // the connection survives
	}{
		{"busy", Busy, phalanx.ErrUnavailable, "busy", true},
		{"reset", Reset, phalanx.ErrReset, "2.9", true},
		{"gone", Gone, phalanx.ErrDeleted, "the object was deleted", true},
		{"failed", Gone, phalanx.ErrAborted, "the creator gave up", true},
		{"renewed", Reset, phalanx.ErrReset, "2.9", true},
		{"stopped", Gone, phalanx.ErrCanceled, "told to stop", true},
		{"beyond", Gone, phalanx.ErrRefused, "65536 of 200", true},
		{"nothing", Gone, phalanx.ErrInternal, "not answered", true},
		{"longer", Broken, phalanx.ErrRefused, "follow the object's 0 of 100", false},
		{"silent", Stalled, phalanx.ErrUnavailable, "silent", false},
	} {
		for name, get := range map[string]func(*Stream) error{
			"buffer": func(s *Stream) error { return s.ReceiveInto(buffer(t, p, 100), Progress{}) },
			"read":   func(s *Stream) error { _, err := io.ReadAll(s); return err },
		} {
			if name == "read" && c.id == "longer" {
				continue
			}
			r := request
			r.Object = c.id
			s, err := a.Open(deadline(t), "b#1", r)
			if err != nil {
				t.Fatal(err)
			}
			before := d.n.Load()
			err = get(s)
			s.Close()
			s.Close()
			var end *Ended
			if !errors.As(err, &end) || end.Reason != c.reason || end.Node != "b#1" || !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s, %s: %v", c.id, name, err)
			}
			if end != nil && c.reason == Reset && end.Generation != g {
				t.Errorf("%s: %v", c.id, end.Generation)
			}
			if err := a.Warm(deadline(t), "b#1"); err != nil {
				t.Fatal(err)
			}
			if warm := d.n.Load() == before; warm != c.warm {
				t.Errorf("%s, %s: the connection survived: %v", c.id, name, warm)
			}
		}
	}
}

func TestReadOfAPlace(t *testing.T) {
	var w town
	p := pool(t, 64*mb)
	src := filled(t, p, random(mb+77))
	var asked atomic.Pointer[Request]
	w.node(t, "b#1", func(c *Config) {
		c.OnStream = func(_ phalanx.NodeID, r Request, w *Writer) {
			asked.Store(&r)
			_ = w.SendBuffer(w.Context(), src, r.Offset, SendOptions{})
		}
	})
	a := w.node(t, "a#1", nil)
	r := Request{Kind: Place, Object: "sum", Reduce: "r1", Place: 3, PlaceGeneration: PlaceGeneration{Attempt: 1, Seq: 2}}
	for _, r.Offset = range []int64{0, 3 * PieceSize, src.Size()} {
		for _, step := range []int{1 << 20, PieceSize, 10_007} {
			s, err := a.Open(deadline(t), "b#1", r)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			_, err = io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{s}, make([]byte, step))
			if err != nil || !bytes.Equal(got.Bytes(), src.Bytes(r.Offset, src.Size())) {
				t.Fatalf("from %d by %d: %d bytes, %v", r.Offset, step, got.Len(), err)
			}
			s.Close()
			if *asked.Load() != r {
				t.Fatalf("%+v was asked, %+v came", r, *asked.Load())
			}
		}
	}
}

// TestStaleWarmConnection: the sender restarted its connections while ours was idle.
func TestStaleWarmConnection(t *testing.T) {
	var w town
	p := pool(t, mb)
	src := filled(t, p, random(1000))
	server := w.node(t, "b#1", serve(src))
	a := w.node(t, "a#1", nil)
	for range 2 {
		b := buffer(t, p, 1000)
		s := open(t, a, "b#1", 0, 0)
		if end := s.ReceiveInto(b, Progress{}); end.Reason != Complete {
			t.Fatal(end)
		}
		s.Close()
		equal(t, b, src)
		server.ClosePeer("a#1")
	}
}

func TestCloseEndsAReceiver(t *testing.T) {
	var w town
	p := pool(t, mb)
	b := buffer(t, p, 1000)
	waits := make(chan struct{}, 100)
	w.node(t, "b#1", func(c *Config) { serve(buffer(t, p, 1000))(c); c.WaitEvery = time.Millisecond })
	s := open(t, w.node(t, "a#1", nil), "b#1", 0, 0)
	ends := make(chan *Ended, 1)
	go func() {
		ends <- s.ReceiveInto(b, Progress{Wait: func([]phalanx.NodeID) {
			select {
			case waits <- struct{}{}:
			default:
			}
		}})
	}()
	receive(t, waits)
	s.Close()
	if end := receive(t, ends); end.Reason != Closed || !errors.Is(end, phalanx.ErrCanceled) {
		t.Fatal(end)
	}
}

func TestNoRoomForUnknownSize(t *testing.T) {
	var w town
	src := filled(t, pool(t, 64*mb), random(6*mb))
	w.node(t, "b#1", serve(src))
	p := pool(t, 5*mb)
	b := buffer(t, p, phalanx.UnknownSize)
	a := w.node(t, "a#1", nil)
	s := open(t, a, "b#1", 0, 0)
	end := s.ReceiveInto(b, Progress{})
	s.Close()
	if end.Reason != NoRoom || !errors.Is(end, phalanx.ErrNoSpace) || b.Watermark() < 4*mb {
		t.Fatalf("%v, %d bytes are kept", end, b.Watermark())
	}
}

// TestTransfersAllocateNothingPerPiece compares a long transfer with a short one.
func TestTransfersAllocateNothingPerPiece(t *testing.T) {
	var w town
	p := pool(t, 256*mb)
	allocs := func(id phalanx.NodeID, size int) float64 {
		src := filled(t, p, random(size))
		w.node(t, id, serve(src))
		a := w.node(t, "to-"+id, nil)
		dst := buffer(t, p, int64(size))
		scratch := make([]byte, 100_000)
		return testing.AllocsPerRun(3, func() {
			fresh := newBuffer(p, dst.region.Load(), int64(size))
			s, err := a.Open(context.Background(), id, request)
			if err != nil {
				t.Fatal(err)
			}
			if end := s.ReceiveInto(fresh, Progress{}); end.Reason != Complete {
				t.Fatal(end)
			}
			s.Close()
			if s, err = a.Open(context.Background(), id, request); err != nil {
				t.Fatal(err)
			}
			for err == nil {
				_, err = s.Read(scratch)
			}
			s.Close()
		})
	}
	short, long := allocs("short#1", 2*mb), allocs("long#1", 32*mb)
	if pieces := float64(30 * mb / PieceSize); long-short > pieces/20 {
		t.Errorf("%v allocations for 2 MB, %v for 32 MB", short, long)
	}
}

// TestSenderWithoutBytesSaysSo: the sender does so in time although its buffer changes all the
// time, and at once when its path changes.
func TestSenderWithoutBytesSaysSo(t *testing.T) {
	for name, busy := range map[string]bool{"changes that bring nothing": true, "a changed path": false} {
		t.Run(name, func(t *testing.T) {
			var w town
			p := pool(t, mb)
			src := buffer(t, p, 1000)
			changed := make(chan struct{}, 1)
			w.node(t, "b#1", func(c *Config) {
				if c.WaitEvery = time.Hour; busy {
					c.WaitEvery = 10 * time.Millisecond
				}
				c.OnStream = func(_ phalanx.NodeID, r Request, w *Writer) {
					_ = w.SendBuffer(w.Context(), src, 0, SendOptions{PathChanged: changed,
						WaitPath: func() []phalanx.NodeID { return []phalanx.NodeID{"b#1"} }})
				}
			})
			s := open(t, w.node(t, "a#1", nil), "b#1", 0, 0)
			waits, ends := make(chan struct{}, 1000), make(chan *Ended, 1)
			dst := buffer(t, p, 1000)
			go func() {
				ends <- s.ReceiveInto(dst, Progress{Wait: func([]phalanx.NodeID) { waits <- struct{}{} }})
			}()
			if !busy {
				changed <- struct{}{}
			}
			for ctx := deadline(t); busy && len(waits) == 0 && ctx.Err() == nil; {
				src.subs.wake()
			}
			receive(t, waits)
			s.Close()
			receive(t, ends)
		})
	}
}

func TestBadRequestIsAnswered(t *testing.T) {
	var w town
	w.node(t, "b#1", func(c *Config) { c.OnStream = func(_ phalanx.NodeID, _ Request, w *Writer) { _ = w.Busy() } })
	a := w.node(t, "a#1", nil)
	if _, err := a.Open(deadline(t), "b#1", Request{Kind: Object}); !errors.Is(err, phalanx.ErrInvalid) && !errors.Is(err, phalanx.ErrRefused) {
		t.Fatalf("%v", err)
	}
	l, err := a.peer("b#1").dial(deadline(t), roleStreams)
	if err != nil {
		t.Fatal(err)
	}
	defer l.drop()
	bad := request
	bad.Offset = -1
	for _, c := range []struct {
		r    Request
		want frameKind
	}{{request, kindBusy}, {bad, kindGone}} {
		if _, err := l.conn.Write(appendFrame(nil, kindOpen, c.r.append(nil))); err != nil {
			t.Fatal(err)
		}
		h, err := l.frames.next()
		if err != nil || h.kind != c.want {
			t.Fatalf("%v %v, want %v", h.kind, err, c.want)
		}
		if _, err := l.frames.payload(h); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.frames.next(); err == nil {
		t.Fatal("the connection goes on")
	}
}
