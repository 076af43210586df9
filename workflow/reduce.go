package workflow

import (
	"fmt"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/messages"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Reduce is a step that combines the first num of some arrays that are ready, by the store's tree; 0 is all of them. Tasks
// make the arrays. The step is deterministic if order does not show: of all inputs, and no floats. It panics if the op does not
// combine such elements, or if num is no number of inputs.
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
	n := &node{kind: messages.CallReduce, op: op, num: num, makes: codecFor[[]E](), shows: num != 0 || d.IsFloat() || !op.Builtin()}
	n.promise = promise{effect: core.None, deterministic: !n.shows}
	for _, a := range inputs {
		n.in = append(n.in, a.input())
	}
	return Step[[]E]{n}
}
