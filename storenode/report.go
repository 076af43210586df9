package storenode

import (
	"context"
	"sync/atomic"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// report tells the owner of an object about this node's copy. Reports are
// numbered as they are sent, since the owner takes no earlier one after a later.
// If the object is gone meanwhile, so is a complete copy that was announced:
// nobody would tell this node to drop what it did not list.
func (e *Env) report(id phalanx.ObjectID, body directory.Body) {
	e.reportAs(e.Directory.Nums(1), id, body)
}

// reportDrop tells that a fetch has given up its part of a generation, unless this
// node has all of it from somebody else: the owner lists that.
func (e *Env) reportDrop(id phalanx.ObjectID, gen phalanx.Generation) {
	if num, ok := e.Table.unlessWhole(id, gen, func() uint64 { return e.Directory.Nums(1) }); ok {
		e.reportAs(num, id, directory.Drop{Gen: gen})
	}
}

func (e *Env) reportAs(num uint64, id phalanx.ObjectID, body directory.Body) {
	var complete phalanx.Generation
	switch b := body.(type) {
	case directory.Announce:
		if b.Complete {
			complete = b.Gen
		}
	case directory.Done:
		if b.Complete {
			complete = b.Gen
		}
	}
	e.Directory.Request(id, num, body, func(_ phalanx.NodeID, r directory.Result) {
		if !complete.IsZero() && !r.Waiting {
			e.outlived(id, complete, r)
		}
	})
}

// outlived drops a complete copy of generation gen, if its owner's answer says
// that there is no such object any more, or another generation of it.
func (e *Env) outlived(id phalanx.ObjectID, gen phalanx.Generation, r directory.Result) {
	switch {
	case r.Kind != 0:
	case r.State == directory.Unbound || r.State == directory.Deleted:
		e.Table.dropObject(id, gen, &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrDeleted, Node: e.Self})
	case gen.Less(r.Gen):
		e.Table.dropObject(id, gen, &dataplane.Ended{Reason: dataplane.Reset, Generation: r.Gen, Node: e.Self})
	}
}

// Confirm asks the owners of all complete copies whether these are still what
// they should be, and drops those that are not. It returns when all have
// answered, or ctx ends: who does not answer may answer later.
func (e *Env) Confirm(ctx context.Context) {
	var held []directory.Holding
	for _, h := range e.Table.Everything() {
		if h.Complete {
			held = append(held, h)
		}
	}
	if len(held) == 0 {
		return
	}
	var left atomic.Int64
	left.Store(int64(len(held)))
	all := make(chan struct{})
	for _, h := range held {
		e.Directory.Request(h.Object, e.Directory.Nums(1), directory.Announce{Gen: h.Gen, Complete: true, Pinned: h.Pinned},
			func(_ phalanx.NodeID, r directory.Result) {
				if r.Waiting {
					return
				}
				e.outlived(h.Object, h.Gen, r)
				if left.Add(-1) == 0 {
					close(all)
				}
			})
	}
	select {
	case <-all:
	case <-ctx.Done():
	}
}
