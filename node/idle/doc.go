// Package idle decides what becomes of a node that nobody asks for anything: it has no lease
// (docs/adr/0017), wants one with the first request, and keeps what comes for its shards until
// there is one.
//
// Package directory hosts the Gate, and package cluster asks Wants; package sim hosts both.
// Package barrier has what is granted without a lease wait for HoldFor.
//
// Hosts: directory, cluster, barrier, sim.
package idle
