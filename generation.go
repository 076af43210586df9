package phalanx

import (
	"cmp"
	"encoding/hex"
	"fmt"
)

// Generation names one filling of an object with bytes. It is given by the
// owner of the object's shard and strictly rises per id. Bytes of two
// generations are never combined. The zero Generation stands for none.
type Generation struct {
	Epoch uint64 // of the shard, when the generation was given
	Seq   uint64 // within the epoch
}

// Compare orders generations; a greater one replaces a lesser one.
func (g Generation) Compare(h Generation) int {
	return cmp.Or(cmp.Compare(g.Epoch, h.Epoch), cmp.Compare(g.Seq, h.Seq))
}

// Less reports whether h replaces g.
func (g Generation) Less(h Generation) bool { return g.Compare(h) < 0 }

// IsZero reports whether g is no generation.
func (g Generation) IsZero() bool { return g == Generation{} }

// String returns "epoch.seq".
func (g Generation) String() string { return fmt.Sprintf("%d.%d", g.Epoch, g.Seq) }

// Digest is the hash of an object's piece hashes. The zero Digest stands for
// one that is not known.
type Digest [16]byte

// IsZero reports whether d is not known.
func (d Digest) IsZero() bool { return d == Digest{} }

// String returns d in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ParseDigest is the inverse of Digest.String.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(d) {
		return d, &Error{Kind: ErrInvalid, Err: fmt.Errorf("%q is not a digest of %d hexadecimal digits", s, 2*len(d))}
	}
	copy(d[:], b)
	return d, nil
}
