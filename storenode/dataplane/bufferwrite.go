package dataplane

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/phalanx-go/phalanx"
)

// The writer's side of a Buffer. An origin uses Write, ReadFrom, or Space and Commit. A receiver
// uses Space, CommitRaw and SetCheck, and Resume before it goes on with another sender. Both end
// with Finish if the size was unknown.

// Space returns room for up to limit bytes after the arrived ones: less at the end, and nothing
// when the buffer is full or, of unknown size, cannot grow now.
func (b *Buffer) Space(limit int) []byte {
	r, at := b.region.Load(), b.arrived.Load()
	if at == int64(len(r.mem)) && b.size.Load() == phalanx.UnknownSize && limit > 0 {
		if b.extend(at+1, b.pool.budget.ReserveNow) != nil {
			return nil
		}
		r = b.region.Load()
	}
	end := min(at+int64(limit), int64(len(r.mem)))
	return r.mem[at:end:end]
}

func (b *Buffer) noRoom(n int64) error {
	b.pool.budget.mu.Lock()
	defer b.pool.budget.mu.Unlock()
	return b.pool.budget.full(n, errNotNow)
}

func (b *Buffer) is(digest phalanx.Digest) bool {
	mine, _ := b.Digest()
	return mine == digest
}

// Grow waits until there is room for n more bytes, or ctx ends.
func (b *Buffer) Grow(ctx context.Context, n int64) error {
	if size := b.size.Load(); size != phalanx.UnknownSize {
		if b.arrived.Load()+n > size {
			return b.tooLong(n)
		}
		return nil
	}
	return b.extend(b.arrived.Load()+n, func(more int64) error { return b.pool.budget.Reserve(ctx, more) })
}

func (b *Buffer) extend(to int64, reserve func(int64) error) error {
	r := b.region.Load()
	if to <= int64(len(r.mem)) {
		return nil
	}
	r, err := r.grow(to, reserve)
	b.region.Store(r)
	return err
}

func (b *Buffer) tooLong(n int64) error {
	return &phalanx.Error{Op: "write", Kind: phalanx.ErrInvalid,
		Err: fmt.Errorf("%d bytes follow %d of an object of %d", n, b.arrived.Load(), b.size.Load())}
}

// room is Space for an origin, with the reason why there is none.
func (b *Buffer) room(limit int) ([]byte, error) {
	sp := b.Space(limit)
	switch {
	case len(sp) > 0 || limit == 0:
		return sp, nil
	case b.size.Load() != phalanx.UnknownSize:
		return nil, b.tooLong(int64(limit))
	}
	return nil, b.extend(b.arrived.Load()+1, b.pool.budget.ReserveNow)
}

// Write appends p as the origin, as far as it fits.
func (b *Buffer) Write(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		sp, err := b.room(min(len(p)-n, PieceSize))
		if err != nil {
			return n, err
		}
		k := copy(sp, p[n:])
		n += k
		b.Commit(k)
	}
	return n, nil
}

// ReadFrom appends the bytes of r as the origin, until its end.
func (b *Buffer) ReadFrom(r io.Reader) (int64, error) {
	total, empty := int64(0), 0
	for {
		sp, err := b.room(MaxData)
		if err != nil && b.size.Load() == b.arrived.Load() {
			return total, b.atEnd(r)
		}
		if err != nil {
			return total, err
		}
		n, err := r.Read(sp)
		b.Commit(n)
		total += int64(n)
		switch {
		case errors.Is(err, io.EOF):
			return total, nil
		case err != nil:
			return total, err
		case n > 0:
			empty = 0
		default:
			if empty++; empty == 100 {
				return total, io.ErrNoProgress
			}
		}
	}
}

