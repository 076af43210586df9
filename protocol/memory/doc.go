// Package memory decides which of a node's requests for memory is met next, and
// which is refused.
//
//  1. A request that fits into free memory is met at once, even if others wait. The
//     first waiting request, in order of arrival, that fits is met first.
//  2. A request that has waited for Config.Patience gets a turn of Config.Turn: no other
//     passes it meanwhile, so that it gets all freed memory. One request has its turn
//     at a time. After a turn any request passes for Config.Pause, so that requests which
//     are never met hold the others up for a part of the time only. A request whose
//     turn has ended in vain waits for Patience again.
//  3. Some memory lasts: only a Delete, or the end of an upload, gives it back.
//     A request that would fit only without it gets no turn, and nothing is to be
//     evicted for it. If it is Bounded it is refused at once.
//
// To meet or to enter a request takes a time that grows with the logarithm of how many
// wait. A Queue is not safe for concurrent use.
//
// Hosts: storenode/dataplane, sim.
package memory
