package workflow

import (
	"fmt"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/messages"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Reduce is a step that has the store combine the first num of some arrays that are ready, in a tree of their nodes; 0 is all of
// them. Tasks make the arrays; all have one length. It begins when num of the arrays are there, so that tasks without effect that
// read its output, and those with an Undo, do not wait for the slowest. An idempotent task, which is the default, does: it waits until no
// array of the Reduce can change any more. The run ends when all tasks have ended, also those whose arrays came too late, and fails if
// one of them fails. A Reduce waits for all arrays if the elements of one are the outputs of several tasks (All). An op of the application is registered with each node (cluster.Config.Ops). The
// step has no effect, and is deterministic if order does not show: of all inputs, and no floats. It may have a Timeout, which is
// else 10 minutes, a Limit and a Retry. It panics if the op does not combine such elements, or if num is no number of inputs.
func Reduce[E cluster.Element](op phalanx.Op, num int, inputs ...Arg[[]E]) Step[[]E] {
	d := cluster.DTypeOf[E]()
	if op == "" || op.Builtin() && !op.Supports(d) {
		panic(fmt.Sprintf("workflow: the op %q does not combine elements of type %v", op, d))
	}
	if len(inputs) == 0 || num < 0 || num > len(inputs) {
		panic(fmt.Sprintf("workflow: a reduce takes %d of %d inputs", num, len(inputs)))
	}
	if num == len(inputs) {
		num = 0
	}
	n := &node{kind: messages.CallReduce, op: op, dtype: d, num: num, makes: codecFor[[]E](), shows: arrivalShows(op, d, num)}
	n.promise = promise{effect: core.None, deterministic: !n.shows}
	for _, a := range inputs {
		n.in = append(n.in, a.input())
	}
	return Step[[]E]{n}
}

// arrivalShows reports whether the output of a reduce shows in which order its inputs arrive.
func arrivalShows(op phalanx.Op, d phalanx.DType, num int) bool {
	return num != 0 || d.IsFloat() || !op.Builtin()
}
