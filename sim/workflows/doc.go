// Package workflows adds the ledger and workflows to the nodes of package sim: each node's cores of node/ledger and
// node/workflow on a simulated disk, as package workflow and its keeper host them, clients that start, await, cancel,
// signal and forget runs, and a checker of what runs promise (checker.go).
//
// A machine keeps its folder over crashes; what was not synced may be lost. Besides the faults of the world all machines
// lose their power at once, disks fail, and folders are replaced by empty ones. Tasks run nothing: an attempt has outsiders
// see its effect (outside.go), and its output is a hash of its inputs.
//
// Not simulated: outputs that are objects or blobs, letters in pieces, and disks that are full.
package workflows
