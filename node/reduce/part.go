package reduce

import (
	"cmp"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// RingSoon is how long the caller of an AllReduce waits for its own node to make the target in a
// ring, before it asks others for it.
const RingSoon = 50 * time.Millisecond

// PartOf returns the part of a node in an AllReduce, by the first source that it has, and whether
// the node is likely to make the target in a ring. whole finds complete copies.
func PartOf(cfg core.Config, whole func(phalanx.ObjectID) (phalanx.Generation, phalanx.Meta, bool)) (part core.Part, ring bool) {
	n := len(cfg.Sources)
	num := cmp.Or(cfg.Num, n)
	for _, id := range cfg.Sources {
		if _, meta, ok := whole(id); ok {
			return core.PartOf(cfg.Sources, num, cfg.Degree, id, meta.Size, cfg.InlineLimit), core.RingFits(n, num, cfg.Degree, meta.Size, cmp.Or(cfg.Grain, core.RingGrain))
		}
	}
	return core.Either, false
}
