package single

import (
	"sync/atomic"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// tenure is a term in which the replica leads.
type tenure struct {
	h       *host
	epoch   uint64
	ended   chan struct{}
	stalled atomic.Bool

	// of the loop
	first, next uint64 // appends that are done, and all
	appends     map[uint64]func(error)
}

var _ durable.Tenure = (*tenure)(nil)

func (t *tenure) Partition() int        { return 0 }
func (t *tenure) Epoch() uint64         { return t.epoch }
func (t *tenure) Stalled() bool         { return t.stalled.Load() }
func (t *tenure) Done() <-chan struct{} { return t.ended }

func (t *tenure) Append(rows []ledger.Row, done func(error)) {
	if !t.h.events.add(appending{t, rows, done}) {
		done(durable.ErrFenced)
	}
}

func (t *tenure) Confirm(done func(error)) {
	if !t.h.events.add(confirming{t, done}) {
		done(durable.ErrFenced)
	}
}

func (t *tenure) Scan(prefix string, f func(ledger.Row) bool) error {
	return t.h.log.disk.Scan(prefix, f)
}

func (t *tenure) Range(key, end string, limit int, f func(ledger.Row) bool) error {
	return t.h.log.disk.Range(key, end, limit, f)
}
