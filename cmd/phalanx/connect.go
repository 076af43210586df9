package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// connection is where a command finds its node.
type connection struct {
	addr    string
	timeout time.Duration
	files   tlsFiles
}

// flags adds the flags of a command that talks to a node.
func (c *connection) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.addr, "addr", "", "host:port or URL of a node (default PHALANX_ADDR, or "+httpapi.DefaultAddr+")")
	f.DurationVar(&c.timeout, "timeout", 0, "give up after this long (default the node's: 1m, for objects' bytes 1h)")
	f.StringVar(&c.files.cert, "tls-cert", "", "certificate to show to the node, PEM")
	f.StringVar(&c.files.key, "tls-key", "", "its key, PEM")
	f.StringVar(&c.files.ca, "tls-ca", "", "authority of the node's certificate, PEM")
}

// client returns a client of the node.
func (a *app) client(c *connection) (*httpapi.Client, error) {
	if c.timeout < 0 {
		return nil, invalid("--timeout: %v is negative", c.timeout)
	}
	var t *tls.Config
	if c.files != (tlsFiles{}) {
		var err error
		if t, err = c.files.client(); err != nil {
			return nil, err
		}
	}
	return httpapi.NewClient(cmp.Or(c.addr, a.getenv("PHALANX_ADDR"), httpapi.DefaultAddr), t)
}

// timeoutText is c's timeout for a JSON request.
func (c *connection) timeoutText() string {
	if c.timeout == 0 {
		return ""
	}
	return c.timeout.String()
}

// completeWords completes one of words.
func completeWords(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// completeIDs completes the ids of objects, after skip arguments that are files,
// up to most arguments; 0 means any number. A later argument is a file only
// where the command's usage says so.
func (a *app) completeIDs(c *connection, skip, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) < skip {
			return nil, cobra.ShellCompDirectiveDefault
		}
		if most > 0 && len(args) >= most {
			if skip == 0 && strings.Contains(cmd.Use, "FILE") {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		client, err := a.client(c)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer client.Close()
		ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
		defer cancel()
		found, err := client.List(ctx, prefix, time.Second)
		if err != nil { // there is nothing to propose
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var ids []cobra.Completion
		for _, o := range found {
			ids = append(ids, cobra.Completion(o.ID))
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}

// ids returns the arguments as valid ids.
func ids(args []string) ([]phalanx.ObjectID, error) {
	all := make([]phalanx.ObjectID, len(args))
	for i, arg := range args {
		all[i] = phalanx.ObjectID(arg)
		if err := all[i].Validate(); err != nil {
			return nil, err
		}
	}
	return all, nil
}
