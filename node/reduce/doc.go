// Package reduce decides what a node does around the core of a Reduce that it coordinates:
// what is asked of the owners of the target and the sources, and what their answers mean,
// which nodes get orders, which reports count, what a restart of the actor begins with, and
// when the caller is answered.
//
// The coordinator's actor in package coordinator hosts a Run, and so does package sim. A host
// gives each event to Step, with the time since the node's start, and carries out the effects
// in their order. Due says when Step wants a Tick. A Run that has panicked is not used again:
// the host carries out what Lasts of the step that it was in, ends it with Failed and begins a new
// one with the same Memory.
//
// On the nodes that have the sources, Obey decides what follows from a coordinator's order, and
// a Place what a place does around its core: when it ends, what the node cannot do, and when
// others may read its output. The place's actor in package storenode hosts it.
//
// Of the bytes of small sources a Run has only those that came from their owners. The host
// combines them.
//
// Hosts: coordinator, storenode, sim.
package reduce
