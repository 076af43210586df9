package dataplane

import "github.com/phalanx-go/phalanx"

// recheck checks the pieces of b from byte lo to hi again, which had passed their check or were
// made here: a receiver has found the first of them bad.
func recheck(b stock, lo, hi int64) error {
	own, ok := b.(*Buffer)
	if !ok || hi <= lo {
		return nil
	}
	mem := own.there()
	for at := lo; at < hi; at += PieceSize {
		end := min(at+PieceSize, int64(len(mem)))
		var c [1]Check
		if own.checksFrom(at/PieceSize, c[:]) == 1 && CheckOf(mem[at:end]) != c[0] {
			return &phalanx.Error{Op: "check", Kind: phalanx.ErrCorrupt, Err: &BadPiece{Piece: at / PieceSize}}
		}
	}
	return nil
}

// Recheck checks all pieces again that have passed their check or were made here. It returns
// ErrCorrupt with a BadPiece if one of them has changed in memory.
func (b *Buffer) Recheck() error { return recheck(b, 0, b.Watermark()) }

// verifier compares the pieces of a stream that is read without a Buffer with the checks that come
// before or after them.
type verifier struct {
	pos       int64
	part      rolling // of the piece at pos
	seen      int64   // complete pieces
	told      int64   // pieces whose check has come
	unmatched []Check // of the pieces between seen and told, or told and seen
	head      int     // unmatched[:head] is done with
}

func (v *verifier) start(offset int64) {
	v.pos = offset
	v.seen, v.told = Pieces(offset), Pieces(offset)
}

// cover adds the stream's next bytes.
func (v *verifier) cover(p []byte) error {
	for len(p) > 0 {
		part := p[:min(len(p), PieceSize-v.part.n)]
		p = p[len(part):]
		v.pos += int64(len(part))
		var c Check
		if len(part) == PieceSize {
			c = CheckOf(part)
		} else if v.part.write(part); v.part.n == PieceSize {
			c = v.part.sum()
		} else {
			return nil
		}
		if err := v.saw(c); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) saw(c Check) error {
	ahead := v.told > v.seen
	v.seen++
	return v.match(ahead, c, v.seen-1)
}

// expectCheck adds a check from the sender.
func (v *verifier) expectCheck(piece int64, c Check) error {
	if piece != v.told || piece*PieceSize > v.pos+MaxData {
		return refused("the check of piece %d came at byte %d, when %d were known", piece, v.pos, v.told)
	}
	ahead := v.seen > v.told
	v.told++
	return v.match(ahead, c, piece)
}

func (v *verifier) match(known bool, c Check, piece int64) error {
	if !known {
		v.unmatched = append(v.unmatched, c)
		return nil
	}
	other := v.unmatched[v.head]
	if v.head++; v.head == len(v.unmatched) {
		v.unmatched, v.head = v.unmatched[:0], 0
	}
	if other != c {
		return &phalanx.Error{Op: "check", Kind: phalanx.ErrCorrupt, Err: &BadPiece{Piece: piece}}
	}
	return nil
}

// finish says that the stream ended at size.
func (v *verifier) finish(size int64) error {
	if v.pos != size {
		return refused("the stream ended at byte %d of %d", v.pos, size)
	}
	if v.part.n > 0 {
		if err := v.saw(v.part.sum()); err != nil {
			return err
		}
	}
	if v.seen != v.told {
		return refused("the stream ended with %d pieces and %d checks", v.seen, v.told)
	}
	return nil
}
