// Package put decides what a node does for its Puts beside the transfer.Creators that ask the owners:
// which copies it announces, which it drops again, and how it tells the owner of bytes that are not here.
//
// Package store applies that to actors and its table of buffers, package sim to a simulated node.
//
// Hosts: storenode/store, sim.
package put
