package workflow_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/workflow"
)

// A node with a folder runs workflows. If the process ends in the middle, the run goes on when a node starts over the
// folder: the money is taken once.
func ExampleStart() {
	pay := workflow.Func1("pay", 1, func(c workflow.Context, cents int) (string, error) {
		return fmt.Sprintf("receipt over %d", cents), nil // by c.Key() the bank knows a repeat
	}).With(workflow.Idempotent)
	ship := workflow.Func1("ship", 1, func(_ workflow.Context, receipt string) (string, error) {
		return "shipped for the " + receipt, nil
	}).With(workflow.Idempotent)

	dir, err := os.MkdirTemp("", "workflows")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := cluster.Join(ctx, cluster.Config{Name: "shop", Services: []cluster.Service{
		workflow.Settings{Dir: dir, Tasks: workflow.Tasks(pay, ship)}.Service(),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Leave(ctx) }()

	run, err := workflow.Start(ctx, node, "order/42", ship.Bind(pay.Bind(workflow.Value(1999))))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run.Result(ctx))
	// Output: shipped for the receipt over 1999 <nil>
}
