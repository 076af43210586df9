package durable

import (
	"context"

	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// Log is an ordered log of rows, of which one tenure at a time may append (workflow specification 3).
type Log interface {
	// Run takes part in the log until ctx ends. It calls on for each tenure that this node gets,
	// one after the other in each partition.
	Run(ctx context.Context, on func(Tenure)) error
}

// Tenure is the right to append to one partition of a Log, until Done is closed.
type Tenure interface {
	Partition() int
	// Epoch is greater than the epochs of all earlier tenures of the partition.
	Epoch() uint64
	// Append adds rows, all or none; the rows are the log's to keep. It calls done once they are durable,
	// or with an error: ErrFenced when nobody can say whether they are; ErrBusy when too much waits, and ErrInvalid when
	// the rows cannot be or are too many, of which nothing was added. After the first ErrFenced no later
	// Append of this tenure takes effect. Calls of done come one at a time, in the order of the Appends that
	// were taken; done must not block. Append does not wait either.
	Append(rows []ledger.Row, done func(error))
	// Confirm calls done with nil if this tenure went on after the call: no later one had appended
	// anything by then. Else the error is ErrFenced, or ErrBusy if too many wait. Rows whose Append was
	// done before the call are read after it.
	Confirm(done func(error))
	// Scan calls f for the rows whose keys begin with prefix, in the order of keys, until f returns false.
	// It sees the rows of one moment: all of earlier tenures, and of this one what a Confirm covers at least.
	Scan(prefix string, f func(ledger.Row) bool) error
	// Range is Scan for the keys of [key, end), without an end if that is empty, and for at most limit rows,
	// or all if that is 0.
	Range(key, end string, limit int, f func(ledger.Row) bool) error
	// Stalled reports whether the oldest append waits for so long that nothing is to be dispatched. It
	// turns false before the append that ends that is done.
	Stalled() bool
	// GiveUp ends this tenure, since its owner cannot go on: another one follows, here or on another node. It does
	// not wait.
	GiveUp()
	// Done is closed when this tenure has ended: it appends nothing more. Calls of done that come then are
	// of Appends made before.
	Done() <-chan struct{}
}
