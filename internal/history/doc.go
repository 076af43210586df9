// Package history judges the calls of many clients while nodes and links failed. It
// takes the recorded calls and decides whether there is an order of them, with each
// call taking effect once between its begin and its end, in which an object behaves
// as specified (linearizability; the search is porcupine's).
//
// The object of the model is one id:
//
//	unbound ─Put(v)→ final(v) ─Delete→ deleted ─Put(any)→ final
//	                  │    ↑
//	                  └Loss┴Put(any)
//
// It allows what the specification allows, and no more:
//
//   - A call of unknown outcome (its node died, it was late, the owner was silent)
//     takes effect at any time after it began, or never.
//   - A Put that fails with ErrDeleted has taken effect before a Delete that runs
//     beside it: after an earlier Delete the id can be put again.
//   - After a Delete and a Put that failed, the id may be deleted or unbound: the binding
//     of that Put may have been released.
//   - An object is lost only if its last complete copy can have been on a node
//     that died: the recorder of the history knows, and adds a Loss. The object may
//     be found again, on a node that was removed and is back, so that after a Loss
//     both the old bytes and other ones are right.
//   - A Get that is marked as Stale may return a deleted object: on a node that was
//     cut off, or has not heard of the Delete yet (specification 1.10, 2.5).
//
// The model has no begun objects. A Put that fails with ErrExists while another of a
// different size runs proves nothing, as the other may fail.
package history
