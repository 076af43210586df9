// Package workflow decides when a task of a workflow may begin, and what is made again when
// something is lost (workflow specification 1 and 2; thesis on ExoFlow, chapter 3).
//
// A workflow is a Graph of tasks. Check accepts it, or returns a CheckError that says how to mend
// it. Of an accepted graph no recovery undoes a task above an irreversible one that has begun, undoes a
// task without its inputs, or begins an irreversible task again with other inputs.
//
// Events has what each task still waits for. The host tells it which task has ended or is saved.
//
// Run decides for one execution: it begins attempts, writes records, has tasks made again or taken back when
// something is lost, and goes back when a task fails for good. A controller that takes over makes one of the
// records.
//
// A Controller hosts the runs of a tenure of the ledger: it starts, takes over and ends them, answers clients, and
// places attempts on members. An Executor on each member has attempts begin at most once and keeps how they
// have ended. They speak Messages.
//
// Used by: node/workflow, workflow.
package workflow
