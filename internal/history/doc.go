// Package history judges what was seen of objects while things failed: it takes
// the recorded calls of many clients and says whether there is an order of them,
// with each call taking effect once between its begin and its end, in which an
// object behaves as specified (linearizability; the search is porcupine's).
//
// The object of the model is one id:
//
//	unbound ─Put(v)→ final(v) ─Delete→ deleted ─Put(any)→ final
//	                  │    ↑
//	                  └Loss┴Put(any)
//
// It allows what the specification allows, and no more:
//
//   - A call whose outcome nobody knows (its node died, it was late, the owner
//     was silent) takes effect at any time after it began, or never.
//   - A Put that fails with ErrDeleted has taken effect before the Delete that it
//     tells of, which runs beside it: what was deleted before can be put again.
//   - After a Delete and a Put that failed, the id may be deleted or unbound: the binding
//     of that Put may have been released.
//   - An object is lost only if its last complete copy can have been on a node
//     that died: whoever records the history knows, and adds a Loss. It may be
//     found again, on a node that was removed and is back, so that after a Loss
//     both the old bytes and other ones are right.
//   - A Get that is marked as Stale may return what was deleted: on a node that
//     was cut off, or has not been told yet (specification 1.10, 2.5).
//
// What is not in the model: begun objects. A Put that fails with ErrExists while
// another of a different size runs tells nothing, as that other may fail.
package history
