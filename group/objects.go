package group

import (
	"cmp"
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// The calls of cluster.Node about where objects are, in the group. They need no member, but
// for Prefetch.

// Stat is cluster.Node.Stat in the group.
func (g *Group) Stat(ctx context.Context, id phalanx.ObjectID) (storenode.ObjectStat, error) {
	return in(ctx, g, "stat", nobody, func(ctx context.Context) (storenode.ObjectStat, error) { return g.node.Stat(ctx, id) }, nil)
}

// List is cluster.Node.List in the group. It lists the objects of the cluster: a group has
// none of its own.
func (g *Group) List(ctx context.Context, prefix string) ([]storenode.ObjectStat, error) {
	return in(ctx, g, "list", nobody, func(ctx context.Context) ([]storenode.ObjectStat, error) { return g.node.List(ctx, prefix) }, nil)
}

// Watch is cluster.Node.Watch in the group. Once the group is revoked it ends, and does not
// call f again.
func (g *Group) Watch(ctx context.Context, id phalanx.ObjectID, f func(cluster.Locations) bool) error {
	_, err := in(ctx, g, "watch", nobody, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, g.node.Watch(ctx, id, func(at cluster.Locations) bool { return g.ctx.Err() == nil && f(at) })
	}, nil)
	return err
}

// Prefetch is cluster.Node.Prefetch in the group: nodes fetch the object. If none are named,
// all members' nodes do, except members whose failure is acknowledged. It ends
// with phalanx.ErrFailed when one of these nodes has left the cluster with a member on it whose
// failure is not acknowledged, and may end with phalanx.ErrUnavailable before that is known.
// When the group is revoked, nodes that have begun to fetch the object go on, for as long as
// ctx would have let them.
func (g *Group) Prefetch(ctx context.Context, id phalanx.ObjectID, nodes ...phalanx.NodeID) error {
	if len(nodes) == 0 {
		nodes = g.nodes()
	}
	n := g.needNodes(ctx, nodes)
	defer n.end()
	_, err := in(n, g, "prefetch", nobody, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, g.node.Prefetch(ctx, id, nodes...)
	}, nil)
	if why := n.missing(); err != nil && why != nil && g.ctx.Err() == nil {
		return named(why, "prefetch")
	}
	return err
}

// prefetch is Prefetch for an actor.
func prefetch(c actor.Context, g *Group, p storenode.Prefetch) {
	to, root := c.Sender(), c.ActorSystem().Root
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(max(0, p.Deadline), defaultDeadline))
		defer cancel()
		root.Send(to, &storenode.Prefetched{Object: p.Object, Err: g.Prefetch(ctx, p.Object, p.Nodes...)})
	}()
}
