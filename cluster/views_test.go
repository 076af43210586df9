package cluster_test

import (
	"testing"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/protocol/view"
)

func TestWhyAShardMoved(t *testing.T) {
	a, leaving := view.Member{ID: "a"}, view.Member{ID: "a", Leaving: true}
	for want, c := range map[string]struct{ old, new []view.Member }{
		"its owner is down":                        {[]view.Member{a}, nil},
		"its owner has left":                       {[]view.Member{leaving}, nil},
		"its owner leaves":                         {[]view.Member{a}, []view.Member{leaving}},
		"the shards are spread over other members": {[]view.Member{a}, []view.Member{a, {ID: "b"}}},
	} {
		if got := cluster.WhyMoved("a", view.View{Members: c.old}, view.View{Members: c.new}); got != want {
			t.Errorf("from %v to %v: %q, want %q", c.old, c.new, got, want)
		}
	}
}
