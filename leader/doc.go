// Package leader elects one of several candidates.
//
// Candidates and observers open an election by its name, on any node that has the service
// of package barrier. A candidate that is elected leads until it resigns or loses that:
//
//	node, err := cluster.Join(ctx, cluster.Config{Services: []cluster.Service{barrier.Service()}})
//	e, err := leader.Open(node, "scheduler")
//	err = e.Lead(ctx, "scheduler at "+addr, func(ctx context.Context, fence barrier.Fence) error {
//		…                                // ctx ends when it does not lead any more
//	})
//	err = e.Observe(ctx, func(l leader.Leader) bool { …; return true })
//
// An election is a semaphore of one (package barrier). Candidates are elected in the order in
// which they have come. Guarantees:
//
//  1. The cluster elects a candidate when the leader before has resigned, or its node has given
//     the leadership up, or the cluster has removed its node.
//  2. The context of a leader ends when it resigns, when its node is about to leave, and when
//     that cannot be sure any more to be a member: 0.3 s after it was last in touch with a
//     majority of the voters. Without a majority no candidate leads.
//  3. Two may nevertheless believe to lead for a short time. A process that is stopped notices
//     nothing before it goes on; a node that owns no part of the directory may be removed 0.2 s
//     before its lease ends; and a leader's message may arrive when another one leads.
//  4. Each leader has a greater Fence than all before it, for as long as the cluster lives, and
//     also if all nodes die that manage the election. A resource that two leaders must not
//     change remembers the greatest Fence that it has seen, and refuses lesser ones: that, and
//     not the context, makes a leader the only one.
//
// A leader does not come back: a candidate that has lost its leadership campaigns again, behind
// the waiting ones.
package leader
