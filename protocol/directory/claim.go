package directory

import (
	"slices"

	"github.com/phalanx-go/phalanx"
)

// claim is a request whose answer gave its node a copy: a Locate that got inline bytes, or
// a request that put them. If the node cancels the request, it has not taken the copy by it.
type claim struct {
	num    uint64
	pinned bool
}

// maxClaims bounds the claims of one copy. A request is cancelled soon or not at all, so an older
// one has had its copy.
const maxClaims = 8

// claim lists the complete copy that n has by the answer to its request num: n need not
// tell of it.
func (o *object) claim(n phalanx.NodeID, num uint64, pinned bool) *holder {
	h := o.holder(n)
	if h == nil || h.gen != o.rec.Gen {
		h = o.hold(n, o.rec.Gen)
		h.told = false
	} else if !h.complete {
		h.told = false
	}
	h.complete, h.begun, h.pinned = true, true, h.pinned || pinned
	if slices.ContainsFunc(h.by, func(c claim) bool { return c.num == num }) {
		return h
	}
	if len(h.by) == maxClaims {
		h.told, h.kept = true, h.kept || h.by[0].pinned
		h.by = slices.Delete(h.by, 0, 1)
	}
	h.by = append(h.by, claim{num, pinned})
	return h
}

// disclaim takes back the copy that n has by its request num, and reports whether it had one by
// that. The copy stays listed if n has it otherwise.
func (o *object) disclaim(n phalanx.NodeID, num uint64) bool {
	h := o.holder(n)
	if h == nil {
		return false
	}
	i := slices.IndexFunc(h.by, func(c claim) bool { return c.num == num })
	if i < 0 {
		return false
	}
	h.by = slices.Delete(h.by, i, i+1)
	h.pinned = h.kept || slices.ContainsFunc(h.by, func(c claim) bool { return c.pinned })
	if len(h.by) == 0 && !h.told {
		o.unlist(n)
	}
	return true
}
