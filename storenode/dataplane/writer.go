package dataplane

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/wire"
)

// Writer is the sender's side of one transfer: it answers one Request, with SendBuffer, Reset, Busy
// or Gone.
type Writer struct {
	link   *link
	p      *peer
	ctx    context.Context
	cancel context.CancelFunc
	ended  bool
	failed error
	calm   bool // see SendOptions.Patient

	waits    atomic.Int64  // since when the sender has nothing to send; 0: it has something
	unseated chan struct{} // capacity 1: another stream has the seat

	head   []byte // checks and the header before a payload
	pen    wire.Writer
	speed  stretch
	idle   time.Duration // time in which there was nothing to send
	checks [maxChecks]Check

	deadline  time.Time
	mu        sync.Mutex // orders hurry and extend
	interrupt atomic.Bool
}

func newWriter(l *link, p *peer) *Writer {
	w := &Writer{link: l, p: p, head: make([]byte, 0, 512), unseated: make(chan struct{}, 1)}
	w.ctx, w.cancel = context.WithCancel(p.ctx)
	return w
}

// Context returns a context that ends with the peer's connections and with Conns.
func (w *Writer) Context() context.Context { return w.ctx }

// SendOptions are the optional arguments of SendBuffer.
type SendOptions struct {
	// Checked is Request.Checked: the sender checks earlier bytes itself before it sends them.
	Checked int64
	// WaitPath returns this node and the senders above it up to the origin.
	WaitPath func() []phalanx.NodeID
	// PathChanged makes a changed path known at once, for each value; the sender does not close it.
	// nil: the next WAIT brings the path.
	PathChanged <-chan struct{}
	// Meter, if not nil, counts the sent bytes.
	Meter *Meter
	// Patient: something else holds up a receiver that reads nothing for long. The sender waits for
	// it until ctx ends.
	Patient bool
}

// stock is the source of a stream: a Buffer, a Window or a Ring.
type stock interface {
	Size() int64
	Watermark() int64
	Complete() bool
	Digest() (phalanx.Digest, bool)
	Err() error
	Subscribe() *Sub
	Retain()
	Release()
	// next returns up to limit bytes from pos on, and none from end on.
	next(pos, limit, end int64) []byte
	checksFrom(piece int64, dst []Check) int
	took(pos int64) // the connection has taken the bytes before pos
}

// SendBuffer sends b from a byte on as b arrives, and ends the stream when b is complete. It also
// ends the stream when b fails or ctx ends, and returns that error. A lost receiver is an error as
// well. It holds a reference to b.
func (w *Writer) SendBuffer(ctx context.Context, b *Buffer, from int64, opts SendOptions) error {
	return w.sendStock(ctx, b, from, opts)
}

func (w *Writer) sendStock(ctx context.Context, b stock, from int64, opts SendOptions) error {
	b.Retain()
	defer b.Release()
	sub := b.Subscribe()
	defer sub.Close()
	defer w.until(ctx)()
	silence := time.NewTimer(w.p.c.cfg.WaitEvery)
	defer silence.Stop()
	spoke := false // since silence was set
	sent := time.Now()
	w.calm = opts.Patient

	pos, piece := from, Pieces(from)
	if err := startable(b, from); err != nil {
		return errors.Join(err, w.Gone(faultOf(err)))
	}
	for {
		if err := b.Err(); err != nil {
			return errors.Join(err, w.fail(err))
		}
		if err := w.ctx.Err(); err != nil {
			w.failed = err
			return err
		}
		if err := ctx.Err(); err != nil {
			return errors.Join(err, w.Gone(phalanx.ErrCanceled, "the sender was told to stop"))
		}
		select {
		case <-opts.PathChanged:
			if err := w.Wait(opts.path()); err != nil {
				return err
			}
		default:
		}
		part, checks := w.ready(b, pos, piece, opts.Checked)
		switch {
		case len(part) > 0 || checks > 0:
			if err := recheck(b, pos, min(pos+int64(len(part)), opts.Checked)); err != nil {
				return errors.Join(err, w.Gone(faultOf(err)))
			}
			if err := w.send(part, piece, checks); err != nil {
				return err
			}
			opts.Meter.add(len(part))
			sent = time.Now()
			pos += int64(len(part))
			piece += int64(checks)
			b.took(pos)
			spoke = true
			continue
		case b.Complete() && pos == b.Size() && piece == Pieces(pos):
			digest, _ := b.Digest()
			w.speed.tell(&w.p.rate, leastSent)
			return w.finish(pos, digest)
		}
		if spoke { // a wake-up without bytes to send is no sign of life
			silence.Reset(w.p.c.cfg.WaitEvery)
			spoke = false
		}
		opts.Meter.turn()
		paused := time.Now()
		if !w.calm { // a place's stream keeps its seat: a ring cannot go on with another stream
			w.waits.Store(sent.UnixNano())
		}
		select {
		case <-sub.C:
		case <-w.unseated:
			w.waits.Store(0)
			return errors.Join(errYields, w.Busy())
		case <-opts.PathChanged:
			if err := w.Wait(opts.path()); err != nil {
				return err
			}
			spoke = true
		case <-silence.C:
			if err := w.Wait(opts.path()); err != nil {
				return err
			}
			spoke = true
		case <-ctx.Done():
		case <-w.ctx.Done():
		}
		w.waits.Store(0)
		w.idle += time.Since(paused)
		opts.Meter.turn()
	}
}

