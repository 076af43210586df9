package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/workflow"
)

func (a *app) workflowLedgerRecover() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "recover DIR...",
		Short: "Have a ledger go on that has lost most of its disks for good",
		Long: `Recover reads the folders of nodes that do not run (phalanx node --dir), and prints up to
which record each of them has the ledger, and which disks that hold it are missing. With
--yes it then has the ledger go on from the folder that has most. Without, it changes nothing.

Use it only when the missing disks never come back: what was acknowledged after the last
record of that folder is lost. Runs may be gone, or go on from an earlier state, so that
outsiders see a second effect of a task. While a majority of the disks can come back, start
their nodes instead. If some folders are left on several machines, run the command on each
of them without --yes, and then on the one with the greatest generation, term and record.

Start the node of that folder then. It asks the other nodes for 5 seconds, and leads the
ledger alone; empty folders of other nodes are added as usual. If most of the other disks are
there after all they go on without it, and it says so. A node that starts with the
folder of a missing disk ends its part of the ledger, and says so: give it an empty one.

The command refuses, and changes nothing, without --yes, if a node uses a folder, and if
a majority of the disks is there (exit code 17).`,
		Example: "  phalanx workflow ledger recover /var/lib/phalanx\n  phalanx workflow ledger recover /var/lib/phalanx --yes",
		Args:    cobra.MinimumNArgs(1),
	}
	cmd.RunE = action(func(ctx context.Context, args []string) error {
		survey := workflow.SurveyLedger
		if yes {
			survey = workflow.RecoverLedger
		}
		s, err := survey(ctx, args...)
		if len(s.Folders) == 0 && err != nil {
			return err
		}
		if printed := a.print(surveyed(s), func(w io.Writer) { surveyText(w, s, err == nil) }); err == nil {
			err = printed
		}
		if err == nil && !yes {
			return &phalanx.Error{Op: "recover ledger", Kind: phalanx.ErrRefused, Err: errors.New("nothing was changed: give --yes if the missing disks never come back")}
		}
		return err
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "recover the ledger: the missing disks never come back")
	return cmd
}

// survey is the JSON of a workflow.LedgerSurvey.
type survey struct {
	Folders    []surveyedFolder `json:"folders"`
	Best       string           `json:"best,omitempty"`       // the folder that has most
	Disks      []string         `json:"disks"`                // that hold the ledger
	Missing    []string         `json:"missing"`              // of these
	Generation uint64           `json:"generation,omitempty"` // of the recovered ledger; absent: nothing was changed
}

type surveyedFolder struct {
	Dir        string    `json:"dir"`
	Disk       string    `json:"disk"`
	Ledger     string    `json:"ledger,omitempty"`
	Holds      bool      `json:"holds"`
	Generation uint64    `json:"generation"`
	Term       uint64    `json:"term"`
	Record     uint64    `json:"record"`
	Written    time.Time `json:"written"`
	Outdated   bool      `json:"outdated,omitempty"`
}

func surveyed(s workflow.LedgerSurvey) survey {
	out := survey{Folders: []surveyedFolder{}, Disks: append([]string{}, s.Disks...), Missing: append([]string{}, s.Missing...), Generation: s.Generation}
	for i, f := range s.Folders {
		out.Folders = append(out.Folders, surveyedFolder{Dir: f.Dir, Disk: f.Disk, Ledger: f.Ledger, Holds: f.Holds, Generation: f.Generation, Term: f.Term, Record: f.Index, Written: f.Written, Outdated: f.Outdated})
		if i == s.Best {
			out.Best = f.Dir
		}
	}
	return out
}

// surveyText writes a survey for people. The ledger can be recovered, or was.
func surveyText(w io.Writer, s workflow.LedgerSurvey, can bool) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FOLDER\tDISK\tGENERATION\tTERM\tRECORD\tLAST WRITTEN")
	for _, f := range s.Folders {
		if !f.Holds {
			fmt.Fprintf(t, "%s\t%s\t-\t-\t-\t%s\n", f.Dir, f.Disk, f.Written.Format(time.RFC3339))
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%s\n", f.Dir, f.Disk, f.Generation, f.Term, f.Index, f.Written.Format(time.RFC3339))
	}
	_ = t.Flush() // to memory
	if s.Best < 0 {
		return
	}
	best := s.Folders[s.Best]
	fmt.Fprintf(w, "\n%s has most. As far as it knows the ledger is on %s: %s.\n", best.Dir, counted(len(s.Disks), "disk"), strings.Join(s.Disks, ", "))
	if len(s.Missing) > 0 {
		fmt.Fprintf(w, "Missing: %s. What was acknowledged after record %d may be on them alone.\n", strings.Join(s.Missing, ", "), best.Index)
	}
	if can && s.Generation > 0 {
		fmt.Fprintf(w, "The ledger goes on from %s, in generation %d. Start the node of this folder, and others with empty ones.\n", best.Dir, s.Generation)
	}
}
