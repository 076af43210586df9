// Package ask decides what a node asks the owners of shards, when it asks again, when it has
// waited too long, and what it owes to an owner that is new. It has two cores: Requests and
// Owing.
//
// Package directory hosts both in a node (Client and Reporter), package sim in a simulated
// one. A host gives each event to Step, with the time since the node's start, and carries out
// the effects in their order. Due says when Step wants a Tick.
//
// Hosts: directory, sim.
package ask
