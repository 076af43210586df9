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
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/workflow"
)

// mostTasks is how many tasks status prints.
const mostTasks = 40

func (a *app) workflowStatus() *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:   "status ID",
		Short: "Show how a run stands, with its tasks",
		Long: `Status prints how a run stands: open (it goes on), waiting (for a signal or a resume),
ending (it has failed or was canceled, and goes back), or finished, and why; how many of
its tasks have ended, run, or wait for a slot; functions that no member offers; and
outputs that are lost for good. Below that it has a table of up to 40 tasks: how each stands,
how many attempts of it have begun, the node that has it, and why its last attempt has failed
or how many of its inputs a reduce has that does not need all of them.
Tasks that have ended, and those that have not begun, come last. It may be a second old.`,
		Example: "  phalanx workflow status order/42\n  phalanx workflow status order/42 -o json",
		Args:    cobra.ExactArgs(1),
		RunE: a.onNode(&c, func(ctx context.Context, client *httpapi.Client, args []string) error {
			st, err := client.WorkflowStatus(ctx, args[0], c.timeout)
			if err != nil {
				return err
			}
			d, err := client.WorkflowGraph(ctx, args[0], c.timeout)
			if err != nil && !errors.Is(err, phalanx.ErrInvalid) { // it has too many tasks
				return err
			}
			said := struct {
				httpapi.RunStatus
				Graph []workflow.TaskDescription `json:"graph,omitempty"`
			}{st, d.Tasks}
			return a.print(said, func(w io.Writer) {
				showRun(w, st)
				taskTable(w, d.Tasks)
			})
		}),
	}
	c.flags(cmd)
	return cmd
}

func showRun(w io.Writer, st httpapi.RunStatus) {
	fmt.Fprintf(w, "%s: %s", st.ID, st.State)
	if st.Why != "" {
		fmt.Fprintf(w, ": %s", st.Why)
	}
	fmt.Fprintf(w, "\n  run    %s\n", st.UID)
	if st.Tasks > 0 {
		fmt.Fprintf(w, "  tasks  %d of %d have ended, %d run, %d wait for a slot\n", st.Ended, st.Tasks, st.Running, st.Ready)
	}
	if len(st.Lacks) > 0 {
		fmt.Fprintf(w, "  lacks  %s: start a node that offers it, or give another version with phalanx workflow resume %s --with\n", strings.Join(st.Lacks, ", "), st.ID)
	}
	if len(st.Lost) > 0 {
		fmt.Fprintf(w, "  lost   the output of %s: accept that with phalanx workflow resume %s --accept-loss, or phalanx workflow cancel %s\n", strings.Join(st.Lost, ", "), st.ID, st.ID)
	}
}

// rank orders tasks in a table: those first at which a run works.
func rank(t workflow.TaskDescription) int {
	switch t.State {
	case "saved", "ended", "undone", "compensated", "stopped":
		return 1
	case "to come", "not begun":
		return 2
	}
	return 0
}

func taskTable(w io.Writer, all []workflow.TaskDescription) {
	if len(all) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nTASK\tSTATE\tATTEMPTS\tNODE\tWHY")
	left := mostTasks
	more := map[string]int{}
	var states []string // of more
	for r := range 3 {
		for _, task := range all {
			if rank(task) != r {
				continue
			}
			if left--; left < 0 {
				if more[task.State]++; more[task.State] == 1 {
					states = append(states, task.State)
				}
				continue
			}
			cells := []string{task.Name, task.State, fmt.Sprint(task.Attempts), orDash(task.Node), task.Why}
			fmt.Fprintln(t, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
		}
	}
	_ = t.Flush() // to memory
	for _, state := range states {
		fmt.Fprintf(w, "and %d more: %s\n", more[state], state)
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (a *app) workflowHistory() *cobra.Command {
	var c connection
	var after uint64
	cmd := &cobra.Command{
		Use:   "history ID",
		Short: "Show what has happened in a run",
		Long: `History prints what is recorded of a run, in order: its number, the time since the first line,
what has happened, the task, and more about it. Lines of one number were made durable at
once. Time is that for which some node has led the ledger. Attempts that have failed and
are repeated are not recorded: phalanx events of the ledger's leader tells of them.`,
		Example: "  phalanx workflow history order/42\n  phalanx workflow history order/42 --after 120 -o json",
		Args:    cobra.ExactArgs(1),
		RunE: a.onNode(&c, func(ctx context.Context, client *httpapi.Client, args []string) error {
			var all httpapi.History
			for from, more := after, true; more; {
				h, err := client.WorkflowHistory(ctx, args[0], from, 0, c.timeout)
				if err != nil {
					return err
				}
				all.History = append(all.History, h.History...)
				more, from = h.Next > from, h.Next
			}
			if all.History == nil {
				all.History = []workflow.Happened{}
			}
			return a.print(all, func(w io.Writer) { historyTable(w, all.History) })
		}),
	}
	c.flags(cmd)
	cmd.Flags().Uint64Var(&after, "after", 0, "show what comes behind this number")
	return cmd
}

func historyTable(w io.Writer, all []workflow.Happened) {
	if len(all) == 0 {
		fmt.Fprintln(w, "nothing more is recorded yet")
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NUMBER\tTIME\tWHAT\tTASK\tMORE")
	for _, h := range all {
		task := h.Task
		if len(h.Tasks) > 0 {
			task = strings.Join(h.Tasks, ", ")
			if more := h.Count - len(h.Tasks); more > 0 {
				task += fmt.Sprintf(" and %d more", more)
			}
		}
		cells := []string{fmt.Sprint(h.Number), (h.At - all[0].At).Round(time.Millisecond).String(), h.What, task, h.Text}
		fmt.Fprintln(t, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	_ = t.Flush() // to memory
}

func (a *app) workflowGraph() *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:   "graph ID",
		Short: "Draw a run",
		Long: `Graph prints the tasks of a run with how they stand, and what each reads and waits for, in
the language of Graphviz; with -o json as JSON. Tasks of workflows that tasks have returned are in
it, and a task whose workflow is still to come has dots behind it.`,
		Example: "  phalanx workflow graph order/42 | dot -Tsvg > order.svg",
		Args:    cobra.ExactArgs(1),
		RunE: a.onNode(&c, func(ctx context.Context, client *httpapi.Client, args []string) error {
			d, err := client.WorkflowGraph(ctx, args[0], c.timeout)
			if err != nil {
				return err
			}
			return a.print(d, func(w io.Writer) { _, _ = io.WriteString(w, d.DOT()) })
		}),
	}
	c.flags(cmd)
	return cmd
}
