// Package fetch decides around the core of a fetch: when the fetch asks for its owner, which
// memory an arriving object reserves, and which small objects wait for memory.
//
// Hosts: storenode/store, sim.
package fetch
