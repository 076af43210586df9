// Package detect decides which nodes a node suspects, and when a member is to be
// removed (specification 2.2).
//
// Suspicion is local and can be taken back: a peer whose heartbeats do not come
// back is silent, one whose port refuses a connection is refused. Every member
// tells the voters its suspicions. A voter that knows of two witnesses, itself
// among them, proposes to remove the node; where there is only one other
// member, one witness is enough. Two refusals are proof that the process is
// gone: the voters need not wait for the end of its lease.
//
// Heartbeats are round trips: between the next members in the view, between voters, and
// with peers that have open streams (pace.go has the senders and times). A connection
// that breaks is no verdict, but a reason to look at once; an answer that is overdue is one
// too.
//
// How long silence has to last grows where round trips lately took long: on busy
// machines everything is late.
//
// A node whose own clock was late gives no verdict about others: their messages may
// wait in its own queues.
//
// Hosts: cluster/internal/detector, sim.
package detect
