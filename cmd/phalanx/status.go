package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/protocol/view"
)

func (a *app) statusCommand() *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show the state of a node and its cluster",
		GroupID: looks,
		Long: `Status prints what a node does, and its view of the cluster: the members, which of them
vote, and the missing voters while their majority is lost. After NOT READY it prints why
the node takes no work.`,
		Example: "  phalanx status\n  phalanx status --addr 10.0.0.2:7420 -o json",
		Args:    cobra.NoArgs,
		RunE: action(func(ctx context.Context, _ []string) error {
			client, err := a.client(&c)
			if err != nil {
				return err
			}
			defer client.Close()
			st, err := client.Status(ctx)
			if err != nil {
				return err
			}
			return a.print(st, func(w io.Writer) { report(w, st) })
		}),
	}
	c.flags(cmd)
	return cmd
}

func report(w io.Writer, s httpapi.Status) {
	fmt.Fprintf(w, "node %s of cluster %q, version %s, up %v\n", s.Node, s.Cluster, s.Version, time.Duration(s.Uptime*float64(time.Second)).Round(time.Second))
	if s.Unready != nil {
		fmt.Fprintf(w, "NOT READY  %s: %s\n", s.Unready.Kind, s.Unready.Message)
	}
	if s.MajorityLost {
		fmt.Fprintln(w, "           voters that hang or are cut off come back by themselves; if these were killed, run phalanx recover at one living node")
	}
	fmt.Fprintf(w, "memory     %s of %s, %s of it idle, at most %s so far\n", formatSize(s.Memory.Used), formatSize(s.Memory.Cap), formatSize(s.Memory.Idle), formatSize(s.Memory.Peak))
	if m := s.Memory; m.Waiting > 0 {
		fmt.Fprintf(w, "waiting    %d for %s of memory\n", m.Waiting, formatSize(m.WaitingBytes))
	}
	fmt.Fprintf(w, "copies     %d: %d complete, %d pinned, %d arriving; %d were evicted so far\n", s.Objects, s.Complete, s.Pinned, s.Fetching, s.Evictions)
	fmt.Fprintf(w, "reduces    %d run here, %d places\n", s.Reduces, s.Places)
	fmt.Fprintf(w, "traffic    %s sent, %s received; %d streams were told that this node is busy\n", formatSize(int64(s.BytesSent)), formatSize(int64(s.BytesReceived)), s.StreamsBusy)
	fmt.Fprintf(w, "directory  %d shards owned, %d backed up, %d requests\n", s.ShardsOwned, s.ShardsBackedUp, s.Requests)
	fmt.Fprintf(w, "view %s, %s:\n", view.Numbered(s.View), counted(len(s.Members), "member"))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, m := range s.Members {
		role := "member"
		if slices.Contains(s.Voters, m.Node) {
			role = "voter"
		}
		if slices.Contains(s.MissingVoters, m.Node) {
			role += ", missing"
		}
		if m.Leaving {
			role += ", leaving"
		}
		fmt.Fprintf(t, "  %s\t%s\tcontrol %s\tdata %s\n", m.Node, role, m.Control, m.Data)
	}
	_ = t.Flush() // to memory
	if len(s.MissingMembers) > 0 {
		fmt.Fprintf(w, "formed anew without, and not back: %s\n", joinNodes(s.MissingMembers))
	}
}
