package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

func (a *app) reduceCommand() *cobra.Command {
	var c connection
	var req httpapi.ReduceRequest
	var op string
	cmd := &cobra.Command{
		Use:     "reduce TARGET SOURCE...",
		Short:   "Combine arrays into a new one",
		GroupID: objects,
		Long: `Reduce creates TARGET from the first --num of the sources that become ready, all
by default, and prints which sources are in it. Sources may not exist yet. They must be
arrays of one type and shape.`,
		Example:           "  phalanx reduce sum grad/1 grad/2 grad/3 --op sum --num 2",
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: a.completeIDs(&c, 0, 0),
		RunE: action(func(ctx context.Context, args []string) error {
			all, err := ids(args)
			if err != nil {
				return err
			}
			client, err := a.client(&c)
			if err != nil {
				return err
			}
			defer client.Close()
			req.Target, req.Sources, req.Op, req.Timeout = all[0], all[1:], phalanx.Op(op), c.timeoutText()
			res, err := client.Reduce(ctx, req)
			if err != nil {
				return err
			}
			return a.print(res, func(w io.Writer) {
				info := httpapi.Info{ID: res.Target, Size: res.Size, DType: res.DType, Shape: res.Shape, Digest: res.Digest}
				fmt.Fprintf(w, "%s: %s\n", res.Target, describe(info))
				for _, id := range res.In {
					fmt.Fprintf(w, "  in   %s\n", id)
				}
				for _, id := range res.Out {
					fmt.Fprintf(w, "  out  %s\n", id)
				}
			})
		}),
	}
	c.flags(cmd)
	cmd.Flags().StringVar(&op, "op", "sum", "sum, prod, min, max; for integers and, or, xor; or one of the application's")
	_ = cmd.RegisterFlagCompletionFunc("op", completeWords("sum", "prod", "min", "max", "and", "or", "xor")) // it was just added
	cmd.Flags().IntVar(&req.Num, "num", 0, "how many sources to combine (default all)")
	cmd.Flags().IntVar(&req.Degree, "degree", 0, "children of a node of the tree (default the fastest)")
	return cmd
}
