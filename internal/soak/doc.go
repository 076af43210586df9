// Package soak works a cluster of real processes for a long time, kills and stops
// some of them, and has others leave and join. It checks all results: each byte,
// each sum, each error, the order of all calls (package history), and that nothing
// stays behind.
//
// The driver (Run) is no node. It starts the processes, each of which runs Node,
// and gives them orders: one line of JSON on a pipe. They answer with a line on
// their standard output, where they also report the events of their nodes. The
// driver causes one fault at a time, and waits until voters, backups and copies are
// restored before the next: the cluster promises to survive no more than that.
//
// A run is a warm-up without faults, then rounds. At the end of a round faults stop,
// all calls end, and the driver deletes everything and looks at the rest that each
// process still holds. So the history that it keeps and judges stays small.
//
// The driver's record of the faults decides which errors a call may have
// (judge.go): which process was hit and when, and whether the only copies of the
// object can have been there.
//
// RunWorkflows does the same for workflows, with processes that have folders (WorkflowNode) and start again over them. The
// programs are those of examples. Their effects are files, and a store of which the driver is the server: no fault reaches
// them. At the end of a round each effect is there once, books balance, and no run is left.
package soak
