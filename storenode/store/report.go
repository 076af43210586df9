package store

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/node/owner"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// report tells the owner of an object about this node's copy. It numbers reports in the order
// of their sending, since the owner takes no earlier one after a later. If the owner answers
// that the object is gone, the node drops a complete copy that it announced: the owner does
// not order nodes that it does not list to drop their copies.
func (e *Env) report(id phalanx.ObjectID, body directory.Body) {
	e.reportAs(e.Directory.Nums(1), id, body)
}

// message sends m to the owner of an object. Only the table hears the answer.
func (e *Env) message(id phalanx.ObjectID, m owner.Message) {
	switch m.How {
	case owner.Withdraw:
		e.Directory.Forget(m.Num)
		e.report(id, m.Body)
	case owner.Unkeep:
		e.reportDrop(id, m.Gen)
	default:
		e.report(id, m.Body)
	}
}

// reportDrop tells the owner that this node's copy of a generation, or the part of a fetch or a
// Put, is gone. It does not if this node has a complete copy from another source, which the
// owner lists. The node announces again the bytes of another Put, and bytes that come with the
// answer to an earlier look-up.
func (e *Env) reportDrop(id phalanx.ObjectID, gen phalanx.Generation) {
	e.active.mu.Lock()
	e.active.puts.Unlist(id) // before the look at the table
	if a := e.active.fetches[id]; a != nil {
		a.unlisted.Store(true)
	}
	e.active.mu.Unlock()
	if num, ok := e.Table.unlessWhole(id, gen, func() uint64 { return e.Directory.Nums(1) }); ok {
		e.reportAs(num, id, directory.Drop{Gen: gen})
	}
}

func (e *Env) reportAs(num uint64, id phalanx.ObjectID, body directory.Body) {
	complete := copies.Reported(body)
	e.Directory.Request(id, num, body, func(_ phalanx.NodeID, r directory.Result) {
		if !complete.IsZero() {
			e.heard(id, complete, r)
		}
	})
}

// heard takes the owner's answer to the report of a complete copy. It drops the copy if the
// owner says that there is no such object any more, or another generation of it.
func (e *Env) heard(id phalanx.ObjectID, gen phalanx.Generation, r directory.Result) {
	e.Table.learn(id, gen, r)
	if why := copies.Answered(gen, r); why != copies.Stays {
		e.Table.dropObject(id, gen, e.ended(why, r.Gen))
	}
}
