package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx/group"
)

// membersShown bounds how many members of a group are shown to people.
const membersShown = 20

func (a *app) groupCommand() *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:     "group [PREFIX]",
		Short:   "Show the groups",
		GroupID: looks,
		Long: `Group shows the groups of the cluster whose names begin with PREFIX: the
members by rank, which of them have failed or left, and which one has revoked the
group, when and why. Any node can be asked.`,
		Example: "  phalanx group\n  phalanx group train -o json",
		Args:    cobra.MaximumNArgs(1),
		RunE: action(func(ctx context.Context, args []string) error {
			prefix := strings.Join(args, "")
			client, err := a.client(&c)
			if err != nil {
				return err
			}
			defer client.Close()
			all, err := client.Groups(ctx, prefix, c.timeout)
			if err != nil {
				return err
			}
			return a.print(all, func(w io.Writer) {
				if len(all.Groups) == 0 {
					fmt.Fprintln(w, "no groups")
				}
				for _, g := range all.Groups {
					showGroup(w, g)
				}
				if all.Error != "" {
					fmt.Fprintln(w, "without the reports of members that do not answer:", all.Error)
				}
			})
		}),
	}
	c.flags(cmd)
	return cmd
}

func showGroup(w io.Writer, g group.Status) {
	count := map[group.State]int{}
	for _, m := range g.Members {
		count[m.State]++
	}
	fmt.Fprintf(w, "%s: %s", g.Name, counted(len(g.Members), "member"))
	for _, s := range []group.State{group.Failed, group.Left} {
		if count[s] > 0 {
			fmt.Fprintf(w, ", %d %s", count[s], s)
		}
	}
	fmt.Fprintln(w)
	if r := g.Revoked; r != nil {
		fmt.Fprintf(w, "  revoked  by %s at %s", r.By, r.At.UTC().Format(time.DateTime+" MST"))
		if g.Sent > 0 {
			fmt.Fprintf(w, ", %s", counted(g.Sent, "message"))
		}
		if r.Reason != "" {
			fmt.Fprintf(w, ": %q", r.Reason)
		}
		fmt.Fprintln(w)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, rank := range shownMembers(g.Members) {
		m := g.Members[rank]
		fmt.Fprintf(t, "  %s\t%d\t%s\n", m.State, rank, m.Member())
	}
	_ = t.Flush() // to memory
	if left := len(g.Members) - membersShown; left > 0 {
		fmt.Fprintf(w, "  and %d more (-o json has all)\n", left)
	}
}

// shownMembers returns the ranks of the shown members: if there are too many, first the members
// that are gone.
func shownMembers(all []group.MemberStatus) []int {
	var gone, live []int
	for rank, m := range all {
		if m.State == group.Live {
			live = append(live, rank)
		} else {
			gone = append(gone, rank)
		}
	}
	shown := append(gone, live...)
	shown = shown[:min(len(shown), membersShown)]
	slices.Sort(shown)
	return shown
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
