package group

import (
	"slices"

	"github.com/phalanx-go/phalanx"
)

// nobody is where a wave comes from at the member that begins it.
const nobody = -1

// maxHops bounds how many messages of a wave are in one between nodes.
const maxHops = 8192

// wave takes a revoke to local ranks. Each that hears of it for the first time tells
// its neighbours, but for the one it has it from, and then delivers it.
func (c *Core) wave(g *group, hops []Hop, why Revocation) {
	to := map[phalanx.NodeID][]Hop{}
	var reached []int
	for queue := slices.Clone(hops); len(queue) > 0; queue = queue[1:] {
		hop := queue[0]
		if hop.To < 0 || hop.To >= g.roster.Len() || g.roster.members[hop.To].Node != c.view.Self {
			continue
		}
		if _, again := g.wave[hop.To]; again {
			continue
		}
		g.wave[hop.To] = why
		reached = append(reached, hop.To)
		for _, next := range Neighbours(hop.To, g.roster.Len()) {
			if next == hop.From {
				continue
			}
			g.sent++
			if node := g.roster.members[next].Node; node == c.view.Self {
				queue = append(queue, Hop{hop.To, next})
			} else {
				to[node] = append(to[node], Hop{hop.To, next})
			}
		}
	}
	for _, node := range g.roster.nodes {
		for part := range slices.Chunk(to[node], maxHops) {
			c.tell(node, Revoke{Group: g.name, Revocation: why, Hops: part})
		}
	}
	if len(reached) > 0 && g.formed {
		slices.Sort(reached)
		c.emit(Revoked{Group: g.name, Ranks: reached, Revocation: why})
	}
}
