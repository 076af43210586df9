// Package detect decides whom a node suspects, and what it takes to have a
// member removed (specification 2.2).
//
// Suspicion is local and can be taken back: a peer whose heartbeats do not come
// back is silent, one whose port refuses a connection is refused. Every member
// tells the voters whom it suspects. A voter that knows of two witnesses, itself
// among them, proposes to remove the node; where there is only one other
// member, one witness is enough. Two refusals are proof that the process is
// gone: its lease need not be waited for.
//
// Heartbeats are round trips: between the next members in the view, between voters, and
// with peers that have open streams (pace.go says who sends them, and when). A connection
// that breaks is no verdict, but a reason to look at once; an answer that is overdue is one
// too.
//
// How long silence has to last grows where round trips lately took long: on busy
// machines everything is late.
//
// A node whose own clock was late gives no verdict about others: what it did not
// hear may wait in its own queues.
//
// Hosts: cluster/internal/detector, sim.
package detect
