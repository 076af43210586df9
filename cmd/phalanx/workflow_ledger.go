package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// silentAfter is the silence from which on a disk is away, for people: a disk says that it is there each second or so.
const silentAfter = 5 * time.Second

func (a *app) workflowLedger() *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "Show which nodes keep the runs",
		Long: `Ledger prints which disks hold the ledger, in which each step of a run is durable before it
counts, as the node that leads it knows: the identity of each folder, its node and host, and
whether it is away. While a majority of the disks that hold it is there, runs go on. Disks
that hold nothing take the place of one that is away for long or has failed. If a majority
is lost for good, phalanx workflow ledger recover has the ledger go on from a disk that is
left.`,
		Example: "  phalanx workflow ledger\n  phalanx workflow ledger -o json\n  phalanx workflow ledger recover /var/lib/phalanx",
		Args:    cobra.NoArgs,
		RunE: a.onNode(&c, func(ctx context.Context, client *httpapi.Client, _ []string) error {
			l, err := client.WorkflowLedger(ctx, c.timeout)
			if err != nil {
				return err
			}
			return a.print(l, func(w io.Writer) { ledgerTable(w, l) })
		}),
	}
	c.flags(cmd)
	cmd.AddCommand(a.workflowLedgerRecover())
	return cmd
}

func ledgerTable(w io.Writer, l httpapi.Ledger) {
	hold, away := 0, 0
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "DISK\tLEDGER\tNODE\tHOST\tSTATE")
	for _, d := range l.Disks {
		role := "spare"
		if d.Holds {
			role = "holds it"
			hold++
		}
		if d.Leads {
			role = "leads"
		}
		state := "there"
		switch {
		case d.Failed:
			state = "failed"
		case d.Silent >= silentAfter:
			state = fmt.Sprintf("silent for %v", d.Silent.Round(time.Second))
		}
		if d.Holds && state != "there" {
			away++
		}
		if d.Temporary {
			state += ", temporary"
		}
		node := d.Node
		if node == "" {
			node = d.Address
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", d.Disk, role, orDash(node), orDash(d.Host), state)
	}
	_ = t.Flush() // to memory
	if l.Generation > 0 {
		fmt.Fprintf(w, "\nThe ledger was recovered, and is in generation %d.", l.Generation)
	}
	fmt.Fprintf(w, "\n%s leads, in epoch %d. %d of %d disks that hold the ledger are there; it needs %d.\n", l.Leader, l.Epoch, hold-away, hold, hold/2+1)
}
