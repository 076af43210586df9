package cluster_test

import (
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
)

// The leader of the voters does not reply to a member that does not watch it. The member's
// detector looks at the leader, and finds that the link between the two fails.
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
		suspected := make(chan actors.NodeSuspected, 10)
		s := apart.System().EventStream.Subscribe(func(e any) {
			if e, ok := e.(actors.NodeSuspected); ok {
				suspected <- e
			}
		})
		defer apart.System().EventStream.Unsubscribe(s)
		links[leader.Name()].lose(id.Name())
		defer links[leader.Name()].mend()
		apart.Unanswered(leader)
		select {
		case e := <-suspected:
			if e.Node != leader {
				t.Errorf("%s suspects %s, want %s", id, e.Node, leader)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s does not look at the leader %s", id, leader)
		}
		return
	}
	t.Fatal("three members of a cluster of three voters are voters, beside the leader")
}
