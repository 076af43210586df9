// Package view decides which nodes are members of the cluster and which node owns
// each shard of the directory.
//
// Members and the shard table form a numbered View. It is agreed by a majority
// of at most Config.Voters members, the voters, with etcd's raft (RawNode, in
// memory): one voter below three members, else the oldest. The others live on
// the views that the leader pushes to them.
//
// What a Core guarantees:
//
//  1. Views with equal numbers are equal on every node, and the numbers that a
//     node publishes rise.
//  2. Only a backup that is in sync becomes the owner of a shard. If there is
//     none when the owner is removed, Shard.LostAt says that the epoch began
//     by loss.
//  3. The epoch of a shard rises whenever its owner or its backup changes or a
//     node that copies its state is called off, so that a node that acts on an
//     older assignment can be recognized.
//  4. A Lease says that a majority of the voters was heard, directly or through
//     their leader, and that no newer view was known then. A silent member
//     loses its shards only after all leases that it may have ended.
//  5. Applying a command twice does nothing more than applying it once; a node
//     that was removed does not come back under the same id.
//
// It survives the loss of a minority of the voters that the view names, also while these
// are being replaced: the leader begins a change only when most of the old and of the new
// voters answer, takes it back if it then hears no majority, and the view names the new ones
// when most of them know that they vote.
// Without a majority no view is decided and leases end; a node that sees that says so, and
// which voters are missing (Majority).
//
// If that majority is lost for good, an operator has a node form the cluster anew (form.go). Then
// there are further guarantees:
//
//  6. A member of a form counts no lease, vote or view of an earlier one, and a node that learns
//     a view of a later form never goes back.
//  7. Without force most members of the view from which the form was made have promised to halt.
//
// Raft's own timers draw on process-wide randomness, which no simulation could
// replay. So only a leader's RawNode is ever ticked, for its heartbeats, and the
// core itself decides when to campaign (election.go).
//
// Voters keep their log in memory only. A node that lost its Core must come back
// under a new NodeID: an old one that forgot its vote could elect two leaders.
//
// A Core is not safe for concurrent use, and it imports, as the only one of the
// cores, a protocol library and its protobuf.
//
// Hosts: cluster/internal/membership, sim.
package view
