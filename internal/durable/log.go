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
	// Append adds rows, all or none. It calls done once they are durable, or with an error that is
	// ErrFenced when nobody can say whether they are. After the first error no later Append of this
	// tenure takes effect.
	Append(rows []ledger.Row, done func(error))
	// Scan calls f for the rows whose keys begin with prefix, in the order of keys, until f returns false.
	Scan(prefix string, f func(ledger.Row) bool) error
	Done() <-chan struct{}
}
