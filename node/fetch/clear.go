package fetch

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

// Cleared reports whether the prefix of generation gen goes, zero: there is none, and whether its
// readers hear that a newer generation takes its place. If not, the same one may come again.
func Cleared(gen phalanx.Generation, e transfer.Clear) (goes, newer bool) {
	return !gen.IsZero() && gen.Less(e.Before), e.Kind == phalanx.ErrReset
}
