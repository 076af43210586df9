package ledger

import "fmt"

// Effect is everything a Core asks its host to do. Nothing that is sent needs to arrive.
type Effect interface{ effect() }

type (
	// Send asks to bring Data to the replica To, as Receive.
	Send struct {
		To   uint64
		Data []byte // the host's to keep
	}

	// Persist asks the disk to carry out Write. There is never more than one Write without
	// an answer.
	Persist struct{ Write Write }

	// TenureBegan says that this replica leads, and that its disk has all rows that were
	// ever committed. Epoch is raft's term: it is greater than those of all tenures before.
	TenureBegan struct{ Epoch uint64 }

	// TenureEnded says that this tenure commits nothing more that is not under way already.
	TenureEnded struct{ Epoch uint64 }

	// Done says that an append is committed: it is on the disks of a majority.
	Done struct{ Epoch, Number uint64 }

	// Refused says why an append is not Done.
	Refused struct {
		Epoch, Number uint64
		Reason        Reason
	}

	// Stalled says that the oldest append has waited for Config.LateAfter, or, with On false,
	// that it waits no more. Nothing is to be dispatched meanwhile.
	Stalled struct {
		Epoch uint64
		On    bool
	}

	// Readable answers a Read: the disk has all that was committed before it.
	Readable struct{ ID uint64 }

	// NotReadable answers a Read of a replica that does not lead, or leads no more.
	NotReadable struct{ ID uint64 }

	// SendSnapshot asks to bring the rows of the disk to the replica To, and then Data as
	// SnapshotArrived. The rows are those after the last Write before this effect, whose
	// Applied, or that of one before, is Index. SnapshotSent or SnapshotFailed answer it.
	SendSnapshot struct {
		To    uint64
		Index uint64
		Data  []byte
	}

	// DropStream says that the rows of a SnapshotArrived are not needed.
	DropStream struct{ Stream uint64 }

	// Lead names the replica that leads, as far as this one knows; 0: none.
	Lead struct{ Term, Replica uint64 }

	// Group says which replicas there are. A leader says so when it changes. If Settled, no
	// replica needs the others any more: their disks can be deleted.
	Group struct {
		Voters, Learners []uint64 // in ascending order
		Settled          bool
	}

	// Transfers says that this leader has begun to transfer its leadership, because of Cause.
	Transfers struct {
		To    uint64 // 0: to whichever replica campaigns first
		Cause string
	}

	// Halted says that this Core does nothing from now on, and why. It answers each Append
	// and Read still.
	Halted struct{ Err error }

	// Reject says that a message was refused and changed nothing.
	Reject struct {
		From uint64
		Err  error
	}
)

// Reason is why an append was refused.
type Reason int

const (
	// Fenced says that the tenure has ended, or is none of this replica. Whether the append is
	// committed is not known.
	Fenced Reason = iota + 1
	// Busy says that too many bytes wait already. The append was not proposed.
	Busy
	// TooLarge says that the append has more than Config.MaxEntry bytes. It was not proposed.
	TooLarge
	// OutOfOrder says that another number comes next. The append was not proposed.
	OutOfOrder
	// Invalid says that the append has no rows, or one that cannot be. It was not proposed.
	Invalid
)

func (r Reason) String() string {
	switch r {
	case Fenced:
		return "the tenure has ended"
	case Busy:
		return "too many bytes are not committed"
	case TooLarge:
		return "the append is too large"
	case OutOfOrder:
		return "another append comes first"
	case Invalid:
		return "a row is not valid"
	}
	return fmt.Sprintf("Reason(%d)", int(r))
}

func (Send) effect()         {}
func (Persist) effect()      {}
func (TenureBegan) effect()  {}
func (TenureEnded) effect()  {}
func (Done) effect()         {}
func (Refused) effect()      {}
func (Stalled) effect()      {}
func (Readable) effect()     {}
func (NotReadable) effect()  {}
func (SendSnapshot) effect() {}
func (DropStream) effect()   {}
func (Lead) effect()         {}
func (Group) effect()        {}
func (Transfers) effect()    {}
func (Halted) effect()       {}
func (Reject) effect()       {}
