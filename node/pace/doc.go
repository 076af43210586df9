// Package pace decides which receivers of a node are slow, so that their senders report them to
// the owners (specification 2.13), and when a sender reports that the stream of a lease is broken.
//
// Hosts: storenode/store, sim.
package pace
