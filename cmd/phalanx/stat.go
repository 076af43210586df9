package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

func (a *app) statCommand() *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:               "stat ID",
		Short:             "Show the state of an object and its holders",
		GroupID:           objects,
		Long:              "Stat prints an object's state, size, type and digest, which nodes have a copy, and\nwhich wait for one.",
		Example:           "  phalanx stat models/7",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeIDs(&c, 0, 1),
		RunE: action(func(ctx context.Context, args []string) error {
			client, err := a.client(&c)
			if err != nil {
				return err
			}
			defer client.Close()
			o, err := client.Stat(ctx, phalanx.ObjectID(args[0]), c.timeout)
			if err != nil {
				return err
			}
			return a.print(o, func(w io.Writer) { tell(w, o) })
		}),
	}
	c.flags(cmd)
	return cmd
}

func tell(w io.Writer, o httpapi.Object) {
	fmt.Fprintf(w, "%s: %s, generation %s\n  %s\n", o.ID, o.State, o.Generation, describe(o.Info))
	if o.Inline {
		fmt.Fprintln(w, "  its bytes are in the directory")
	}
	for _, h := range o.Holders {
		text := "partial"
		if h.Complete {
			text = "complete"
		}
		if h.Pinned {
			text += ", pinned"
		}
		if h.Origin {
			text += ", origin"
		}
		if h.Upstream != "" {
			text += ", reads from " + string(h.Upstream)
		}
		fmt.Fprintf(w, "  %s: %s\n", h.Node, text)
	}
	for _, n := range o.Waiting {
		fmt.Fprintf(w, "  %s: waits\n", n)
	}
}
