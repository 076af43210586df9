// Package workflow describes workflows, tasks that depend on each other, and checks them. No
// program can run them yet.
//
// A program registers functions as tasks and binds them to each other's outputs:
//
//	draw := workflow.Func0("draw", 1, drawSeed)
//	train := workflow.Func1("train", 1, trainModel).With(workflow.Deterministic, workflow.NoEffect)
//
//	func model() workflow.Step[Model] { return train.Bind(draw.Bind()) }
//
// A task promises by its annotations what a run may do with it. Without any it is idempotent: a
// repeat under the same key has no second effect and returns what the first did. Check says whether a
// workflow keeps what its tasks promise, and what they wait for (specification of workflows, section 1).
package workflow
