package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx"
)

func (a *app) rmCommand() *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:               "rm ID...",
		Short:             "Remove objects everywhere",
		GroupID:           objects,
		Long:              "Rm removes every copy of each object. An id without an object is no error. The id can\nbe put again at once.",
		Example:           "  phalanx rm models/7 models/8",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeIDs(&c, 0, 0),
		RunE:              action(func(ctx context.Context, args []string) error { return a.rm(ctx, &c, args) }),
	}
	c.flags(cmd)
	return cmd
}

func (a *app) rm(ctx context.Context, c *connection, args []string) error {
	all, err := ids(args)
	if err != nil {
		return err
	}
	client, err := a.client(c)
	if err != nil {
		return err
	}
	defer client.Close()
	deleted := []phalanx.ObjectID{}
	var first error
	for _, id := range all {
		if err := client.Delete(ctx, id, c.timeout); err != nil {
			first = err
			break
		}
		deleted = append(deleted, id)
	}
	err = a.print(map[string]any{"deleted": deleted}, func(w io.Writer) {
		for _, id := range deleted {
			fmt.Fprintf(w, "%s: deleted\n", id)
		}
	})
	if first != nil {
		return first
	}
	return err
}
