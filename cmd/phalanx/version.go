package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx/cluster"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program",
		Args:  cobra.NoArgs,
		RunE: action(func(context.Context, []string) error {
			v := struct {
				Version  string `json:"version"`
				Revision string `json:"revision,omitempty"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
			}{cluster.Version, revision(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return a.print(v, func(w io.Writer) { fmt.Fprintf(w, "phalanx %s %s %s\n", v.Version, v.Go, v.Platform) })
		}),
	}
}

// revision returns the commit that the program was built from, if it is known.
func revision() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return ""
}
