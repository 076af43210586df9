package store

import (
	"cmp"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// Made is how many bytes of its output a place on this node has made.
type Made struct {
	Place int
	Gen   reduce.PlaceGen
	Bytes int64
}

// Made returns how far the places that run here for target have come, by
// position.
func (h *Places) Made(target phalanx.ObjectID) []Made {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []Made
	for key, out := range h.outputs {
		if key.Target != target {
			continue
		}
		m := Made{Place: key.Place, Gen: out.gen}
		switch {
		case !out.sink.isZero():
			m.Bytes = out.sink.watermark()
		case out.output != nil && out.output.delivered.Load(): // the place has given the output up since
			m.Bytes = out.output.meta.Size
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Made) int { return cmp.Or(cmp.Compare(a.Place, b.Place), a.Gen.Compare(b.Gen)) })
	return all
}
