package workflow_test

import (
	"context"
	"os"
	"time"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/workflow"
)

// alone calls f with a node that has a folder and runs tasks: a cluster of its own, which ends with f.
func alone(tasks *workflow.Registry, f func(context.Context, *cluster.Node) (any, error)) (result any, err error) {
	dir, err := os.MkdirTemp("", "workflows")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := cluster.Join(ctx, cluster.Config{Name: "alone", Services: []cluster.Service{workflow.Settings{Dir: dir, Tasks: tasks}.Service()}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = node.Leave(ctx) }()
	return f(ctx, node)
}
