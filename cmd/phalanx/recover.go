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
		Short:   "Form the cluster anew when most voters are lost for good",
		GroupID: nodes,
		Long: `Recover has one living node form the cluster anew from the living members, when the
majority of the voters is lost and will not come back. Use it only then: voters that hung,
or were cut off, go on by themselves when they are back. Voters that were killed do not,
also if they start again: they are new members, and wait. Run it once, at any
living node; the node asks all others, which takes about two seconds.

The cluster may lose the copies of objects that only missing nodes had; deletions in shards
of the directory whose owner and backup are both missing; and changes that living missing nodes
have acknowledged since they were cut off. Those nodes learn of their removal as soon as
they exchange a message with a member, and join again with the copies that they have.

The node refuses, and changes nothing, if a member hears the majority of the voters, or if
another node forms the cluster at this time (exit code 17). It also refuses if no more than
half of the members answer (exit code 8), unless you give --force. With --force be sure
that the other members do not live: two parts of one cluster that do not reach each other
could both be formed anew, and when they meet one of them gives way, and loses the objects
that were put in it alone.`,
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
				fmt.Fprintf(w, "the cluster is formed anew: view %s, %s: %s\n", view.Numbered(r.View), counted(len(r.Members), "member"), joinNodes(r.Members))
				if len(r.Missing) > 0 {
					fmt.Fprintf(w, "removed: %s\n", joinNodes(r.Missing))
				}
				if r.LostShards > 0 {
					fmt.Fprintf(w, "owner and backup of %s of the directory were there: rebuilt from the copies that are left\n", counted(r.LostShards, "shard"))
				}
			})
		}),
	}
	c.flags(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "form the cluster however few members answer")
	return cmd
}
