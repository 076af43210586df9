package group

import (
	"context"
	"maps"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// nodesNeed is a call that needs some nodes. Its context ends when one of them leaves the cluster
// with a member on it whose failure is not acknowledged.
type nodesNeed struct {
	context.Context
	g      *Group
	nodes  map[phalanx.NodeID]bool
	cancel context.CancelCauseFunc
	lost   *phalanx.Error // why it has ended so, or nil; under g.mu
}

// needNodes begins a call that needs nodes. Its end must be called.
func (g *Group) needNodes(ctx context.Context, nodes []phalanx.NodeID) *nodesNeed {
	n := &nodesNeed{g: g, nodes: map[phalanx.NodeID]bool{}}
	for _, id := range nodes {
		n.nodes[id] = true
	}
	n.Context, n.cancel = context.WithCancelCause(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.nodesNeeds == nil {
		g.nodesNeeds = map[*nodesNeed]struct{}{}
	}
	g.nodesNeeds[n] = struct{}{}
	n.look()
	return n
}

// look ends the call if it can no longer end well. The caller holds g.mu.
func (n *nodesNeed) look() {
	if n.lost != nil || len(n.g.failed) == len(n.g.acked) {
		return
	}
	e, v := &MemberError{Group: n.g.name}, n.g.node.View()
	for _, rank := range slices.Sorted(maps.Keys(n.g.failed)) {
		if m := n.g.roster.Members()[rank]; !n.g.acked[rank] && n.nodes[m.Node] && !v.Has(m.Node) {
			e.Ranks, e.Members = append(e.Ranks, rank), append(e.Members, m)
		}
	}
	if len(e.Ranks) > 0 {
		n.lost = failure("need", n.g.name, phalanx.ErrFailed, e)
		n.lost.Node = e.Members[0].Node
		n.cancel(n.lost)
	}
}

// viewed ends calls that need nodes which are no members any more.
func (g *Group) viewed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for n := range g.nodesNeeds {
		n.look()
	}
}

// missing returns why the call has ended before its time, or nil.
func (n *nodesNeed) missing() error {
	n.g.mu.Lock()
	defer n.g.mu.Unlock()
	if n.lost == nil {
		return nil
	}
	return n.lost
}

func (n *nodesNeed) end() {
	n.g.mu.Lock()
	defer n.g.mu.Unlock()
	delete(n.g.nodesNeeds, n)
	n.cancel(nil)
}

// nodes returns the nodes of the members, except members whose failure is acknowledged.
func (g *Group) nodes() []phalanx.NodeID {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []phalanx.NodeID
	for rank, m := range g.roster.Members() {
		if !g.acked[rank] {
			out = append(out, m.Node)
		}
	}
	return out // a node with several members is asked once
}
