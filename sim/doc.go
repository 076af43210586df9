// Package sim runs the protocol cores of a whole cluster in one goroutine over
// a simulated network, from a seed.
//
// A simulated node is the glue that the real actors have: it owns the cores of
// a node, turns messages into events and effects into messages and timers, and
// keeps a table of small real objects, so that every byte can be checked. It
// reacts as they do: to a suspicion, to a removal, to being removed itself. The
// network delays, reorders, duplicates and loses control messages, breaks streams
// and flips bits in them. A workload drawn from the seed puts, gets, deletes,
// restarts, evicts and reduces objects on random nodes.
//
// A run can have services beside the store, or alone (service.go): packages barriers and groups
// are such. A process hosts them over all the lives of its node.
//
// In some runs the application's op fails on one source of one Reduce (op.go).
//
// Nodes leave in good order as well (leave.go): where one goes, all that it has is kept
// by one that stays.
//
// Faults are drawn too (faults.go): nodes die and come back as new incarnations,
// hang, are slow, cut off or falsely suspected, and actors panic. In a bounded
// run one comes at a time, the next when everything is as it should be: then
// every promise of the specification has to hold. In an excessive run they come as
// they were drawn, and only safety is checked, and that calls end.
//
// After every step the invariants of specification 7 that can be looked at
// from outside are checked (invariants.go); the oracle (oracle.go) is a dumb
// model of what was put. In the end the faults stop: whatever can end must end,
// once everything was deleted nothing may be left, and a world in which nothing is left to
// do must be silent (silence.go).
//
// A run is determined by its seed: the same one gives the same trace, whose
// hash Result holds. Nothing here is safe for concurrent use, but runs are
// independent of each other.
package sim
