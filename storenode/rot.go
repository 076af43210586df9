package storenode

import (
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// rotten gives up c, which was good and is not any more: a receiver found a piece
// bad, and so did this node's own check (specification 3.4). What is complete is
// dropped, what arrives starts over, and what is made here fails.
func (e *Env) rotten(c *objectCopy, bad *dataplane.BadPiece) {
	err := &phalanx.Error{Node: e.Self, Kind: phalanx.ErrCorrupt, Err: fmt.Errorf("its bytes in memory have changed: %w", bad)}
	log := e.Log.WithError(err).WithField("object", c.object)
	if !c.isOver() {
		log.Warn("an object has changed in memory while it was made")
		if pid := e.fetching(c.object); pid != nil {
			e.send(pid, transfer.Rotten{Gen: c.gen})
		}
		for _, pid := range e.makers(c.object) {
			e.send(pid, putFailed{err})
		}
		return
	}
	if !e.Table.discard(c, &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrCorrupt, Node: e.Self, Err: errors.New("the copy was bad")}) {
		return // somebody was faster
	}
	log.Warn("a copy has changed in memory, and is dropped")
	e.report(c.object, directory.Drop{Gen: c.gen})
}

// discard is drop, and reports whether c was not dropped before.
func (t *Table) discard(c *objectCopy, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := c.dropped
	t.dropLocked(c, err)
	return !was
}

// fetching returns the fetch that brings an object, or nil.
func (e *Env) fetching(id phalanx.ObjectID) *actor.PID {
	e.active.mu.Lock()
	defer e.active.mu.Unlock()
	if a := e.active.fetches[id]; a != nil {
		return a.pid
	}
	return nil
}
