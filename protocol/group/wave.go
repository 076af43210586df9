package group

import (
	"slices"

	"github.com/phalanx-go/phalanx"
)

// nobody is the origin of a wave at the member that begins it, and at members that
// hear of it from another member of their node.
const nobody = -1

// maxHops bounds how many messages of a wave are in one between nodes.
const maxHops = 8192

// wave takes a revoke to local ranks. Each that hears of it for the first time tells
// its neighbours, except the one that told it, and then delivers it.
//
// Members fail together with their nodes, so that more than the degree of the ranks'
// graph may have failed. Therefore a member that hears of it tells the others of its node,
// and the nodes are a binomial graph too, of the same edges if each has one member.
func (c *Core) wave(g *group, hops []Hop, why Revocation) {
	w := spread{g: g, self: c.view.Self, why: why, to: map[phalanx.NodeID][]Hop{}}
	for _, hop := range hops {
		w.reach(hop)
	}
	if len(w.reached) == 0 {
		return
	}
	for _, rank := range g.local {
		w.reach(Hop{nobody, rank})
	}
	nodes := g.roster.nodes
	for _, i := range Neighbours(slices.Index(nodes, c.view.Self), len(nodes)) {
		if node := nodes[i]; w.to[node] == nil && !w.from[node] {
			w.to[node] = []Hop{{nobody, g.roster.ranks[node][0]}}
			g.sent++
		}
	}
	for _, node := range nodes {
		for part := range slices.Chunk(w.to[node], maxHops) {
			c.tell(node, Revoke{Named: g.named(), Revocation: why, Hops: part})
		}
	}
	slices.Sort(w.reached)
	c.emit(Revoked{Group: g.name, Life: g.life, Ranks: w.reached, Revocation: why})
}

// spread is a wave at a node.
type spread struct {
	g       *group
	self    phalanx.NodeID
	why     Revocation
	reached []int
	to      map[phalanx.NodeID][]Hop
	from    map[phalanx.NodeID]bool // nodes that have told of it
}

// reach takes a message of the wave, and all that follow from it here.
func (w *spread) reach(hop Hop) {
	g := w.g
	if w.from == nil {
		w.from = map[phalanx.NodeID]bool{}
	}
	if m := g.roster.member(hop.From); m.Node != "" {
		w.from[m.Node] = true
	}
	for queue := []Hop{hop}; len(queue) > 0; queue = queue[1:] {
		hop := queue[0]
		if _, again := g.wave[hop.To]; again || g.roster.member(hop.To).Node != w.self {
			continue
		}
		g.wave[hop.To] = w.why
		w.reached = append(w.reached, hop.To)
		for _, next := range Neighbours(hop.To, g.roster.Len()) {
			if next == hop.From {
				continue
			}
			g.sent++
			if node := g.roster.members[next].Node; node == w.self {
				queue = append(queue, Hop{hop.To, next})
			} else {
				w.to[node] = append(w.to[node], Hop{hop.To, next})
			}
		}
	}
}
