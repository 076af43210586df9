package durable

import (
	"github.com/zeebo/xxh3"

	"github.com/phalanx-go/phalanx"
)

// pieceSize is that of the data plane (storenode/dataplane), in bytes: a blob's digest is the digest of
// the object that it was written from. The simulator does not import the data plane.
const pieceSize = 64 << 10

// Digester computes the digest of an object from its bytes: the hash of the hashes of its pieces. The
// zero Digester has seen no bytes.
type Digester struct {
	pieces, piece xxh3.Hasher
	n             int // bytes of the last piece
}

// Write never fails.
func (d *Digester) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		part := p[:min(len(p), pieceSize-d.n)]
		_, _ = d.piece.Write(part) // a hash takes all
		p = p[len(part):]
		if d.n += len(part); d.n == pieceSize {
			d.end()
		}
	}
	return n, nil
}

func (d *Digester) end() {
	hash := d.piece.Sum128().Bytes()
	_, _ = d.pieces.Write(hash[:])
	d.piece.Reset()
	d.n = 0
}

// Sum returns the digest of what was written. Nothing may be written after it.
func (d *Digester) Sum() phalanx.Digest {
	if d.n > 0 {
		d.end()
	}
	return d.pieces.Sum128().Bytes()
}

// DigestOf returns the digest of an object with these bytes.
func DigestOf(p []byte) phalanx.Digest {
	var d Digester
	_, _ = d.Write(p) // it takes all
	return d.Sum()
}
