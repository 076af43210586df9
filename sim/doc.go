// Package sim runs the protocol cores of a whole cluster in one goroutine over
// a simulated network, from a seed.
//
// A simulated node is the glue that the real actors have: it owns the cores of
// a node, turns messages into events and effects into messages and timers, and
// keeps a table of small real objects, so that every byte can be checked. The
// network delays, reorders, duplicates and loses control messages and breaks
// streams, and flips bits in them; nodes join in the middle, but none fails. A
// workload drawn from the seed puts, gets, deletes, restarts and reduces objects
// on random nodes.
//
// After every step the invariants of the specification that can be looked at
// from outside are checked (invariants.go); the oracle (oracle.go) is a dumb
// model of what was put. In the end the faults stop: whatever can end must end,
// and once everything was deleted nothing may be left.
//
// A run is determined by its seed: the same one gives the same trace, whose
// hash Result holds. Nothing here is safe for concurrent use, but runs are
// independent of each other.
package sim
