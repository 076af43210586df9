// Package fetch decides what becomes of an object that a node waits for.
//
// Hosts: storenode/store, sim.
package fetch
