// Package pace decides which receivers of a node are slow, so that their senders report them to
// the owners (specification 2.13), when a sender reports that the stream of a lease is broken, and
// how fast a node says that it and its senders are.
//
// Hosts: storenode/store, sim.
package pace