// Broken reports whether the writer has lost the connection to the receiver.
func (w *Writer) Broken() bool { return w.failed != nil }

func (o SendOptions) path() []phalanx.NodeID {
	if o.WaitPath == nil {
		return nil
	}
	return o.WaitPath()
}

// startable refuses a stream that begins where none can.
func startable(b stock, from int64) error {
	if size := b.Size(); from < 0 || from%PieceSize != 0 && from != size || size >= 0 && from > size {
		return refused("a stream from byte %d of %d", from, size)
	}
	return nil
}

// ready returns the bytes that can be sent from pos on, and how many checks from piece on go before
// them: the known checks of the pieces that they touch.
func (w *Writer) ready(b stock, pos, piece, checked int64) ([]byte, int) {
	end := int64(math.MaxInt64)
	if done := b.Watermark(); done < checked {
		end = done
	}
	part := b.next(pos, MaxData, end)
	n := b.checksFrom(piece, w.checks[:max(0, min(Pieces(pos+int64(len(part)))-piece, maxChecks))])
	return part, n
}

// send writes checks and bytes in one system call.
func (w *Writer) send(part []byte, piece int64, checks int) error {
	w.head = w.head[:0]
	if checks > 0 {
		w.head = w.appendChecks(w.head, piece, w.checks[:checks])
	}
	if len(part) > 0 {
		w.head = appendHeader(w.head, kindData, len(part), 0)
	}
	if err := w.flush(time.Now(), part); err != nil {
		return err
	}
	w.p.countSent(len(part))
	w.speed.add(len(part))
	return nil
}

func (w *Writer) appendChecks(b []byte, piece int64, checks []Check) []byte {
	at := len(b)
	b = append(b, make([]byte, headerSize)...)
	b = binary.LittleEndian.AppendUint64(b, uint64(piece))
	for i := range checks {
		b = appendCheck(b, &checks[i])
	}
	payload := b[at+headerSize:]
	appendHeader(b[:at], kindChecks, len(payload), crcOf(payload))
	return b
}

// flush writes w.head and then part. A failure leaves half a frame behind, so the connection is
// lost.
func (w *Writer) flush(now time.Time, part []byte) error {
	if w.failed != nil {
		return w.failed
	}
	if err := w.extend(now); err != nil {
		w.failed = err
		return err
	}
	if err := w.pen.Write(w.link.conn, w.head, part); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) && !w.interrupt.Load() {
			w.link.abandon()
		}
		w.failed = withNode(err, "send", w.p.node)
	}
	return w.failed
}

// extend moves the deadline of writes, now and then.
func (w *Writer) extend(now time.Time) error {
	stall := w.p.c.cfg.WriteStall
	if w.calm {
		stall = patience
	}
	if w.deadline.Sub(now) > stall {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.interrupt.Load() {
		return nil
	}
	w.deadline = now.Add(stall + stall/4)
	return w.link.conn.SetWriteDeadline(w.deadline)
}

// patience means for ever: until ends the wait.
const patience = 1000 * time.Hour

// grace is how long a frame may still take after the transfer was canceled. The connection survives
// if that is enough.
const grace = 50 * time.Millisecond

// until makes writes end soon after ctx, until the caller calls calm.
func (w *Writer) until(ctx context.Context) (calm func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		w.hurry()
		close(done)
	})
	return func() {
		if stop() {
			return
		}
		<-done
		w.interrupt.Store(false)
		w.deadline = time.Time{}
	}
}

func (w *Writer) hurry() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.interrupt.Store(true)
	_ = w.link.conn.SetWriteDeadline(time.Now().Add(grace))
}

// control writes a frame without data.
func (w *Writer) control(k frameKind, payload []byte) error {
	if w.ended {
		return refused("the stream has ended")
	}
	w.head = appendFrame(w.head[:0], k, payload)
	return w.flush(time.Now(), nil)
}

func (w *Writer) last(k frameKind, payload []byte) error {
	err := w.control(k, payload)
	w.ended = true
	return err
}

// Wait tells the receiver that there is nothing yet, and the path up to the origin. SendBuffer
// calls it itself.
func (w *Writer) Wait(path []phalanx.NodeID) error {
	return w.control(kindWait, appendPath(nil, path))
}

// Reset ends the stream: this node has a greater generation. For a place, g has the attempt as
// Epoch, and Seq.
func (w *Writer) Reset(g phalanx.Generation) error {
	return w.last(kindReset, appendGeneration(nil, g))
}

// Busy ends the stream: this node serves others.
func (w *Writer) Busy() error { return w.last(kindBusy, nil) }

// Gone ends the stream: this node does not have the bytes, or no longer.
func (w *Writer) Gone(k phalanx.Kind, text string) error {
	return w.last(kindGone, appendFault(nil, k, text))
}

func (w *Writer) finish(size int64, digest phalanx.Digest) error {
	p := binary.LittleEndian.AppendUint64(nil, uint64(size))
	p = append(p, digest[:]...)
	return w.last(kindEnd, binary.LittleEndian.AppendUint64(p, uint64(w.idle)))
}

// fail ends the stream with the error of a failed buffer.
func (w *Writer) fail(err error) error {
	var e *Ended
	if errors.As(err, &e) && e.Reason == Reset {
		return w.Reset(e.Generation)
	}
	return w.Gone(faultOf(err))
}
