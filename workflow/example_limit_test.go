package workflow_test

import (
	"context"
	"fmt"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/workflow"
)

// At most two attempts of tasks with the limit "gpu" run at once in the cluster, whatever runs they are of.
func ExampleLimit() {
	train := workflow.Func1("train", 1, func(_ workflow.Context, seed int) (int, error) {
		return seed * seed, nil
	}).With(workflow.NoEffect, workflow.Limit("gpu", 2))
	best := workflow.Func1("best", 1, func(_ workflow.Context, all []int) (most int, err error) {
		for _, n := range all {
			most = max(most, n)
		}
		return most, nil
	}).With(workflow.NoEffect)

	var all []workflow.Arg[int]
	for seed := range 10 {
		all = append(all, train.Bind(workflow.Value(seed)))
	}
	fmt.Println(alone(workflow.Tasks(train, best), func(ctx context.Context, node *cluster.Node) (any, error) {
		r, err := workflow.Start(ctx, node, "search", best.Bind(workflow.All(all...)))
		if err != nil {
			return nil, err
		}
		return r.Result(ctx)
	}))
	// Output: 81 <nil>
}
