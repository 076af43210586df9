// Package workflow describes workflows, tasks that depend on each other, checks them, and runs them on a cluster.
//
// # Promises come first
//
// A task without annotations promises to be idempotent: a repeat under the same Context.Key, even at the same time, has no
// second effect and returns what the first did. A run repeats tasks when nodes fail, so a task that does not keep this takes effect
// twice. Each such task is logged once, unless it says Idempotent. The other ways are NoEffect, Undo, and Deterministic
// (workflow specification 1.1 and 1.2). Package worktest tests each promise.
//
// # Programs
//
// A program registers functions as tasks and binds them to each other's outputs:
//
//	draw := workflow.Func0("draw", 1, drawSeed)
//	train := workflow.Func1("train", 1, trainModel).With(workflow.Deterministic, workflow.NoEffect)
//
//	func model() workflow.Step[Model] { return train.Bind(draw.Bind()) }
//
// Check says whether a workflow keeps what its tasks promise, and what they wait for. Describe returns it for people, as a picture
// in DOT and as JSON.
//
// # Arguments and outputs
//
// Bytes and arrays of numbers go between tasks as they are, protobuf messages as such, and other types as JSON; types that lose
// something on the way are refused when a task is made, and texts that are not UTF-8 when they are encoded. A function owns its
// arguments: they are copies. An output above 64 KB becomes an object in the store by itself. A large value that a
// task does not want to copy is a Ref: Context.Put makes one, Context.Get reads it where it is. The
// checkpoint of an output has the objects of all Refs in it; a constant with Refs (Value) has one as well, unless it is Borrowed. Constants have at most 64 KB.
//
// # Runs
//
// Service, in cluster.Config.Services, has a node take part: with Settings.Tasks it executes tasks, and with Settings.Dir it keeps
// the ledger, in which each step of a run is durable before it counts. Start begins a run under an id, on any node, and Run.Result
// waits for its end; Attach finds it again, after a restart of everything as well. A run goes on when nodes die: tasks are
// repeated under their keys, and outputs that are lost are made again. If a task fails for good, or the run is canceled (Cancel),
// the run goes back: what has been done is compensated or undone. Graph says how each task stands and History what has happened; StatusOf says what a run waits for, and Resume goes on with one that is stuck.
//
// A run goes on with the workflow that a task returns (Expand0 to Expand3), waits for signals (Event, Signal) and sleeps.
//
// Trial runs single attempts, of a task, its undo or its compensation, in this process and outside of any run.
//
// Reduce is a step that has the store combine arrays which tasks have made, where they are.
//
// Limit bounds how many attempts of some tasks run at once, in all runs and on all nodes.
//
// # Actors
//
// A task can keep state in memory from task to task, in actors. Actor declares a kind and Method its methods; a task makes actors
// (ActorKind.Spawn), calls them wherever they live (ActorMethod.Call), and returns them as ActorRefs:
//
//	var (
//		models = workflow.Actor("model", 1, newModel).Snapshots((*model).bytes, loadModel)
//		fit    = workflow.Method(models, "fit", (*model).fit)                     // func(*model, workflow.ActorContext, Batch) (float64, error)
//		score  = workflow.Method(models, "score", (*model).score).ReadOnly()
//	)
//
//	func train(c workflow.Context, m workflow.ActorRef, b Batch) (workflow.ActorRef, error) {
//		_, err := fit.Call(c, m, b)
//		return m, err
//	}
//
// A task that is bound to the output of a step writes its actors; with Read it only reads them. Snapshot, on the step that writes, has them
// saved, so that they are restored when a node dies or a later attempt fails; without it the tasks that have made them run again.
//
// # Concurrency
//
// Tasks, steps and registries do not change after they are made: any number of goroutines may use them. A Context is safe for
// concurrent use until its attempt has ended; then its calls fail with ErrEnded.
package workflow
