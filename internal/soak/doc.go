// Package soak works a cluster of real processes for a long time while they are
// killed, stopped, and leave and join, and checks everything that comes of it:
// each byte, each sum, each error, the order in which things were seen
// (package history), and that nothing stays behind.
//
// The driver (Run) is no node. It starts the processes, whose inside is Node,
// and gives them orders: one line of JSON on a pipe, answered by a line on their
// standard output, where they also tell what their nodes saw. It lets one fault
// happen at a time, and waits until voters, backups and copies are restored
// before the next, because that is what the promises are about.
//
// A run is a warm-up without faults, then rounds. At the end of each of them
// faults stop, all calls end, everything is deleted, and what each process still
// holds is looked at. So the history that has to be kept and judged stays small.
//
// What a failed call may have failed with is decided by what is known of the
// faults (judge.go): which process was hit and when, and whether the only copies
// of the object can have been there.
package soak
