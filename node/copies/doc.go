// Package copies decides what becomes of a node's copies of objects after an owner's order
// or answer, which copies are evicted, and what the node reports to the owner.
//
// Package store applies that to its table of buffers, package sim to a simulated one.
//
// Hosts: storenode/store, sim.
package copies
