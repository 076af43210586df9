package dataplane

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/phalanx-go/phalanx"
)

// Ring is one place's part in a ring of n places, each of which has a whole array
// and is to have the combination of all. The array is cut into n shards of whole
// pieces. What a place sends to the next one is a stream of 2(n-1) shards:
//
//	step    0        1          2       …      n-1       …     2n-3
//	shard   place    place-1    place-2 …    place+1     …   place+3     (modulo n)
//	        own      ── what came, combined ──   ── what came: it is the whole ──
//
// where "what came" is the previous step of the previous place's stream. The ring makes everything
// in the memory of the result: the combination of all places comes back only after all of them have
// received the sent bytes, so the bytes that it replaces have left.
//
// A place sends the last piece of an array as if it were full.
type Ring struct {
	place, places int
	source        *Buffer // complete
	result        *Buffer
	combine       func(dst, src []byte) error
	size          int64
	begins        []int64 // where each step begins in the stream, and where the last one ends
	bytes         []byte  // of the result
	tail          []byte  // its last piece, if that is short; tailOwn is the source's
	tailOwn       []byte

	arrived atomic.Int64
	moved   atomic.Int64 // how often bytes came or were sent
	refs    atomic.Int64
	subs    subscribers

	mu     sync.Mutex
	checks []Check // of the stream's pieces
	whole  []Check // of the result's pieces, as far as they are known
	err    error
	digest phalanx.Digest // of the stream, once it has all checks
}

// NewRing returns the part of a place. source must be complete, result empty and of the same size,
// with at least places pieces. The Ring takes over the caller's references to both, and the caller
// gets the one reference to the Ring. combine sets dst to the combination of dst and src, for whole
// elements.
func NewRing(source, result *Buffer, place, places int, combine func(dst, src []byte) error) *Ring {
	r := &Ring{place: place, places: places, source: source, result: result, combine: combine, size: source.Size()}
	r.refs.Store(1)
	r.bytes = result.Space(int(r.size))
	r.whole = make([]Check, Pieces(r.size))
	if short := r.size % PieceSize; short != 0 {
		r.tail, r.tailOwn = make([]byte, PieceSize), make([]byte, PieceSize)
		copy(r.tailOwn, source.Bytes(r.size-short, r.size))
	}
	at := int64(0)
	for step := range 2*places - 1 {
		r.begins = append(r.begins, at)
		lo, hi := r.shard(step)
		at += hi - lo
	}
	r.checks = make([]Check, 0, Pieces(r.begins[len(r.begins)-1]))
	lo, hi := r.shard(0)
	r.checks = r.checks[:Pieces(hi-lo)]
	source.checksFrom(lo/PieceSize, r.checks)
	if r.tail != nil && hi > r.size {
		r.checks[len(r.checks)-1] = CheckOf(r.tailOwn)
	}
	r.arrived.Store(hi - lo)
	return r
}

// shard returns the bounds of the shard that a step sends, in whole pieces.
func (r *Ring) shard(step int) (lo, hi int64) {
	k := int64(((r.place-step)%r.places + r.places) % r.places)
	n, of := Pieces(r.size), int64(r.places)
	return k * n / of * PieceSize, (k + 1) * n / of * PieceSize
}

// memory returns up to n bytes of the result from at on, within one piece for the last piece.
func (r *Ring) memory(at, n int64) []byte { return view(r.bytes, r.tail, r.size, at, n) }

// own does the same for the source.
func (r *Ring) own(at, n int64) []byte {
	return view(r.source.Bytes(0, r.size), r.tailOwn, r.size, at, n)
}

func view(bytes, tail []byte, size, at, n int64) []byte {
	full := size
	if tail != nil {
		full -= size % PieceSize
		if at >= full {
			return tail[at-full : min(at-full+n, PieceSize)]
		}
	}
	return bytes[at:min(at+n, full)]
}

// Size returns the number of bytes of the stream to the next place.
func (r *Ring) Size() int64 { return r.begins[2*r.places-2] }

// Watermark returns how many of them are ready to be sent.
func (r *Ring) Watermark() int64 { return r.arrived.Load() / PieceSize * PieceSize }

// Complete reports whether all of them are ready.
func (r *Ring) Complete() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.checked()
}

func (r *Ring) checked() bool { return r.arrived.Load() == r.Size() && len(r.checks) == cap(r.checks) }

