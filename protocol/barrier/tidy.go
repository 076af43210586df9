package barrier

import (
	"maps"

	"github.com/phalanx-go/phalanx"
)

// idleRoom is how many things a map has room for that is not made anew when it is almost empty.
const idleRoom = 256

// tidy gives back the room of maps that had much in them and have little: maps keep theirs. It
// costs nothing until three quarters have gone.
func (c *Core) tidy() {
	if s := &c.shelf; s.most > idleRoom && 4*len(s.replicas) < s.most {
		s.replicas, s.named, s.active = smaller(s.replicas), smaller(s.named), smaller(s.active)
		s.most, s.woken = len(s.replicas), append([]*replica(nil), s.woken...)
		c.manage = map[string][]phalanx.NodeID{}
	}
	if e := &c.entering; e.most > idleRoom && 4*max(len(e.waiters), len(e.groups)) < e.most {
		e.waiters, e.groups, e.queries = smaller(e.waiters), smaller(e.groups), smaller(e.queries)
		e.most, e.stirred = max(len(e.waiters), len(e.groups)), append([]*group(nil), e.stirred...)
	}
}

// smaller returns a copy of m with no spare capacity.
func smaller[K comparable, V any](m map[K]V) map[K]V {
	out := make(map[K]V, len(m))
	maps.Copy(out, m)
	return out
}
