package replica

import (
	"testing"

	"github.com/phalanx-go/phalanx"
)

// A replica of a later term is newer, whatever its batches are numbered.
func TestVersions(t *testing.T) {
	for _, c := range []struct {
		v, of               Version
		newer, has, follows bool
	}{
		{v: Version{2, 5}, of: Version{2, 4}, newer: true, has: true},
		{v: Version{2, 5}, of: Version{2, 5}, has: true},
		{v: Version{2, 5}, of: Version{2, 6}, follows: true},
		{v: Version{2, 5}, of: Version{2, 7}},
		{v: Version{2, 5}, of: Version{1, 5}, newer: true},
		{v: Version{2, 5}, of: Version{1, 9}, newer: true},
		{v: Version{2, 5}, of: Version{3, 6}},
		{v: Version{2, 5}, of: Version{3, 4}},
	} {
		if newer, has, follows := c.v.Newer(c.of), c.v.Has(c.of), c.v.Follows(c.of); newer != c.newer || has != c.has || follows != c.follows {
			t.Errorf("%s and %s: newer %v, has %v, follows %v", c.v, c.of, newer, has, follows)
		}
	}
}

// A replica is dropped for the primary that made its last batch, and for that of the view.
func TestForgets(t *testing.T) {
	replica := Copy{Version{2, 5}, "a#1"}
	for _, c := range []struct {
		from phalanx.NodeID
		term uint64
		want bool
	}{{"a#1", 2, true}, {"b#1", 2, true}, {"b#1", 3, true}, {"c#1", 3, false}, {"a#1", 1, false}, {"b#1", 1, false}} {
		if got := replica.Forgets(c.from, c.term, "b#1"); got != c.want {
			t.Errorf("for %s in term %d: %v", c.from, c.term, got)
		}
	}
}
