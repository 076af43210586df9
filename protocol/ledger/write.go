package ledger

import "go.etcd.io/raft/v3/raftpb"

// Row puts Value under Key, or deletes the keys of [Key, End) if End is not empty, or deletes Key if Value is nil.
type Row struct {
	Key, End string
	Value    []byte
}

// Write is what a disk makes durable at once, all or none, in the order of its fields.
type Write struct {
	Number  uint64            // of the write; the host answers with Written{Number}
	Install *Install          // a snapshot that replaces all rows and the log
	Rows    []Row             // of entries that are committed, up to Applied
	Applied uint64            // 0: unchanged
	Conf    *raftpb.ConfState // at Applied; nil: unchanged
	Entries []*raftpb.Entry   // they replace those of the log from the first one's index on
	Hard    *raftpb.HardState // nil: unchanged
	Compact uint64            // entries up to this index may be deleted; 0: none
	Sync    bool              // it must be on the disk before Written; else it may be lost with what follows
}

// Install names the rows that the host has received beside the log (a stream that the core does not see).
type Install struct {
	Index, Term uint64
	Conf        *raftpb.ConfState
	Stream      uint64
}

// State is what a disk holds as it is opened.
type State struct {
	Replica     uint64 // raft's id of this replica: (disk, replica number) as one number
	Hard        *raftpb.HardState
	Conf        *raftpb.ConfState
	Applied     uint64
	AppliedTerm uint64
	First       uint64 // index of Entries[0]
	Entries     []*raftpb.Entry
}
