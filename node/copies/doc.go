// Package copies decides whether a node's copies of objects stay after an owner's order or
// answer, which copies the node evicts, and which reports the owner gets.
//
// Package store applies that to its table of buffers, package sim to a simulated one.
//
// Hosts: storenode/store, sim.
package copies
