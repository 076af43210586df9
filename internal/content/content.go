// Package content makes the bytes of test objects follow from their ids, so that
// every process of a test knows what is right without being told.
package content

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/zeebo/xxh3"

	"github.com/phalanx-go/phalanx"
)

// Of returns the bytes of an object.
func Of(id phalanx.ObjectID, d phalanx.DType, size int64) []byte {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], xxh3.HashString(string(id)))
	rng, b := rand.NewChaCha8(seed), make([]byte, size)
	_, _ = rng.Read(b)
	if d == phalanx.Float32 { // whole numbers: their sums are exact in any order
		for i := int64(0); i < size; i += 4 {
			v := float32(int8(b[i])) * 1000
			binary.LittleEndian.PutUint32(b[i:], math.Float32bits(v))
		}
	}
	return b
}

// Combined returns the bytes of a reduce, computed one element at a time.
func Combined(sources []phalanx.ObjectID, op phalanx.Op, d phalanx.DType, size int64) ([]byte, error) {
	var total []byte
	for i, id := range sources {
		b := Of(id, d, size)
		if i == 0 {
			total = b
			continue
		}
		for at := int64(0); at < size; at += d.Size() {
			x, y := total[at:at+d.Size()], b[at:at+d.Size()]
			switch {
			case d == phalanx.Float32 && op == phalanx.Sum:
				binary.LittleEndian.PutUint32(x, math.Float32bits(float(x)+float(y)))
			case d == phalanx.Float32 && op == phalanx.Max:
				binary.LittleEndian.PutUint32(x, math.Float32bits(max(float(x), float(y))))
			case d == phalanx.Int64 && op == phalanx.Sum:
				binary.LittleEndian.PutUint64(x, binary.LittleEndian.Uint64(x)+binary.LittleEndian.Uint64(y))
			case d == phalanx.Uint8 && op == phalanx.Xor:
				x[0] ^= y[0]
			default:
				return nil, fmt.Errorf("no test knows %s of %v", op, d)
			}
		}
	}
	return total, nil
}

func float(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

// Differ says where the bytes of an object are not what they must be, or returns
// nil.
func Differ(id phalanx.ObjectID, got, want []byte) error {
	if len(got) != len(want) {
		return fmt.Errorf("%s has %d bytes, want %d", id, len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("byte %d of %s is %#x, want %#x", i, id, got[i], want[i])
		}
	}
	return nil
}
