// Package workflow runs tasks that depend on each other, exactly once, whatever is killed.
//
// A program registers functions as tasks, binds them to each other's outputs, and starts the last one:
//
//	draw := workflow.Func0("draw", 1, drawSeed)
//	train := workflow.Func1("train", 1, trainModel).With(workflow.Deterministic, workflow.NoEffect)
//
//	func model() workflow.Step[Model] { return train.Bind(draw.Bind()) }
//
// A task promises by its annotations what the workflow may do with it. Without any it is idempotent: a
// repeat under the same key has no second effect and returns what the first did. Check says whether a
// workflow keeps what its tasks promise, and what they wait for (specification of workflows, section 1).
package workflow
