package store

import (
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// corrupted gives up c, since its bytes have changed in memory: a receiver found a piece
// bad, and so did this node's own check.
func (e *Env) corrupted(c *objectCopy, bad *dataplane.BadPiece) {
	err := &phalanx.Error{Node: e.Self, Kind: phalanx.ErrCorrupt, Err: fmt.Errorf("its bytes in memory have changed: %w", bad)}
	log := e.Log.WithError(err).WithField("object", c.Object)
	switch e.Table.corrupted(c, e.endedCorrupt()) {
	case copies.Restarts:
		log.Warn("an object has changed in memory while it was made")
		if pid := e.fetching(c.Object); pid != nil {
			e.send(pid, transfer.Corrupted{Gen: c.Gen})
		}
		for _, pid := range e.makers(c.Object) {
			e.send(pid, putFailed{err})
		}
		e.places.corrupted(c, bad)
	case copies.Removed:
		log.Warn("a copy has changed in memory, and is dropped")
		e.reportDrop(c.Object, c.Gen)
	}
}

// endedCorrupt returns the error for readers of a copy whose bytes have changed in memory.
func (e *Env) endedCorrupt() error {
	return &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrCorrupt, Node: e.Self, Err: errors.New("the bytes of the copy have changed in memory")}
}

// dropChanged drops a copy of this node's own making, which is complete now, if the node has found before
// that its bytes had changed in memory.
func (e *Env) dropChanged(c *objectCopy) {
	if e.Table.dropChanged(c, e.endedCorrupt()) {
		e.Log.WithField("object", c.Object).Warn("a copy had changed in memory before it was complete, and is dropped")
		e.reportDrop(c.Object, c.Gen)
	}
}

// check reads every byte of this node's complete copy of a generation, in a goroutine, and
// tells the owner their digest: another node has accused the copy. It drops a copy whose
// bytes have changed in memory. The node checks one copy after the other, so that many
// accusations do not hold up its calls.
func (e *Env) check(id phalanx.ObjectID, gen phalanx.Generation) {
	if !e.beginCheck(id) { // the owner asks again, and again
		return
	}
	go func() {
		digest, ok := e.digestInTurn(id, gen)
		e.active.mu.Lock()
		delete(e.active.checks, id)
		ok = ok && !e.active.closed
		e.active.mu.Unlock()
		if ok {
			e.report(id, directory.Checked{Gen: gen, Digest: digest})
		}
	}()
}

// digestInTurn is digest, once no other check runs; false if the node's life has ended by
// then: the copy belongs to the next life.
func (e *Env) digestInTurn(id phalanx.ObjectID, gen phalanx.Generation) (d phalanx.Digest, ok bool) {
	e.checking.Lock()
	defer e.checking.Unlock()
	e.active.mu.Lock()
	closed := e.active.closed
	e.active.mu.Unlock()
	if closed {
		return d, false
	}
	return e.digest(id, gen), true
}

func (e *Env) beginCheck(id phalanx.ObjectID) bool {
	e.active.mu.Lock()
	defer e.active.mu.Unlock()
	if e.active.closed || e.active.checks[id] {
		return false
	}
	if e.active.checks == nil {
		e.active.checks = map[phalanx.ObjectID]bool{}
	}
	e.active.checks[id] = true
	return true
}

// digest computes the digest of this node's copy of a generation again; zero if the copy
// is incomplete, or its bytes are bad.
func (e *Env) digest(id phalanx.ObjectID, gen phalanx.Generation) phalanx.Digest {
	c := e.Table.lookup(id)
	if c == nil || c.Gen != gen || !e.Table.retain(c) {
		return phalanx.Digest{}
	}
	defer e.Table.release(c)
	bytes, kept := c.inline, e.Table.digestOf(c)
	if c.buffer != nil {
		var whole bool
		if kept, whole = c.buffer.Digest(); !whole {
			return phalanx.Digest{}
		}
		bytes = c.buffer.Bytes(0, c.buffer.Size())
	}
	bad := &dataplane.BadPiece{}
	digest, corrupted := copies.Finding(kept, dataplane.DigestBytes(bytes), func() bool {
		return c.buffer != nil && !errors.As(c.buffer.Recheck(), &bad)
	})
	if corrupted {
		e.corrupted(c, bad)
	}
	return digest
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
