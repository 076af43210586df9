package reduce_test

import (
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

func TestPartOf(t *testing.T) {
	const limit = 100
	sources := []phalanx.ObjectID{"a", "b", "c"}
	for _, c := range []struct {
		name        string
		num, degree int
		has         phalanx.ObjectID
		size        int64
		want        reduce.Part
	}{
		{"the first", 3, 0, "a", limit - 1, reduce.Leads},
		{"another", 3, 0, "c", limit - 1, reduce.Follows},
		{"nothing to add", 3, 0, "a", 0, reduce.Leads},
		{"the first of large ones", 3, 0, "a", limit, reduce.Either},
		{"another of large ones", 3, 0, "b", limit, reduce.Either},
		{"some are enough: a follower could not tell which are in", 2, 0, "b", 1, reduce.Either},
		{"a tree is asked for", 3, 2, "a", 1, reduce.Either},
	} {
		if is := reduce.PartOf(sources, c.num, c.degree, c.has, c.size, limit); is != c.want {
			t.Errorf("%s: %d, want %d", c.name, is, c.want)
		}
	}
}
