package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/protocol/view"
)

func (a *app) recoverCommand() *cobra.Command {
	var c connection
	var force bool
	cmd := &cobra.Command{
		Use:     "recover",
		Short:   "Form the cluster anew where most voters are lost for good",
		GroupID: nodes,
		Long: `Recover has one living node form the cluster anew from the members that live, where the
majority of the voters is lost and will not come back. Use it only then: voters that hung,
or were cut off, go on by themselves when they are back. Voters that were killed do not,
although they are started again: they are new members, and wait. Run it once, at any
living node; the node asks all others, which takes about two seconds.

The cluster may lose the copies of objects that only missing nodes had; deletions in shards
of the directory whose owner and backup are both missing; and what missing nodes have
acknowledged since they were cut off from the others, if they live. They learn that they
were removed as soon as they reach a node, or are reached, and join again with the copies
that they have.

It is refused, and nothing changes, if one of the members hears the majority of the voters,
or if another node does the same just now (exit code 17). If no more than half of the
members answer it is refused as well (exit code 8), unless --force is given. With --force
be sure that the others do not live: two parts of one cluster that do not reach each other
could both be formed anew, and when they meet one of them gives way, and loses what was put
in it alone.`,
		Example: "  phalanx recover --addr 10.0.0.4:7420\n  phalanx recover --addr 10.0.0.4:7420 --force -o json",
		Args:    cobra.NoArgs,
		RunE: action(func(ctx context.Context, _ []string) error {
			client, err := a.client(&c)
			if err != nil {
				return err
			}
			defer client.Close()
			r, err := client.Recover(ctx, httpapi.RecoverRequest{Force: force, Timeout: c.timeoutText()})
			if err != nil {
				return err
			}
			return a.print(r, func(w io.Writer) {
				fmt.Fprintf(w, "the cluster is formed anew: view %s, %d members: %s\n", view.Numbered(r.View), len(r.Members), joinNodes(r.Members))
				if len(r.Missing) > 0 {
					fmt.Fprintf(w, "removed: %s\n", joinNodes(r.Missing))
				}
				if r.LostShards > 0 {
					fmt.Fprintf(w, "%d shards of the directory had owner and backup there, and are rebuilt from the copies that are left\n", r.LostShards)
				}
			})
		}),
	}
	c.flags(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "form it however few members answer")
	return cmd
}
