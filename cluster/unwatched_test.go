package cluster_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Everything gets lost between the owner of an object and a member that does not watch
// it, nor the owner that member. It notices when no answer comes, and asks by way of
// another.
func TestOwnerThatIsNotWatched(t *testing.T) {
	for range 10 { // the view places voters and shards anew each time
		if askOwnerThatIsNotWatched(t) {
			return
		}
	}
	t.Fatal("all share a shard, or are voters, ten times")
}

// askOwnerThatIsNotWatched reports whether there were such an owner and such a member.
func askOwnerThatIsNotWatched(t *testing.T) bool {
	names := []string{"n4", "n5", "n8", "n9"}
	links := map[string]*bent{}
	nodes := start(t, 9, func(cfg *cluster.Config) {
		cfg.Shards, cfg.Voters = 12, 3
		if slices.Contains(names, cfg.Name) {
			links[cfg.Name] = bend(t, cfg)
		}
	})
	steady(t, nodes)
	v := nodes[0].View()
	apart := func(a, b phalanx.NodeID) bool { // neither is a voter, and they share no shard
		return !slices.Contains(v.Voters, a) && !slices.Contains(v.Voters, b) && !slices.ContainsFunc(v.Shards, func(s view.Shard) bool {
			both := []phalanx.NodeID{s.Owner, s.Backup}
			return slices.Contains(both, a) && slices.Contains(both, b)
		})
	}
	for _, pair := range [][2]int{{3, 7}, {3, 8}, {4, 8}, {7, 3}, {8, 3}, {8, 4}} { // too far from each other in the view
		owner, asker := nodes[pair[0]], nodes[pair[1]]
		shard := slices.IndexFunc(v.Shards, func(s view.Shard) bool { return s.Owner == owner.ID() })
		if shard < 0 || !apart(owner.ID(), asker.ID()) {
			continue
		}
		id := phalanx.ObjectID("x")
		for i := 0; id.Shard(len(v.Shards)) != shard; i++ {
			id = phalanx.ObjectID(fmt.Sprint("x", i))
		}
		links[owner.ID().Name()].lose(asker.ID().Name())
		links[asker.ID().Name()].lose(owner.ID().Name())
		t.Cleanup(func() {
			links[owner.ID().Name()].mend()
			links[asker.ID().Name()].mend()
		})
		if _, err := asker.Put(within(t), id, random(100<<10, 1)); err != nil {
			t.Fatal(err)
		}
		return true
	}
	return false
}
