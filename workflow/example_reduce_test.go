package workflow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/workflow"
)

// Tasks make gradients, wherever they run, and the store combines them where they are.
func ExampleReduce() {
	gradient := workflow.Func1("gradient", 1, func(_ workflow.Context, batch float32) ([]float32, error) {
		return []float32{batch, 2 * batch}, nil
	}).With(workflow.NoEffect)

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir, remove := temporary()
	defer remove()
	node, err := cluster.Join(ctx, cluster.Config{Name: "trainer", Services: []cluster.Service{
		workflow.Settings{Dir: dir, Tasks: workflow.Tasks(gradient)}.Service(),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Leave(ctx) }()

	var all []workflow.Arg[[]float32]
	for batch := range 4 {
		all = append(all, gradient.Bind(workflow.Value(float32(batch))))
	}
	run, err := workflow.Start(ctx, node, "step/1", workflow.Reduce(phalanx.Sum, 0, all...))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run.Result(ctx))
	// Output: [6 12] <nil>
}
