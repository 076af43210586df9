package durable

import (
	"fmt"
	"io"
	"unicode/utf8"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// Store is what a node keeps durably in one folder.
type Store interface {
	Folder
	Replica
	Blobs
}

// Folder is the identity of a Store, and what it remembers of its cluster (workflow specification 3.4 and 3.6).
type Folder interface {
	Identity() Identity
	// Join binds the folder to a cluster for good. It is ErrOtherCluster if it belongs to another one.
	Join(cluster string) error
	// Remember replaces the addresses of the cluster's members, at most MaxMembers.
	Remember(addresses []string) error
	Remembered() []string
	// SawBoot remembers that the cluster has booted for the nth time. A lower n changes nothing.
	SawBoot(n uint64) error
	// Boot returns the greatest number given to SawBoot, or 0.
	Boot() uint64
	// SawGeneration remembers that the ledger has this generation. A lower n changes nothing. A folder whose replica has
	// something of an earlier one is not needed any more.
	SawGeneration(n uint64) error
	// Generation returns the greatest number given to SawGeneration, or 0.
	Generation() uint64
	// Space returns the free space of the file system. Its Err refuses blobs and new runs.
	Space() (Space, error)
	// Failed is closed when the Store is poisoned; Err then says why.
	Failed() <-chan struct{}
	Err() error
	// Close ends the use of the folder. Writes that wait are answered with ErrClosed.
	Close() error
}

// Identity tells folders apart.
type Identity struct {
	Disk    uint64 // random, 48 bits; not 0
	Cluster string // "" until Join
	Opens   uint64 // how often the folder was opened, this time included: lower or equal ones are of copies
}

// Limits of what a Folder remembers.
const (
	MaxMembers = 1024 // addresses
	MaxAddress = 1024 // bytes of one
	MaxCluster = 256  // bytes of a cluster's id
)

// Replica is the log and the rows of one replica of the ledger.
type Replica interface {
	// Begin begins a new replica with an empty log and no rows. It returns raft's id of it, which
	// no other replica has had: the disk, and the number of the replica in it in the lowest 16 bits.
	Begin() (uint64, error)
	// State returns what the replica holds; State.Replica is 0 if none has begun. It is for the
	// time before the first Apply. Entries up to Applied may be missing, as if they were compacted.
	State() (ledger.State, error)
	// Apply makes w durable and calls done once: with nil as soon as w is there, and on the disk if
	// w.Sync, else with an error. Calls of done come in the order of those of Apply; done must not
	// block. w belongs to the Store until done is called. A core has one Write under way at a time;
	// Apply blocks while more than MaxWaiting bytes wait.
	Apply(w ledger.Write, done func(error))
	// Get returns the value of a row, and whether there is one.
	Get(key string) (value []byte, found bool, err error)
	// Scan calls f for the rows whose keys begin with prefix, in the order of keys, until f returns
	// false. It sees the rows of one moment. The rows are f's.
	Scan(prefix string, f func(ledger.Row) bool) error
	// Range is Scan for the keys of [key, end), without an end if that is empty, and for at most limit rows,
	// or all if that is 0.
	Range(key, end string, limit int, f func(ledger.Row) bool) error
	// Snapshot calls done with the rows as they are after the Writes that were given to Apply before, and before
	// those that are given to it after. At most MaxSnapshots are open at once, else ErrBusy. Calls of done
	// come in the order of all answers; done must not block, and closes the snapshot sooner or later.
	Snapshot(done func(Snapshot, error))
	// Receive reads the rows of a snapshot beside the current ones until r ends, and checks them;
	// r gives what a Snapshot has written. A Write with Install then makes them the current ones.
	// The error is ErrMismatch if the stream is not what was written. Streams do not survive a crash.
	Receive(stream uint64, r io.Reader) error
	// Abandon forgets a stream that is not installed. It ends a Receive of it at the next row.
	Abandon(stream uint64) error
}

// Snapshot is the rows as of Index.
type Snapshot interface {
	Index() uint64
	Term() uint64
	Conf() *raftpb.ConfState
	io.WriterTo // encodes the rows, once
	Close() error
}

// Limits of a Replica.
const (
	MaxWaiting   = 64 << 20 // bytes of Writes that wait
	MaxSnapshots = 8        // open at once
	MaxStreams   = 4        // received and not installed
	MaxReplicas  = 1 << 16  // that begin in one folder, 0 not used
)

// Space is the free space of a file system.
type Space struct {
	Free, Total uint64 // bytes
}

// Reserve is what stays free for what runs already: 1 GB or 5 %, whichever is more (workflow specification 3.10).
func (s Space) Reserve() uint64 { return max(1e9, s.Total/20) }

// Fits returns ErrNoSpace if less than the reserve would be free after another size bytes, or if size is a sum that has
// overflowed.
func (s Space) Fits(size int64) error {
	if size < 0 || s.Free < s.Reserve() || s.Free-s.Reserve() < uint64(size) {
		return ErrNoSpace
	}
	return nil
}

// CheckMembers returns ErrInvalid if addresses break the limits of Remember.
func CheckMembers(addresses []string) error {
	if len(addresses) > MaxMembers {
		return fmt.Errorf("%w: %d addresses; at most %d are remembered", ErrInvalid, len(addresses), MaxMembers)
	}
	for _, a := range addresses {
		if a == "" || len(a) > MaxAddress || !utf8.ValidString(a) {
			return fmt.Errorf("%w: an address has 1 to %d bytes of UTF-8, not %.100q", ErrInvalid, MaxAddress, a)
		}
	}
	return nil
}
