package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx/actors"
)

func (a *app) eventsCommand() *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:     "events",
		Short:   "Follow the events of a node",
		GroupID: looks,
		Long: `Events prints the events of a node from now on, until Ctrl-C: nodes that join and
leave, loss and return of the majority of the voters, recovery of transfers and
reduces, moves of shards, restarts of actors. With -o json, one object per line.`,
		Example: "  phalanx events\n  phalanx events -o json | jq .kind",
		Args:    cobra.NoArgs,
		RunE: action(func(ctx context.Context, _ []string) error {
			client, err := a.client(&c)
			if err != nil {
				return err
			}
			defer client.Close()
			return client.Events(ctx, a.event)
		}),
	}
	c.flags(cmd)
	return cmd
}

// event prints one event. One of a newer version is shown as it came.
func (a *app) event(kind string, data []byte) error {
	if a.output == "json" {
		return a.json(a.stdout, map[string]any{"kind": kind, "event": json.RawMessage(data)})
	}
	text := fmt.Sprintf("%s %s", kind, data)
	if e, err := actors.Decode(kind, data); err == nil {
		text = e.String()
	}
	_, err := fmt.Fprintf(a.stdout, "%s  %s\n", a.now().Format("15:04:05.000"), text)
	return err
}
