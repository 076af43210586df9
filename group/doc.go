// Package group has groups that can be revoked, as ULFM adds to MPI.
//
// Members form a group, and make their calls through it. When something has gone
// wrong, one of them revokes it: every call that is under way in the group, at every
// member, ends at once with phalanx.ErrRevoked, and every later one does. Then the
// survivors agree on how to go on, shrink the group to themselves, or grow it by
// newcomers, and go on in the new one.
//
//	node, err := cluster.Join(ctx, cluster.Config{Services: []cluster.Service{barrier.Service(), group.Service()}})
//	g, err := group.Form(ctx, node, "train", group.Everyone(node))
//	view, _, err := g.AllReduce(ctx, storenode.Reduce{…})
//	if err != nil {
//		err = g.Revoke(ctx, "a worker failed")       // the others leave their calls too
//		step, err := g.Agree(ctx, mine, group.Min)   // all get the same
//		g, err = g.Shrink(ctx)                       // a group of the survivors
//	}
//
// A call fails with phalanx.ErrFailed and a MemberError when it can no longer end well without
// members that have failed and are not acknowledged, as soon as this node knows: Reduce,
// AllReduce, Gather and AllGather of all sources, and barriers that the survivors cannot
// meet. A Reduce of some of its sources goes on while enough members are left to bring them, as
// many each. After Acknowledge the survivors can make the same calls among themselves. Every
// other call ends when the group is revoked, or by its deadline.
//
// A group can be formed without members that do not come, by AtLeast and JoinTimeout: they
// count as failed in it, and its members can take them in later, by Grow.
//
// A member runs functions beside its calls by Go and Wait, as with an errgroup: the
// functions end with the group, or when one of them fails. Stat, List, Watch and Prefetch
// work as on the node; Prefetch needs the nodes of its members.
//
// Source: "Logarithmic Revoke Routine" (ULFM 1.0); protocol/group has the core.
package group
