// Package workflows adds the ledger and workflows to the nodes of package sim: each node's cores of node/ledger and
// node/workflow on a simulated disk, as package workflow and its keeper host them, clients that start, await, cancel,
// signal and forget runs, and a checker of what runs promise (checker.go).
//
// A machine keeps its folder over crashes; what was not synced may be lost, and a write that is torn is one that is not there.
// Besides the faults of the world all machines lose their power at once, disks fail or are full for a while, folders are replaced
// by empty ones, and checkpoints change on their disk. Tasks run nothing: an attempt has outsiders see its effect (outside.go), and
// its output is a hash of its inputs. Large outputs, and those without a checkpoint, are objects in the memory of nodes (store.go),
// with checkpoints on disks (blobs.go). Actors are numbers on nodes (instances.go), which attempts make, read and write by letters
// (seats.go, actors.go); some panic, and some nodes take no calls for a while. Some tasks return graphs, up to two in each other, which
// are a function of the attempt's value (expand.go).
//
// At its end a run of the simulation has proved that each run of a workflow has ended, that outsiders see of each task just the
// effect that its annotations promise, that a deterministic task has the output of a run without faults, that results can be read
// and never change, that no row that was acknowledged was lost, and that nothing is left of what was forgotten.
//
// Not simulated: letters in pieces, and the store's own protocols for the objects of tasks, of which
// store.go keeps the promises.
package workflows
