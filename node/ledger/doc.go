// Package ledger decides what a node does about the ledger of workflows (workflow specification 3)
// around the replica that its disk holds: who creates the ledger, which disks there are and which are to
// hold a replica, where replicas and the leader are, and when the node may leave.
//
// Each node hosts one Core. One whose node has a folder is a disk of the ledger: it says so to the node of
// the leader, again and again. The leader chooses one disk, or three from the third one on, on different
// hosts where there are, by the greatest hash of ledger and disk; a disk that was chosen stays until it was
// away for long, failed, or was temporary and is gone, or its node leaves. Then one disk at a time is
// replaced. A Core without a folder only finds the leader.
//
// It guarantees:
//
//  1. Only the first member with a folder, in the life of a cluster, creates a ledger, once, if no member has one.
//  2. A disk takes part in one ledger for good. It takes up the first that a member of its view has, and
//     tells all others which one it is in.
//     A node that joins a cluster in which a member has another one ends its replica.
//  3. Of two disks with one id, the one that was opened earlier or more seldom ends.
//  4. The replicas that are wanted change by one at a time, and only while a disk is there that can take over;
//     from one to three they change at once.
//  5. A tenure is of one incarnation of its node.
//
// Addresses and views are hints: the protocol's core decides by the disks alone.
//
// # What the host does
//
// The host owns one Core and one disk, and carries out the effects in their order as the protocol's
// package says; effects of the protocol's core come inside FromReplica, and its answers go in ForReplica.
// The host gives the Core each lease of the node (Leased), has the node keep one for some two seconds after a WantLease, and
// says when it finds no majority of the voters (NoLease). After Halted the replica is over, and the Core goes on without. A Core is not safe for concurrent use.
//
// Hosts: workflow/internal/keeper, sim/workflows.
package ledger