// Digest returns the stream's digest once it is complete.
func (r *Ring) Digest() (phalanx.Digest, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.checked() {
		return phalanx.Digest{}, false
	}
	if r.digest == (phalanx.Digest{}) {
		r.digest = DigestOf(r.checks)
	}
	return r.digest, true
}

// Err returns the error of the first Fail.
func (r *Ring) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Fail ends the stream to the next place.
func (r *Ring) Fail(err error) {
	r.mu.Lock()
	if r.err == nil {
		r.err = err
	}
	r.mu.Unlock()
	r.subs.wake()
}

// Retain adds a reference. Its caller must already have one.
func (r *Ring) Retain() { r.refs.Add(1) }

// Release drops a reference. The last one releases the source and the result.
func (r *Ring) Release() {
	switch n := r.refs.Add(-1); {
	case n == 0:
		r.source.Release()
		r.result.Release()
	case n < 0:
		panic("dataplane: a ring is released twice")
	}
}

// Subscribe returns a subscription that starts now.
func (r *Ring) Subscribe() *Sub { return r.subs.add() }

func (r *Ring) next(pos, limit, end int64) []byte {
	end = min(end, r.arrived.Load(), pos+limit)
	if end <= pos {
		return nil
	}
	step, found := slices.BinarySearch(r.begins, pos)
	if !found {
		step--
	}
	end = min(end, r.begins[step+1])
	lo, _ := r.shard(step)
	at := lo + pos - r.begins[step]
	if step == 0 {
		return r.own(at, end-pos)
	}
	return r.memory(at, end-pos)
}

func (r *Ring) checksFrom(piece int64, dst []Check) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if piece >= int64(len(r.checks)) {
		return 0
	}
	return copy(dst, r.checks[piece:])
}

func (r *Ring) took(int64) { r.moved.Add(1) }

// Moved rises whenever bytes come or leave.
func (r *Ring) Moved() int64 { return r.moved.Load() }

// ringInput receives the stream of the previous place. Its step k brings the shard that step k+1
// sends.
type ringInput struct {
	*Ring
	pos      int64 // of the stream
	made     []madePiece
	flushed  int64 // pieces of the stream whose sums have sent their checks
	step     int
	hi       int64 // the end of the step's shard
	at       int64 // in the shard, the end of the bytes that came
	combined int64 // the end of the combined bytes
	scratch  []byte
	sum      verifier
	size     int64 // of the stream
}

// ReceiveRing receives the stream of the previous place into r, and returns how it ended. After a
// complete stream the result is complete.
func (s *Stream) ReceiveRing(r *Ring, on Progress) *Ended { return s.receive(newRingInput(r), on) }

func newRingInput(r *Ring) *ringInput {
	in := &ringInput{Ring: r, step: -1, scratch: make([]byte, PieceSize)}
	lo, hi := r.shard(2*r.places - 2)
	in.size = r.Size() - r.begins[1] + hi - lo
	in.sum.start(0)
	in.advance()
	return in
}

// advance begins the next step.
func (in *ringInput) advance() {
	if in.step++; in.step < 2*in.places-2 {
		in.at, in.hi = in.shard(in.step + 1)
		in.combined = in.at
	}
}

// sums reports whether the step combines its bytes with the own array.
func (in *ringInput) sums() bool { return in.step < in.places-1 }

// Arrived returns how many bytes have come.
func (in *ringInput) Arrived() int64 { return in.pos }

// Size returns how many bytes come in all.
func (in *ringInput) Size() int64 { return in.size }

// Space returns room for up to limit bytes.
func (in *ringInput) Space(limit int) []byte {
	n := min(int64(limit), PieceSize-in.at%PieceSize)
	if in.pos == in.size {
		return nil
	}
	if in.sums() {
		return in.scratch[in.at%PieceSize:][:n]
	}
	return in.memory(in.at, n)
}

// CommitRaw takes n bytes that have come.
func (in *ringInput) CommitRaw(n int) error {
	in.at += int64(n)
	in.pos += int64(n)
	in.moved.Add(1)
	in.sum.pos = in.pos
	whole := in.at%PieceSize == 0
	var c Check
	if whole {
		c = CheckOf(in.piece())
	}
	if err := in.pass(whole); err != nil {
		return err
	}
	if !whole {
		return nil
	}
	if err := in.sum.saw(c); err != nil {
		return err
	}
	in.vouch()
	if in.at == in.hi {
		in.advance()
	}
	return nil
}

// piece returns the last piece that came.
func (in *ringInput) piece() []byte {
	if in.sums() {
		return in.scratch
	}
	return in.memory(in.at-PieceSize, PieceSize)
}

