// Package workflow describes workflows, tasks that depend on each other, checks them, and runs single attempts of tasks.
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
// task does not want to copy is a Ref: Context.Put makes one, Context.Get reads it where it is. Constants have at most 64 KB.
//
// # What runs
//
// Trial runs single attempts, of a task, its undo or its compensation, in this process, as a node will run them for a workflow: with
// timeouts, heartbeats, panics as errors, and objects.
//
// A run goes on with the workflow that a task returns (Expand0 to Expand3), waits for signals (Event) and sleeps. Check refuses, by a
// CheckError of the rule Support, what can be described and has no rules yet: Reduce and Limit. Actors (ActorRef, Read, Snapshot) are
// checked, but no node moves or copies them yet.
//
// # Concurrency
//
// Tasks, steps and registries do not change after they are made: any number of goroutines may use them. A Context is safe for
// concurrent use until its attempt has ended; then its calls fail with ErrEnded.
package workflow
