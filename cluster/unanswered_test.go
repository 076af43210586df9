package cluster_test

import (
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// The leader of the voters does not reply to a member that does not watch it. The member's
// detector then watches the leader for a while. The leader is well, so nothing else has it do so.
func TestLeaderThatDoesNotReplyIsLookedAt(t *testing.T) {
	links := map[string]*bent{}
	nodes := start(t, 9, func(cfg *cluster.Config) { cfg.Voters, links[cfg.Name] = 3, bend(t, cfg) })
	steady(t, nodes)
	v, leader := nodes[0].View(), nodes[0].Leader()
	members, _ := v.IDs("")
	for _, at := range []int{3, 4, 5} { // no neighbours of the leader's; two are voters at most
		id := members[(slices.Index(members, leader)+at)%len(members)]
		if slices.Contains(v.Voters, id) {
			continue
		}
		apart := nodes[slices.IndexFunc(nodes, func(n *cluster.Node) bool { return n.ID() == id })]
		watched := func() bool { return links[leader.Name()].watchedBy(id.Name()) }
		poll.Until(t, string(id)+" does not watch the leader", func() bool { return !watched() })
		apart.Unanswered(leader)
		poll.Until(t, string(id)+" watches the leader that does not reply", watched)
		return
	}
	t.Fatal("three members of a cluster of three voters are voters, beside the leader")
}