// atEnd checks that r has no more bytes than the buffer.
func (b *Buffer) atEnd(r io.Reader) error {
	var one [1]byte
	n, err := io.ReadFull(r, one[:])
	switch {
	case n > 0:
		return b.tooLong(1)
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// Commit adds the first n bytes of Space as their origin. It tells the readers, and then computes
// the checks.
func (b *Buffer) Commit(n int) {
	if n == 0 {
		return
	}
	at := b.arrived.Add(int64(n))
	b.subs.wake()
	if b.originate(at, b.size.Load()) {
		b.subs.wake()
	}
}

// originate computes the checks of the pieces that are complete when at bytes of size are here, and
// reports whether there were any.
func (b *Buffer) originate(at, size int64) bool {
	mem, done := b.region.Load().mem, b.watermark.Load()
	start := done
	for done < at {
		end := done + PieceSize
		if size != phalanx.UnknownSize {
			end = min(end, size)
		}
		if end > at {
			break
		}
		c := CheckOf(mem[done:end])
		b.mu.Lock()
		b.checks = append(b.checks, c)
		b.mu.Unlock()
		b.watermark.Store(end)
		done = end
	}
	b.conclude()
	return done > start
}

// CommitRaw adds the first n bytes of Space, which came from a sender. It returns ErrCorrupt with a
// BadPiece when they complete a bad piece.
func (b *Buffer) CommitRaw(n int) error {
	b.raw = true
	at := b.arrived.Add(int64(n))
	b.subs.wake()
	return b.verify(at)
}

// SetCheck adds the check of a piece, in order of the pieces. It returns ErrCorrupt with a BadPiece
// when that piece is here and bad.
func (b *Buffer) SetCheck(piece int64, c Check) error {
	b.raw = true
	b.mu.Lock()
	known := int64(len(b.checks))
	size := b.size.Load()
	switch {
	case piece > known,
		size != phalanx.UnknownSize && piece >= Pieces(size),
		piece*PieceSize > b.arrived.Load()+MaxData: // no peer may make us keep checks of nothing
		b.mu.Unlock()
		return &phalanx.Error{Op: "check", Kind: phalanx.ErrRefused,
			Err: fmt.Errorf("the peer sent the check of piece %d after %d checks", piece, known)}
	case piece == known:
		b.checks = append(b.checks, c)
	case piece*PieceSize >= b.watermark.Load():
		b.checks[piece] = c
	}
	b.mu.Unlock()
	return b.verify(b.arrived.Load())
}

// verify moves the watermark over the good pieces whose checks are known.
func (b *Buffer) verify(at int64) error {
	size, start := b.size.Load(), b.watermark.Load()
	mem, done := b.region.Load().mem, start
	var err error
	for done < at {
		end := done + PieceSize
		if size != phalanx.UnknownSize {
			end = min(end, size)
		}
		var c [1]Check
		if end > at || b.checksFrom(done/PieceSize, c[:]) == 0 {
			break
		}
		if CheckOf(mem[done:end]) != c[0] {
			err = &phalanx.Error{Op: "check", Kind: phalanx.ErrCorrupt, Err: &BadPiece{Piece: done / PieceSize}}
			break
		}
		b.watermark.Store(end)
		done = end
	}
	b.conclude()
	if done > start {
		b.subs.wake()
	}
	return err
}

// Finish says that all bytes have arrived, and that there are size of them. A receiver calls it
// after the last SetCheck.
func (b *Buffer) Finish(size int64) error {
	at, known := b.arrived.Load(), b.size.Load()
	if at != size || known != phalanx.UnknownSize && known != size {
		return &phalanx.Error{Op: "write", Kind: phalanx.ErrInvalid,
			Err: fmt.Errorf("the peer sent %d bytes of an object of %s, and said %d at its end", at, sizeText(known), size)}
	}
	if known == phalanx.UnknownSize {
		b.region.Store(b.region.Load().trim(size))
		b.size.Store(size)
	}
	var err error
	if b.raw {
		err = b.verify(at)
	} else {
		b.originate(at, size)
	}
	b.subs.wake()
	if err == nil && !b.complete.Load() {
		err = &phalanx.Error{Op: "check", Kind: phalanx.ErrRefused,
			Err: fmt.Errorf("only %d of %d bytes passed their checks", b.watermark.Load(), size)}
	}
	return err
}

// sizeText writes a size for an error.
func sizeText(size int64) string {
	if size == phalanx.UnknownSize {
		return "unknown size"
	}
	return fmt.Sprintf("%d", size)
}

// Resume drops the unchecked bytes and returns where to go on: the watermark.
func (b *Buffer) Resume() int64 {
	done, r := b.watermark.Load(), b.region.Load()
	dropped := b.arrived.Swap(done) > done
	if dropped && !r.mapped {
		// A sender may still be sending the bytes that will come again. It sees mapped memory
		// change: its receiver checks the bytes.
		fresh := *r
		fresh.mem = make([]byte, len(r.mem))
		copy(fresh.mem, r.mem[:done])
		b.region.Store(&fresh)
	}
	b.mu.Lock()
	b.checks = b.checks[:Pieces(done)]
	b.mu.Unlock()
	return done
}
