package dataplane

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/zeebo/xxh3"

	"github.com/phalanx-go/phalanx"
)

// PieceSize is the grid of an object's checks: piece k is the bytes from
// k*PieceSize on, and only the last is shorter.
const PieceSize = 64 << 10

// Check tells whether a piece is as its origin made it. It guards against accidents, not against
// attackers.
type Check struct {
	CRC  uint32   // Castagnoli
	Hash [16]byte // xxh3, 128 bits, big-endian
}

const checkSize = 4 + 16

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CheckOf returns the check of a piece.
func CheckOf(piece []byte) Check {
	return Check{CRC: crc32.Checksum(piece, castagnoli), Hash: xxh3.Hash128(piece).Bytes()}
}

// Pieces returns the number of pieces of size bytes.
func Pieces(size int64) int64 { return (size + PieceSize - 1) / PieceSize }

// DigestOf returns the digest of an object: the hash of its piece hashes.
func DigestOf(checks []Check) phalanx.Digest {
	var h xxh3.Hasher
	for i := range checks {
		_, _ = h.Write(checks[i].Hash[:])
	}
	return h.Sum128().Bytes()
}

// DigestBytes returns the digest of an object with these bytes.
func DigestBytes(p []byte) phalanx.Digest {
	var h xxh3.Hasher
	for len(p) > 0 {
		n := min(len(p), PieceSize)
		hash := xxh3.Hash128(p[:n]).Bytes()
		_, _ = h.Write(hash[:])
		p = p[n:]
	}
	return h.Sum128().Bytes()
}

// BadPiece says which piece does not match its check.
type BadPiece struct{ Piece int64 }

func (e *BadPiece) Error() string { return fmt.Sprintf("piece %d does not match its check", e.Piece) }

func appendCheck(b []byte, c *Check) []byte {
	b = binary.LittleEndian.AppendUint32(b, c.CRC)
	return append(b, c.Hash[:]...)
}

func parseCheck(b []byte) (c Check) {
	c.CRC = binary.LittleEndian.Uint32(b)
	copy(c.Hash[:], b[4:])
	return c
}

// rolling computes the check of a piece whose bytes come in parts.
type rolling struct {
	crc  uint32
	hash xxh3.Hasher
	n    int
}

func (r *rolling) write(p []byte) {
	r.crc = crc32.Update(r.crc, castagnoli, p)
	_, _ = r.hash.Write(p)
	r.n += len(p)
}

// sum returns the check of the written bytes and starts over.
func (r *rolling) sum() Check {
	c := Check{CRC: r.crc, Hash: r.hash.Sum128().Bytes()}
	r.crc, r.n = 0, 0
	r.hash.Reset()
	return c
}
