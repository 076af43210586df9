package sim

import (
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/node/pace"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

const (
	waitEvery  = 200 * time.Millisecond
	stallAfter = time.Second
)

// Messages of a stream of bytes. A receiver opens and closes; the sender's pieces, waits and end
// come back in order.
type (
	open struct {
		stream  uint64
		object  phalanx.ObjectID
		gen     phalanx.Generation
		offset  int64
		lease   uint64
		beside  bool // the grant says that one of the sender's receivers does not count
		checked bool // the first piece was bad
	}
	closing struct{ stream uint64 }
	piece   struct {
		stream uint64
		gen    phalanx.Generation
		offset int64
		bytes  []byte
		check  uint64
		bad    *copied // the copy whose memory has changed there; nil: it has not
	}
	waiting struct {
		stream uint64
		path   []phalanx.NodeID // from the sender up to the origin
	}
	ending struct {
		stream uint64
		why    transfer.Why
		gen    phalanx.Generation
		size   int64         // AllSent
		idle   time.Duration // AllSent: how long the sender had nothing to send
	}
)

// outgoing is a stream that this node sends.
type outgoing struct {
	n      *node
	pipe   *pipe
	open   open
	c      *copied // nil while the node has no copy of the generation
	next   int64   // offset
	busy   bool    // a piece is on its way to the pipe
	waited time.Duration
	asked  copies.Asked
	path   []phalanx.NodeID
	over   bool

	flow  pace.Flow
	slow  bool          // the receiver is slow
	waits uint64        // how often the sender had nothing to send
	since time.Duration // it has nothing to send; 0: it has
	idle  time.Duration // before that
}

// incoming is a stream that this node reads.
type incoming struct {
	f     *fetcher
	pipe  *pipe // to the sender
	began time.Duration
	from  int64 // the offset
	heard time.Duration
	over  bool
}

// opened answers a receiver's open.
func (n *node) opened(from phalanx.NodeID, m open) {
	for _, o := range n.out {
		if o.pipe.to == from && o.open.stream == m.stream {
			return // the open came twice
		}
	}
	o := &outgoing{n: n, pipe: &pipe{w: n.w, from: n.id, to: from}, open: m, next: m.offset, asked: copies.NewAsked(n.w.now, m.gen, m.beside)}
	for _, p := range n.out {
		if !p.over && p.open.object == m.object && p.pipe.to == from {
			p.end(nil) // a new stream to the same receiver replaces the old one
		}
	}
	n.out = append(n.out, o)
	if m.beside {
		n.w.met["stream beside a slow one"]++
	}
	if m.checked {
		n.w.met["bad piece asked for again"]++
	}
	if o.turn(); !o.over && o.c == nil {
		n.w.met["sender behind"]++
		o.wait(true)
	}
	n.w.audit.streams(n, m.object)
}

// expects reports whether the node may still get a generation of an object.
func (n *node) expects(object phalanx.ObjectID) bool {
	return n.fetches[object] != nil || n.puts(object)
}

// turn answers a receiver that gets no bytes yet.
func (o *outgoing) turn() {
	n, id := o.n, o.open.object
	switch c := n.table.Of(id); n.table.Turn(&o.asked, c, n.w.now, n.expects(id), max(1, n.w.shape.fanout)) {
	case copies.Streams:
		o.begin(copyOf(c))
	case copies.Newer:
		o.end(&ending{why: transfer.Superseded, gen: c.Gen})
	case copies.Queues:
		n.w.met["receiver waits for another to end"]++
	case copies.Full:
		o.end(&ending{why: transfer.Busy})
	case copies.Vain:
		n.w.met["sender has waited in vain"]++
		o.end(&ending{why: transfer.Gone})
	}
}

// begin begins to send c.
func (o *outgoing) begin(c *copied) {
	o.c, o.slow = c, o.n.w.chance(o.n.w.weather.slow)
	o.flow = pace.Flow{To: o.pipe.to, Lease: pace.Lease{Object: o.open.object, Num: o.open.lease}, By: o}
	o.n.leases.Begin(&o.flow)
	left := c.Meta.Size
	if left != phalanx.UnknownSize {
		left -= o.open.offset
	}
	o.n.pace.Add(&o.flow, left, o.n.w.now, o.look())
	o.n.streamsChanged(c)
	o.pump()
}

func (n *node) closed(from phalanx.NodeID, stream uint64) {
	for _, o := range n.out {
		if o.pipe.to == from && o.open.stream == stream && !o.over {
			o.end(nil)
		}
	}
}

// pump continues the streams that read from c, and the streams that wait for its generation.
func (n *node) pump(c *copied) {
	n.reduces.moved(c.Object)
	for _, o := range slices.Clone(n.out) {
		if o.over || o.open.object != c.Object {
			continue
		}
		switch {
		case o.c == c:
			o.pump()
		case o.c == nil && n.of(c.Object) == c: // else c is not shown, or gone
			o.turn()
		}
	}
}

// streamsChanged tells the receiver that fills c how many streams read from it.
func (n *node) streamsChanged(c *copied) {
	if f := n.fetches[c.Object]; f != nil && f.buf == c {
		f.downstream()
	}
}

// pump sends the next piece if there is one. Another follows when the link has carried it.
func (o *outgoing) pump() {
	w := o.n.w
	if more := o.c.whole || o.next < int64(len(o.c.bytes)); more && o.since > 0 {
		o.idle, o.since = o.idle+w.now-o.since, 0
	}
	switch {
	case o.over || o.busy:
	case o.c.failed() != nil:
		o.end(o.c.failed())
	case o.c.whole && o.next >= int64(len(o.c.bytes)):
		o.end(&ending{why: transfer.AllSent, size: int64(len(o.c.bytes)), idle: o.idle})
	case o.next < int64(len(o.c.bytes)):
		end := min(o.next-o.next%w.shape.piece+w.shape.piece, int64(len(o.c.bytes)))
		p := piece{stream: o.open.stream, gen: o.c.Gen, offset: o.next, bytes: o.c.bytes[o.next:end:end]}
		p.check = xxh3.Hash(o.c.checked(int(o.next), int(end)))
		if o.c.hasChanged(int(o.next), int(end)) {
			p.bad = o.c
		}
		if o.c.small && o.c.flipped > 0 || o.open.checked && o.next == o.open.offset && p.bad != nil {
			o.end(&ending{why: transfer.Gone})
			o.n.after(0, func() { o.n.corrupted(o.c); w.step(o.n, "copy has changed") })
			return
		}
		if w.chance(w.weather.flipped) {
			p.bytes = slices.Clone(p.bytes)
			p.bytes[0] ^= 1
		}
		if w.chance(w.weather.broken) {
			w.met["stream broken"]++
			o.end(&ending{why: transfer.Broken})
			return
		}
		o.next, o.busy = end, true
		o.pipe.write(p)
		takes := time.Duration(w.rng.Int64N(int64(w.shape.pieceTime) + 1))
		if o.slow {
			takes *= slowTakes
		}
		o.n.after(takes, func() {
			o.busy = false
			if !o.over {
				o.pump()
			}
			w.step(o.n, "piece sent")
		})
	default:
		if o.waits++; o.since == 0 {
			o.since = w.now
		}
		o.wait(true)
	}
}

// wait tells a receiver that has to wait that this sender lives, and where its bytes will come
// from.
func (o *outgoing) wait(now bool) {
	path := []phalanx.NodeID{o.n.id}
	if f := o.n.fetches[o.open.object]; f != nil && (o.c == nil || o.c == f.buf) && f.sender != "" {
		path = append(path, f.buf.path...)
	}
	if !now && o.n.w.now-o.waited < waitEvery && slices.Equal(path, o.path) {
		return
	}
	o.waited, o.path = o.n.w.now, path
	o.pipe.write(waiting{o.open.stream, path})
}

// end ends the stream, and tells the receiver last unless it is nil.
func (o *outgoing) end(last *ending) {
	if o.over {
		return
	}
	o.over = true
	if last != nil {
		last.stream = o.open.stream
		o.pipe.write(*last)
	}
	if o.c != nil {
		c := o.c
		if last != nil && last.why != transfer.Broken {
			o.n.leases.End(&o.flow)
		} else { // its connection broke, or its receiver has closed it
			o.n.after(pace.Grace, o.broke)
		}
		o.n.pace.Remove(&o.flow, o.n.w.now, o.look())
		o.n.table.Served(&c.Copy)
		o.n.after(0, func() { o.n.streamsChanged(c); o.n.w.step(o.n, "stream ended") })
	}
}

// broke reports the lease of a stream that broke, if its receiver has not come back.
func (o *outgoing) broke() {
	if n := o.n; n.leases.End(&o.flow) {
		n.w.met["sender reports a lease"]++
		n.client.ask(n.client.numbers(), o.open.object, directory.Failed{Lease: o.open.lease, Reason: "broken, says its sender"}, nil)
		n.w.step(n, "stream broke")
	}
}

// tickStreams sends the pieces that are due, and gives up on senders that are silent.
func (n *node) tickStreams() {
	n.reportSlow()
	n.out = slices.DeleteFunc(n.out, func(o *outgoing) bool { return o.over && n.w.now-o.waited > 10*time.Second })
	for _, o := range slices.Clone(n.out) {
		if !o.over && o.c == nil {
			o.turn()
		}
		if !o.over && (o.c == nil || o.next >= int64(len(o.c.bytes)) && !o.c.whole) {
			o.wait(false)
		}
	}
	for _, id := range sortedObjects(n.fetches) {
		f := n.fetches[id]
		if in := n.in[f.stream]; f.stream != 0 && in != nil && !in.over && n.w.now-in.heard > stallAfter {
			f.ended(transfer.Stalled, phalanx.Generation{})
		}
	}
}

// arrived handles a piece.
func (n *node) arrived(from phalanx.NodeID, m piece) {
	in := n.in[m.stream]
	if in == nil || in.over || in.f.stream != m.stream {
		return
	}
	f := in.f
	in.heard = n.w.now
	if m.gen != f.buf.Gen {
		n.w.fail("(9) %s has %s@%v and gets a piece of %v", n.id, f.object, f.buf.Gen, m.gen)
	}
	if m.offset != int64(len(f.buf.bytes)) {
		n.w.fail("(6) %s has %d bytes of %s and gets a piece at %d", n.id, len(f.buf.bytes), f.object, m.offset)
	}
	if xxh3.Hash(m.bytes) != m.check {
		n.w.met["bad piece"]++
		f.foundBad(m)
		f.ended(transfer.BadPiece, phalanx.Generation{})
		return
	}
	have := int64(len(f.buf.bytes) + len(m.bytes))
	if have > f.buf.room && !n.memory.try(f.buf, max(have, f.buf.room+growStep)) {
		f.ended(transfer.Full, phalanx.Generation{})
		return
	}
	f.buf.bytes = append(f.buf.bytes, m.bytes...)
	n.w.audit.arrived(n, f.buf, m)
	n.pump(f.buf)
}

func (n *node) waits(from phalanx.NodeID, m waiting) {
	in := n.in[m.stream]
	if in == nil || in.over || in.f.stream != m.stream {
		return
	}
	in.heard = n.w.now
	if slices.Contains(m.path, n.id) {
		n.w.met["cycle broken by the path in WAIT"]++
		in.f.ended(transfer.Cycle, phalanx.Generation{})
		return
	}
	in.f.pathChanged(m.path)
}

// pathChanged tells the receivers downstream at once where the bytes come from.
func (f *fetcher) pathChanged(path []phalanx.NodeID) {
	if slices.Equal(path, f.buf.path) {
		return
	}
	f.buf.path = path
	for _, o := range f.n.out {
		if !o.over && (o.c == f.buf || o.c == nil && o.open.object == f.object) {
			o.wait(false)
		}
	}
}

func (n *node) streamEnds(from phalanx.NodeID, m ending) {
	in := n.in[m.stream]
	if in == nil || in.over || in.f.stream != m.stream {
		return
	}
	f := in.f
	if m.why != transfer.AllSent {
		if m.why == transfer.Superseded {
			n.w.met["sender ahead"]++
		}
		f.ended(m.why, m.gen)
		return
	}
	f.ended(transfer.AllSent, m.gen)
	f.buf.fill(f.buf.bytes)
	gen, size, digest := f.buf.Gen, int64(len(f.buf.bytes)), f.buf.sum
	received := pace.Received{Bytes: size - in.from, Took: n.w.now - in.began, Idle: m.idle}
	n.down.Received(paceLimits, received, n.clock())
	f.step(transfer.Whole{Gen: gen, Size: size, Digest: digest, Rate: n.measured(received)})
	n.pump(f.buf)
}

// ended closes the incoming stream and tells the core why.
func (f *fetcher) ended(why transfer.Why, gen phalanx.Generation) {
	n := f.n
	stream := f.stream
	n.in[stream].over = true
	if why == transfer.Stalled || why == transfer.BadPiece || why == transfer.Cycle || why == transfer.Full {
		n.in[stream].pipe.write(closing{stream})
	}
	n.w.met["stream ended: "+why.String()]++
	f.step(transfer.Ended{Stream: stream, Why: why, Gen: gen, Held: int64(len(f.buf.bytes))})
}
