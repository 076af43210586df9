package sim

import (
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// phantom checks (24): a complete copy that an owner lists exists. It describes a copy that does
// not, or returns "". Copies of inline objects do not count: a late duplicate of a Locate lists its
// sender, but the owner has the bytes and sends no receiver there.
func (a *audit) phantom() string {
	for _, n := range a.w.alive() {
		for _, s := range n.shards {
			if s == nil || !s.Answers() || s.Warming() {
				continue
			}
			for _, id := range s.Objects() {
				p, _ := s.Inspect(id)
				if p.State != directory.Finished || p.Changing || p.Record.Inline {
					continue
				}
				for _, h := range p.Holders {
					if at := a.w.byID[h.Node]; h.Complete && at != nil && at.of(id) == nil {
						return a.w.sprintf("%s lists a complete copy of %s at %s, which has none", n.id, id, h.Node)
					}
				}
			}
		}
	}
	return ""
}
