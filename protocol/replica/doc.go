// Package replica decides how a primary and its backups keep the same state for a key, and how a
// new primary takes over when the members change.
//
// The members of a view are known to all nodes that have it, and from them follow each key's
// primary and backups. A primary makes changes in batches. The package knows nothing of states and
// changes but how many items a state has, as it is copied in pieces: the host bounds a piece.
//
//   - Terms says which primaries a node heeds; it refuses the others. A term is the number of the
//     view in which the members last changed.
//   - Gathering has a new primary's questions to all members, and Tellings their answers, in parts.
//     The primary acts when all have answered or have left the view.
//   - Backups is how a primary has a batch confirmed: by all backups, and before it acts on it.
//   - Copy is a node's replica, and says whether a batch follows. Arrivals are the states that
//     backups get from a primary, as they lack the state before a batch.
//
// Guarantees, if the host sends no answer of a batch before Backups says that it is confirmed, and
// acts as a primary only while it has a lease as a member:
//
//  1. Each later primary knows the answers of earlier ones, as long as one of the key's
//     primary and backups lives.
//  2. Two primaries of a key do not both act: a new one has every member's promise to refuse the
//     old one first.
//  3. A message that is lost, doubled, late or of an earlier term changes no state: a lost one is
//     sent again, the others are refused or ignored.
//
// All are values of one host, which gives them the time. They are not for concurrent use.
//
// Used by: protocol/barrier.
package replica
