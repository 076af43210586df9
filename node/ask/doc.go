// Package ask decides when a node asks the owners of shards, when it asks again, when it has
// waited too long, and when it lists its copies to a new owner. It has two cores: Requests and
// Owing.
//
// Package directory hosts both in a node (Client and Reporter), package sim in a simulated
// one. A host gives each event to Step, with the time since the node's start, and carries out
// the effects in their order. Due says when Step wants a Tick.
//
// Hosts: directory, sim.
package ask
