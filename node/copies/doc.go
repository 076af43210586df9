// Package copies decides what becomes of a node's copies of objects: what follows from an
// order and from an answer of an owner, and what the owner is told.
//
// Package storenode carries that out on its table of buffers, package sim on a simulated one.
//
// Hosts: storenode, sim.
package copies
