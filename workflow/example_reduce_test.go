package workflow_test

import (
	"context"
	"fmt"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/workflow"
)

// Tasks make gradients, wherever they run, and the store combines them where they are.
func ExampleReduce() {
	gradient := workflow.Func1("gradient", 1, func(_ workflow.Context, batch float32) ([]float32, error) {
		return []float32{batch, 2 * batch}, nil
	}).With(workflow.NoEffect)

	var all []workflow.Arg[[]float32]
	for batch := range 4 {
		all = append(all, gradient.Bind(workflow.Value(float32(batch))))
	}
	fmt.Println(alone(workflow.Tasks(gradient), func(ctx context.Context, node *cluster.Node) (any, error) {
		r, err := workflow.Start(ctx, node, "step/1", workflow.Reduce(phalanx.Sum, 0, all...))
		if err != nil {
			return nil, err
		}
		return r.Result(ctx)
	}))
	// Output: [6 12] <nil>
}
