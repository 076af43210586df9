// Package reduce decides what a node does around the core of a Reduce that it coordinates:
// which requests it sends to the owners of the target and the sources and what their answers
// mean, which nodes get orders, which reports count, with which state the actor restarts, and
// when the caller gets its answer.
//
// The coordinator's actor in package coordinator hosts a Run, and so does package sim. A host
// gives each event to Step, with the time since the node's start, and carries out the effects
// in their order. Due says when Step wants a Tick. A host uses no Run again that has panicked:
// it carries out the effects of that step that last (Lasts), ends the Run with Failed and begins
// a new one with the same Memory.
//
// On the nodes that have the sources, Obey decides the consequences of a coordinator's order,
// and a Place decides around its core when it ends, which commands the node refuses, and when
// others may read its output. The place's actor in package store hosts it.
//
// A Run has only bytes of small sources, which came from their owners. The host combines them.
//
// Hosts: coordinator, storenode/store, sim.
package reduce
