package soak

import (
	"encoding/hex"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/content"
)

// seed names the bytes of one version of an object.
func seed(id phalanx.ObjectID, version int) string { return fmt.Sprintf("%s@%d", id, version) }

// made returns the bytes of a seed.
func made(seed string, size int64) []byte {
	return content.Of(phalanx.ObjectID(seed), phalanx.Int64, size)
}

// hash stands for bytes in histories.
func hash(b []byte) string {
	h := xxh3.Hash128(b).Bytes()
	return hex.EncodeToString(h[:])
}

// summed returns the sum of arrays of int64.
func summed(seeds []string, size int64) ([]byte, error) {
	ids := make([]phalanx.ObjectID, len(seeds))
	for i, s := range seeds {
		ids[i] = phalanx.ObjectID(s)
	}
	return content.Combined(ids, phalanx.Sum, phalanx.Int64, size)
}
