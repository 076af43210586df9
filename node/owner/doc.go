// Package owner translates between the cores of transfers and the owners of directory shards:
// what a fetch or a Put wants of an owner becomes a request or a report, and an answer becomes
// an event.
//
// The actors of fetches and Puts in package storenode carry it out, and package sim.
//
// Used by: storenode, sim.
package owner
