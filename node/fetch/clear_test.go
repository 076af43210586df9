package fetch

import (
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

// A prefix goes for a later generation; only a reset names one.
func TestCleared(t *testing.T) {
	gen := func(seq uint64) phalanx.Generation { return phalanx.Generation{Epoch: 1, Seq: seq} }
	for name, c := range map[string]struct {
		have        phalanx.Generation
		kind        phalanx.Kind
		goes, newer bool
	}{
		"no prefix":    {phalanx.Generation{}, phalanx.ErrReset, false, true},
		"reset":        {gen(1), phalanx.ErrReset, true, true},
		"aborted":      {gen(1), phalanx.ErrAborted, true, false},
		"corrupt":      {gen(1), phalanx.ErrCorrupt, true, false},
		"the same one": {gen(2), phalanx.ErrReset, false, true},
		"a later one":  {gen(3), phalanx.ErrAborted, false, false},
	} {
		if goes, newer := Cleared(c.have, transfer.Clear{Before: gen(2), Kind: c.kind}); goes != c.goes || newer != c.newer {
			t.Errorf("%s: it goes: %v; for a newer one: %v", name, goes, newer)
		}
	}
}
