package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

func (a *app) prefetchCommand() *cobra.Command {
	var c connection
	var names []string
	cmd := &cobra.Command{
		Use:     "prefetch ID",
		Short:   "Have nodes fetch an object: a broadcast",
		GroupID: objects,
		Long: `Prefetch has the named nodes, or all, fetch the object, and returns once they
have it. Nodes pass it on to each other while it still arrives.`,
		Example:           "  phalanx prefetch models/7\n  phalanx prefetch models/7 --nodes n2,n3",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeIDs(&c, 0, 1),
		RunE: action(func(ctx context.Context, args []string) error {
			id := phalanx.ObjectID(args[0])
			if err := id.Validate(); err != nil {
				return err
			}
			client, err := a.client(&c)
			if err != nil {
				return err
			}
			defer client.Close()
			req := httpapi.PrefetchRequest{ID: id, Timeout: c.timeoutText()}
			for _, n := range names {
				req.Nodes = append(req.Nodes, phalanx.NodeID(n))
			}
			done, err := client.Prefetch(ctx, req)
			if err != nil {
				return err
			}
			return a.print(done, func(w io.Writer) {
				for _, n := range done.Nodes {
					fmt.Fprintf(w, "%s: has %s\n", n, id)
				}
			})
		}),
	}
	c.flags(cmd)
	cmd.Flags().StringSliceVar(&names, "nodes", nil, "which nodes, by name or id (default all)")
	return cmd
}
