// Package sim runs the protocol cores of a whole cluster in one goroutine over a simulated network,
// from a seed.
//
// A simulated node replaces the actors of a real one: it owns the cores of a node, turns messages
// into events and effects into messages and timers, and keeps a table of small real objects, so
// that the checks see every byte. It reacts to suspicions, to removals and to its own removal as
// the actors do. The network delays, reorders, duplicates and loses control messages, breaks
// streams and flips bits in them. A workload drawn from the seed puts, gets, deletes, restarts,
// evicts and reduces objects on random nodes.
//
// A run can have services beside the store, or alone (service.go), such as packages barriers,
// groups and workflows. A process hosts them over all the lives of its node. A service with disks has a
// part that is there before the node is a member: if all nodes lose their power, it decides which of
// them begins the cluster anew, and in a run with such a service all machines come back in the end.
//
// In some runs the application's op fails on one source of one Reduce (op.go).
//
// Nodes join by asking seeds over the same network (join.go): each is ready by its deadline, or
// tries again as a new incarnation. Nodes also leave in good order (leave.go): the members that stay keep all objects of a node that
// goes.
//
// The seed also draws faults (faults.go): nodes die and come back as new incarnations, hang, are
// slow, cut off or falsely suspected, and actors panic. In a bounded run each fault waits until the
// cluster has repaired the one before: every promise of the specification has to hold. In an
// excessive run faults come at the times drawn, and the simulator checks only safety, and that
// calls end.
//
// After every step the simulator checks the invariants of specification 7 that are visible from
// outside (invariants.go); the oracle (oracle.go) is a dumb model of the objects. At the end the
// faults stop: every call that can end must end, nothing may be left once everything was deleted,
// and a world with nothing left to do must be silent (silence.go).
//
// The files:
//
//   - run, plan, workload, rare, alone, shrink, trace: a run, its actions and its calls
//   - network, encode, link, carry, unheard, stream, pace: control messages and streams of bytes
//   - host, node, client, want, memory, evict, table: a machine and its node
//   - voters, suspicion, form, rest, leave: the view and its members
//   - create, maker, supply, orders: Puts, and the orders of owners
//   - fetch, fetchinline, probe, reader: fetches and Gets
//   - coordinator, reduce, place, edge, ring, op, allreduce: Reduces
//   - faults, pair, corruption: faults
//   - invariants, losses, oracle, phantom, silence: the checks
//   - service: the protocols beside the store
//
// The seed determines a run: a second run gives the same trace, whose hash Result holds. Nothing
// here is safe for concurrent use, but runs are independent of each other.
package sim
