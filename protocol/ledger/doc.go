// Package ledger decides what is in the durable log of workflows (workflow specification
// 3), and who boots the view after a restart of everything (boot.go).
//
// The log is replicated by etcd's raft (RawNode) on the disks of one, three or five members.
// Its entries put and delete rows, without logic: replicas of different versions agree. A leader's
// term is a Tenure's epoch: the host's controller appends during it.
//
// What a Core guarantees, as long as a majority of the disks keeps what it has synced:
//
//  1. An append that is Done is on the disks of a majority, and never lost.
//  2. TenureBegan comes when this replica leads and its disk has the rows of all appends that
//     were ever Done. Each epoch begins at most once, on one replica, and later ones are greater.
//  3. The appends of a tenure are committed in the order of their numbers, without gaps. No tenure
//     commits anything after a later one has: two controllers never both commit.
//  4. Replicas that have applied the same entries have the same rows.
//  5. Readable comes when the disk has the rows of all appends that were Done before the Read.
//  6. A replica whose disk failed, has lost what it acknowledged, or is open elsewhere too
//     acknowledges nothing more. An empty disk is a new replica, with a new id.
//
// If a majority of the disks is lost for good nothing is elected any more. Then Survey and Recover have the ledger go on from
// a disk that is left, in a later generation, as a person decides who knows that the others never come back. What that disk had
// survives; epochs are greater than all before; and no replica of an earlier generation votes, leads or follows in the later one.
//
// With a majority of the disks and the network between them a leader is elected and appends end;
// without, they wait. A leader whose disk has failed or is slow hands over. Views give hints for
// elections and decide nothing.
//
// Raft's own timers draw on process-wide randomness, which no simulation could replay. So only a
// leader's RawNode is ever ticked, and the core itself decides when to campaign (election.go).
//
// # What the host does
//
// The host owns one Core and one disk. It opens the disk, raises and syncs the disk's count of
// openings, and calls New with the disk's State. It calls Step for each event, one at a time, and
// carries out the effects in their order, without waiting for one before the next:
//
//   - Persist: gives the Write to the disk, behind the Writes before it, and answers with Written,
//     or with WriteFailed if the write, or any write or sync of this disk ever, failed. It never
//     answers Written before a Write with Sync is on the disk. If what was not synced is lost, what
//     is left are the Writes up to some point, none in part. Compact is always less than Applied: the
//     log on the disk still tells AppliedTerm, unless a snapshot was just installed, which has it.
//   - Send: brings the bytes to that replica's address, and calls Receive there. From is the replica
//     that the connection is from. Addresses are the host's affair. Nothing is repeated by the host.
//   - TenureBegan, TenureEnded: starts and ends the controller. After TenureEnded the controller may
//     still append for a while: that is refused. A controller that fails in between has the tenure
//     end (GiveUp): the next one begins with a new epoch.
//   - Done, Refused: answers one Append. After Refused with Fenced the outcome is not known.
//   - Stalled: dispatches nothing while it is on.
//   - Readable, NotReadable: answers one Read. A host that may not read here asks the leader's.
//   - SendSnapshot: takes the rows of the disk as they are after the last Write before this effect and
//     before the next one (a pebble snapshot is taken by the disk's committer in its turn), streams
//     them to the replica, then Data. It answers with SnapshotSent when the receiving host has
//     called SnapshotArrived, else with SnapshotFailed.
//   - DropStream: deletes the rows of a stream. A Write with Install takes the others over.
//   - Lead: notes where to send requests. Group: notes which disks are needed. Both may be old.
//   - Transfers, Reject: writes a log line.
//   - Halted: closes the disk and ends the Core; a failed or lost disk is replaced.
//
// The host tells each Core which replicas are wanted (Want; only the leader acts on it), which
// replica's node left the view (Left), and that the view has no majority any more (Wake): a group without
// work sleeps, and notices late that its leader is gone. A Tick comes when Due says so. After a Group that is Settled
// the disks of replicas that it does not name can be deleted, and not before.
//
// The row of a Boot's Record is the host's to encode; it appends it in the tenure of which it told
// the Boot. The host carries Standing to those that Ask, and Heard back, or NotListening if the
// connection is refused.
//
// A Core and a Boot are not safe for concurrent use. A Core keeps the part of the log that the disk
// keeps in memory as well; Config bounds it.
//
// Used by: internal/durable, internal/durable/memory, workflow/internal/disk.
package ledger
