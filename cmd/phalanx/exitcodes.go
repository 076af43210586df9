package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// exitCodesTopic is a page of help, written from the table of outcomes.
func exitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("The program exits with 0 if all went well, else with the code of the kind of\nerror. HTTP answers have the status beside it.\n\n")
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "EXIT\tHTTP\tKIND\tMEANING")
	for _, o := range httpapi.Outcomes() {
		fmt.Fprintf(t, "%d\t%d\t%v\t%s\n", o.Exit, o.Status, o.Kind, o.Meaning)
	}
	_ = t.Flush() // to memory
	return &cobra.Command{Use: "exit-codes", Short: "Meanings of the exit codes", Long: strings.TrimSuffix(b.String(), "\n")}
}
