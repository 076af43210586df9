// Package owner translates between the cores of transfers and the owners of directory shards:
// it turns effects of a fetch or a Put into requests and reports, and answers into events.
//
// The actors of fetches and Puts in package store, and package sim, exchange these with owners.
//
// Replicates, Configure, NotHere and Room are for the hosts of the owners: package directory, and package sim.
//
// Used by: directory, storenode/store, sim.
package owner
