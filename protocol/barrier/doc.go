// Package barrier decides when the participants of a partial barrier go on.
//
// A partial barrier is a barrier that need not wait for everybody: it fires when
// all are there, or enough of them after a while, or after a timeout, or when the
// arrivals have slowed down (a knee). It lets participants through all at once, a
// few at a time (throttled release), or as many as may be between its entry and its
// end at one time (a semaphore). Source: Albrecht et al., "Loose Synchronization
// for Large-Scale Networked Systems".
//
// There are three machines:
//
//   - Barrier is one barrier: it takes changes (Op) one after the other and says
//     which entries go on. The same changes always make the same state, so that
//     its replicas are alike.
//   - Manager keeps the replicas of the barriers that a node manages. The first
//     on a barrier's list of members is its primary; it has every change on all
//     others of the list before it acts on it.
//   - Entrant is a node's participants: it sends their requests to the primary, all
//     waiting ones in one message, until they are answered.
//     A participant that does not know the barrier's Config asks the primary for it first.
//
// Guarantees:
//
//  1. A barrier fires only by its rule.
//
//  2. An entry is let through once, by one verdict, also if the primary changes.
//
//  3. No more participants hold a semaphore than its count.
//
//  4. Answers are known as long as one of the barrier's managers lives. If all die
//     at once, the nodes of the holders know these. No node knows then whether
//     another barrier has fired: it fires no more.
//
//  5. Two primaries never both act, also if one does not know yet that another has
//     replaced it: a new one first has every member's promise to refuse the old
//     one, and a node that is no member any more has no lease.
//
//  6. From holder to holder of a semaphore of one, the term and the batch of the answer
//     rise: a resource that checks them refuses a holder that has lost it unknowingly.
//
// Holdings is what a host keeps outside of its actor for the Core that follows a panic.
//
// A Core is a Manager and an Entrant that share a view. It is not for concurrent
// use.
//
// Hosts: barrier, sim/barriers.
package barrier
