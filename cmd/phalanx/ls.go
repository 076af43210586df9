package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx/internal/httpapi"
)

func (a *app) lsCommand() *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:               "ls [PREFIX]",
		Short:             "List objects",
		GroupID:           objects,
		Long:              "Ls lists the objects of the cluster whose ids begin with PREFIX, in order.",
		Example:           "  phalanx ls\n  phalanx ls grad/ -o json",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeIDs(&c, 0, 1),
		RunE: action(func(ctx context.Context, args []string) error {
			prefix := ""
			if len(args) > 0 {
				prefix = args[0]
			}
			client, err := a.client(&c)
			if err != nil {
				return err
			}
			defer client.Close()
			all, err := client.List(ctx, prefix, c.timeout)
			if err != nil {
				return err
			}
			return a.print(httpapi.List{Objects: all}, func(w io.Writer) { table(w, all) })
		}),
	}
	c.flags(cmd)
	return cmd
}

func table(w io.Writer, all []httpapi.Object) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no objects")
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SIZE\tTYPE\tSTATE\tID")
	for _, o := range all {
		kind := o.DType
		if o.Shape != nil {
			kind += "[" + httpapi.FormatShape(o.Shape) + "]"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", formatSize(o.Size), kind, o.State, o.ID)
	}
	_ = t.Flush() // to memory
}
