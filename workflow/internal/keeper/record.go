package keeper

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/internal/logging"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/node/ledger"
	core "github.com/phalanx-go/phalanx/protocol/ledger"
)

// recordKey is the key of the row that says which node begins the cluster anew. No controller uses it.
const recordKey = "ledger/boot"

// readRecord reads the row.
func (a *instance) readRecord(epoch uint64) {
	store := a.k.settings.Store
	a.k.beside("read who begins the cluster anew", func() {
		value, found, err := store.Get(recordKey)
		var r core.Record
		if err == nil && found {
			r, err = messages.UnmarshalLedgerRecord(value)
		}
		if err != nil { // the node begins no cluster
			a.node.Log().WithError(err).Error("the ledger's record of who begins the cluster anew cannot be read")
			return
		}
		a.tell(ledger.Recorded{Epoch: epoch, Record: r})
	})
}

// record appends the row, in the tenure of which the core says so.
func (a *instance) record(c actor.Context, e ledger.Record) {
	a.node.Log().WithField(logging.View, e.Record.Number).Warn("no node is in a cluster any more: this one begins it anew")
	t := a.tenure
	if t == nil || t.epoch != e.Epoch {
		return // the core hears of its end
	}
	done := func(err error) { a.tell(ledger.Recorded{Epoch: e.Epoch, Record: e.Record, Failed: err != nil}) }
	t.ask(&asked{t: t, rows: []core.Row{{Key: recordKey, Value: messages.MarshalLedgerRecord(e.Record)}}, done: done})
}
