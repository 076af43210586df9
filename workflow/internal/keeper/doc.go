// Package keeper keeps a node's part of the ledger of workflows: it hosts the core of node/ledger on the
// node's folder, and gives the tenures of its replica to the host of the controller (workflow specification 3).
//
// A Keeper is a service of its node, and implements durable.Log. Its actor turns messages into events, and effects into
// messages and calls of the disk. It never waits: what takes time runs beside it and returns as a message.
// Replicas talk by address, outside of views, so that they elect a leader before there is a view.
//
// If the actor panics the tenure ends, and its next instance opens the replica again from what the disk holds, when
// the disk has answered all that it was given. A disk that fails ends the replica for good: the event
// actors.ReplicaHalted and a line of the log say what to do.
//
// A snapshot travels in parts, each of which is answered before the next one leaves.
package keeper
