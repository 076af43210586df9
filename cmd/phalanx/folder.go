package main

import (
	"context"
	"errors"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/workflow"
)

// onDisk says what outlives the nodes. It stands behind inMemory.
const onDisk = "With --dir a node keeps the runs of workflows in a folder: they go on when it starts over it again."

// folderError says why a node cannot use its folder dir. A node that has joined without its folder looks like one
// that needs none, but every call about workflows tells, without asking another node: so its deadline need not be
// in the future.
func folderError(ctx context.Context, n *cluster.Node, dir string) error {
	if dir == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 0)
	defer cancel()
	_, err := workflow.List(ctx, n, "", "", 1)
	var bad *durable.OpenError
	if errors.As(err, &bad) {
		return configError("dir: %w", bad)
	}
	return nil
}
