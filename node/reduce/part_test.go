package reduce

import (
	"testing"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// Of small arrays the node with the first source makes the target, and others wait for it. Large
// ones may go around a ring.
func TestPartOf(t *testing.T) {
	sources := []phalanx.ObjectID{"a", "b", "c"}
	for name, c := range map[string]struct {
		has         string
		num, degree int
		size        int64
		part        core.Part
		ring        bool
	}{
		"the first":         {"a", 0, 0, 5, core.Leads, false},
		"another":           {"b", 3, 0, 5, core.Follows, false},
		"the first of two":  {"bc", 0, 0, 5, core.Follows, false},
		"none":              {"", 0, 0, 5, core.Either, false},
		"some of them":      {"b", 2, 0, 5, core.Either, false},
		"large":             {"a", 0, 0, 90, core.Either, true},
		"large, for a tree": {"b", 0, 2, 90, core.Either, false},
		"large, for few":    {"b", 2, 0, 90, core.Either, false},
	} {
		part, ring := PartOf(core.Config{Sources: sources, Num: c.num, Degree: c.degree, InlineLimit: 10, Grain: 30}, func(id phalanx.ObjectID) (phalanx.Generation, phalanx.Meta, bool) {
			for _, h := range c.has {
				if id == phalanx.ObjectID(h) {
					return gen(1), phalanx.Meta{Size: c.size}, true
				}
			}
			return phalanx.Generation{}, phalanx.Meta{}, false
		})
		if part != c.part || ring != c.ring {
			t.Errorf("%s: part %v, ring %v", name, part, ring)
		}
	}
}