// pass combines the bytes that came, in whole elements, and sends them on.
func (in *ringInput) pass(whole bool) error {
	if !in.sums() {
		in.send(in.at - in.combined)
		in.combined = in.at
		return nil
	}
	to := in.at - in.at%elementMax
	if end := min(to, in.Ring.size); end > in.combined { // padding of the last piece is no element
		dst := in.memory(in.combined, end-in.combined)
		from := in.combined % PieceSize
		copy(dst, in.own(in.combined, end-in.combined))
		if err := in.combine(dst, in.scratch[from:from+int64(len(dst))]); err != nil {
			return err
		}
	}
	n := to - in.combined
	in.combined = to
	if whole {
		at := in.at - PieceSize
		in.made = append(in.made, madePiece{CheckOf(in.memory(at, PieceSize)), at / PieceSize, in.step == in.places-2})
	}
	in.send(n)
	return nil
}

// madePiece is a combined piece whose input is not known to be good yet.
type madePiece struct {
	check Check
	piece int64 // of the array
	whole bool  // the piece is the sum of all places
}

// vouch sends the checks of combined pieces whose input has passed its own check: the next place
// cannot finish without them.
func (in *ringInput) vouch() {
	good := min(in.sum.seen, in.sum.told)
	if len(in.made) == 0 || good <= in.flushed {
		return
	}
	n := min(good-in.flushed, int64(len(in.made)))
	in.mu.Lock()
	for _, m := range in.made[:n] {
		in.checks = append(in.checks, m.check)
		if m.whole {
			in.Ring.whole[m.piece] = m.check
		}
	}
	in.mu.Unlock()
	in.flushed += n
	in.made = slices.Delete(in.made, 0, int(n))
	in.subs.wake()
}

// elementMax is a multiple of the size of every element.
const elementMax = 8

// send releases n more bytes, unless the next place's stream has them all.
func (in *ringInput) send(n int64) {
	if n > 0 && in.step+1 < 2*in.places-2 {
		in.arrived.Add(n)
		in.subs.wake()
	}
}

// SetCheck takes the check of a piece. A piece that the place only passes on keeps its check.
func (in *ringInput) SetCheck(piece int64, c Check) error {
	if piece*PieceSize >= in.size {
		return refused("there is no piece %d", piece)
	}
	if err := in.sum.expectCheck(piece, c); err != nil {
		return err
	}
	in.vouch()
	// Checks come in order, those of whole shards last.
	first := in.begins[in.places] - in.begins[1] // of the incoming stream, which lacks this place's first step
	if piece*PieceSize < first {
		return nil
	}
	step, found := slices.BinarySearch(in.begins, piece*PieceSize+in.begins[1])
	if !found {
		step--
	}
	lo, _ := in.shard(step)
	at := lo + piece*PieceSize + in.begins[1] - in.begins[step]
	in.mu.Lock()
	in.whole[at/PieceSize] = c
	if step < 2*in.places-2 {
		in.checks = append(in.checks, c)
	}
	in.mu.Unlock()
	in.subs.wake()
	return nil
}

// Finish ends the stream, and completes the result.
func (in *ringInput) Finish(size int64) error {
	if size != in.size {
		return refused("the stream ends at byte %d of %d", size, in.size)
	}
	if err := in.sum.finish(size); err != nil {
		return err
	}
	if short := in.Ring.size % PieceSize; short != 0 {
		at := in.Ring.size - short
		copy(in.bytes[at:], in.tail)
		in.whole[len(in.whole)-1] = CheckOf(in.bytes[at:])
	}
	return in.result.fill(in.whole)
}

// is need not look: every piece has passed a check that the digest contains.
func (in *ringInput) is(phalanx.Digest) bool { return true }

func (in *ringInput) noRoom(int64) error {
	return refused("the stream is longer than %d bytes", in.size)
}

// fill marks all bytes of Space as here, with these checks.
func (b *Buffer) fill(checks []Check) error {
	if size := b.size.Load(); int64(len(checks)) != Pieces(size) || b.arrived.Load() != 0 {
		return fmt.Errorf("%d checks came for an object of %d bytes, of which %d are here", len(checks), size, b.arrived.Load())
	}
	b.mu.Lock()
	b.checks = append(b.checks[:0], checks...)
	b.mu.Unlock()
	size := b.size.Load()
	b.arrived.Store(size)
	b.watermark.Store(size)
	b.conclude()
	b.subs.wake()
	return nil
}
