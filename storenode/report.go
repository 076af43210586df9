package storenode

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// report tells the owner of an object about this node's copy. Reports are
// numbered as they are sent, since the owner takes no earlier one after a later.
// If the object is gone meanwhile, so is a complete copy that was announced:
// nobody would tell this node to drop what it did not list.
func (e *Env) report(id phalanx.ObjectID, body directory.Body) {
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
	e.Directory.Request(id, e.Directory.Nums(1), body, func(_ phalanx.NodeID, r directory.Result) {
		if r.Kind != 0 || complete.IsZero() || r.State != directory.Unbound && r.State != directory.Deleted {
			return
		}
		e.Table.dropObject(id, complete, &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrDeleted, Node: e.Self})
	})
}
