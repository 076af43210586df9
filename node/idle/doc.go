// Package idle decides when a node without requests has a lease: it has none
// (docs/adr/0017), asks for one with the first request, and keeps events for its shards until
// it has one.
//
// Package directory hosts the Gate, and package cluster asks Wants; package sim hosts both.
// Package barrier has a grant without a lease wait for HoldFor.
//
// Hosts: directory, cluster, barrier, sim.
package idle
