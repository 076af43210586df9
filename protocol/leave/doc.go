// Package leave decides how a node leaves gracefully (specification 2.1), and when
// it has.
//
//	marking ──the view says so──▶ handing over ──nothing is left──▶ removing ──▶ left
//	   └──────────── the deadline ──────┴─▶ failed: it says what remains
//
// From the first moment on the node takes nothing new: no Put, no place of a reduce,
// no Reduce, no copy that it is to keep. Calls and places that run may end. After half
// of the time they are given up. Each complete copy is asked about at its owner, which has members that stay
// copy it, and answers once as many of them keep it as were promised.
//
// The node is removed after a look that finds nothing: no call or place that runs, no copy
// that others do not keep, and no shard that is not handed over. Since nothing new begins,
// nothing can come after it.
//
// Where no other member stays, the node hands over nothing: all others leave as well, or are gone.
// It goes when it is removed, whoever asked for that; or when no view can be decided any more, since
// the majority of the voters is lost, for aloneFor. There is no member that it could join again.
//
// If members that are gone were to stay, and a service has something on the node's disk to hand over, the node waits
// for half of its time instead. Where their processes start again over their disks the service begins the cluster anew, and that disk may
// be needed for it.
//
// If the last member that stayed was removed while the node leaves, and its process is not known to be
// gone, the node waits for strayFor: a member that hung joins again, and takes what is handed over.
//
// A node that has begun its cluster anew, in place of one that was dead for good, is alone at first. It waits for AwaitFor since
// then: the others enter.
//
// A node that fails to leave goes on being a member as before: it takes back its mark, so
// that others that leave can rely on it. It can try again.
//
// Guarantee: whatever was acknowledged as put or made here is kept by as many members
// that stay as were promised, unless these fail after they said so.
//
// Hosts: cluster, sim.
package leave
