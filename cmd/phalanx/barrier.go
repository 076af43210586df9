package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
)

// entriesShown bounds how many entries of a barrier are shown to people.
const entriesShown = 20

func (a *app) barrierCommand() *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:     "barrier [PREFIX]",
		Short:   "Show the partial barriers",
		GroupID: looks,
		Long: `Barrier shows the partial barriers of the cluster whose names begin with PREFIX: its
entries, the absent units, why it has fired, its managers, and when they will find a
knee of the arrivals if no participant enters before. Any node can be asked.`,
		Example: "  phalanx barrier\n  phalanx barrier step/ -o json",
		Args:    cobra.MaximumNArgs(1),
		RunE: action(func(ctx context.Context, args []string) error {
			prefix := strings.Join(args, "")
			client, err := a.client(&c)
			if err != nil {
				return err
			}
			defer client.Close()
			all, err := client.Barriers(ctx, prefix, c.timeout)
			if err != nil {
				return err
			}
			return a.print(all, func(w io.Writer) {
				if len(all.Barriers) == 0 {
					fmt.Fprintln(w, "no barriers")
				}
				for _, b := range all.Barriers {
					showBarrier(w, b)
				}
				if all.Error != "" {
					fmt.Fprintln(w, "without those of members that do not answer:", all.Error)
				}
			})
		}),
	}
	c.flags(cmd)
	return cmd
}

func showBarrier(w io.Writer, b barrier.Status) {
	name := b.Name
	if b.Generation > 0 {
		name = fmt.Sprintf("%s, generation %d", b.Name, b.Generation)
	}
	switch {
	case b.Semaphore > 0:
		fmt.Fprintf(w, "%s: a semaphore of %d, held by %d\n", name, b.Semaphore, b.Holding)
	case b.Fired != "":
		fmt.Fprintf(w, "%s: has fired with %d of %d: %s\n", name, b.Entered, b.Max, b.Fired)
	default:
		fmt.Fprintf(w, "%s: %d of %d, waiting for %v\n", name, b.Entered, b.Max, b.Age.Round(time.Millisecond))
	}
	if len(b.Absent) > 0 {
		fmt.Fprintf(w, "  missing  %s\n", strings.Join(b.Absent, ", "))
	}
	if b.Knee > 0 {
		from := ""
		if b.KneeFrom > 0 {
			from = fmt.Sprintf(" and %d %% are there", b.KneeFrom)
		}
		fmt.Fprintf(w, "  knee     %v after the first, if nobody comes%s\n", b.Knee.Round(time.Millisecond), from)
	}
	fmt.Fprintf(w, "  managed  by %s\n", joinNodes(b.Managers))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, e := range b.Entries {
		if i == entriesShown {
			break
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", e.State, e.Label, e.Host, joinNodes(e.Nodes))
	}
	_ = t.Flush() // to memory
	if left := max(0, len(b.Entries)-entriesShown) + b.More; left > 0 {
		fmt.Fprintf(w, "  and %d more (-o json has the first thousand)\n", left)
	}
}

func joinNodes(all []phalanx.NodeID) string {
	var names []string
	for _, n := range all {
		names = append(names, string(n))
	}
	return strings.Join(names, ", ")
}
