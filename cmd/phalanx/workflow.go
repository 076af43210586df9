package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

func (a *app) workflowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "workflow",
		Short:   "Look at runs of workflows, and change them",
		GroupID: workflows,
		Long: `Workflow has commands about the runs of workflows. Programs define workflows and start
runs with package workflow; any node of their cluster can be asked. Runs are kept by the
nodes that have a folder (phalanx node --dir).`,
		Example: "  phalanx workflow ls\n  phalanx workflow status order/42\n  phalanx workflow wait order/42 receipt.json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.workflowLs(), a.workflowStatus(), a.workflowHistory(), a.workflowGraph(), a.workflowWait(), a.workflowCancel(), a.workflowSignal(), a.workflowResume(), a.workflowRm(), a.workflowLedger())
	return cmd
}

// onNode has f do the work of a command with a client of the node.
func (a *app) onNode(c *connection, f func(ctx context.Context, client *httpapi.Client, args []string) error) func(*cobra.Command, []string) error {
	return action(func(ctx context.Context, args []string) error {
		client, err := a.client(c)
		if err != nil {
			return err
		}
		defer client.Close()
		return f(ctx, client, args)
	})
}

func (a *app) workflowLs() *cobra.Command {
	var c connection
	var after string
	var limit int
	cmd := &cobra.Command{
		Use:   "ls [PREFIX]",
		Short: "List runs",
		Long: `Ls lists the runs whose ids begin with PREFIX, in order of their ids. It lists at most
1,000; for those behind them give the last id with --after. The list may be a second old.
A run that was forgotten is in it until its id can be used again.`,
		Example: "  phalanx workflow ls\n  phalanx workflow ls order/ --after order/42 --limit 100 -o json",
		Args:    cobra.MaximumNArgs(1),
	}
	cmd.RunE = a.onNode(&c, func(ctx context.Context, client *httpapi.Client, args []string) error {
		if limit < 0 || cmd.Flags().Changed("limit") && limit == 0 {
			return invalid("--limit: %d is not a number from 1", limit)
		}
		l, err := client.WorkflowList(ctx, strings.Join(args, ""), after, limit, c.timeout)
		if err != nil {
			return err
		}
		return a.print(l, func(w io.Writer) { runTable(w, l.Workflows) })
	})
	c.flags(cmd)
	cmd.Flags().StringVar(&after, "after", "", "list the runs behind this id")
	cmd.Flags().IntVar(&limit, "limit", 0, "list so many at most (default 1,000)")
	return cmd
}

func runTable(w io.Writer, all []httpapi.Run) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no runs: a program starts them with package workflow (go doc github.com/phalanx-go/phalanx/workflow)")
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STATE\tID\tWHY")
	for _, r := range all {
		fmt.Fprintf(t, "%s\t%s", r.State, r.ID)
		if r.Why != "" {
			fmt.Fprintf(t, "\t%s", r.Why)
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush() // to memory
}

func (a *app) workflowWait() *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:   "wait ID [FILE]",
		Short: "Wait for the end of a run, and write its result",
		Long: `Wait waits until a run has ended, and writes the bytes of its result to FILE, or to
standard output without one or if FILE is "-". Most results are JSON. With -o json standard
output has the result's size in place of its bytes. A run that has failed, or was
canceled, is an error (exit code 20) that says why. The run goes on after the timeout and
after Ctrl-C.`,
		Example: "  phalanx workflow wait order/42 --timeout 10m\n  phalanx workflow wait order/42 receipt.json",
		Args:    cobra.RangeArgs(1, 2),
		RunE: a.onNode(&c, func(ctx context.Context, client *httpapi.Client, args []string) error {
			b, err := client.WorkflowResult(ctx, args[0], c.timeout)
			if err != nil && ctx.Err() != nil {
				return &phalanx.Error{Op: "wait", Object: phalanx.ObjectID(args[0]), Kind: phalanx.ErrCanceled,
					Err: errors.New("the run goes on: phalanx workflow wait waits again, phalanx workflow cancel has it go back")}
			}
			if err != nil {
				return err
			}
			file := "-"
			if len(args) > 1 {
				file = args[1]
			}
			if file == "-" && a.output == "text" {
				_, err := a.stdout.Write(b)
				return err
			}
			if file != "-" {
				err = writeWhole(file, func(w io.Writer) error {
					_, err := w.Write(b)
					return err
				})
				if err != nil {
					return err
				}
			}
			said := map[string]any{"id": args[0], "state": "finished", "size": len(b)}
			if file != "-" {
				said["file"] = file
			}
			return a.print(said, func(w io.Writer) {
				fmt.Fprintf(w, "%s: finished, %s in %s\n", args[0], formatSize(int64(len(b))), file)
			})
		}),
	}
	c.flags(cmd)
	cmd.Flags().Lookup("timeout").Usage = "give up after this long (default 1m); the run goes on"
	return cmd
}

func (a *app) workflowCancel() *cobra.Command {
	var c connection
	var cause string
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Have a run go back and fail",
		Long: `Cancel has a run go back: what has been done is compensated or undone, and the run fails
with the cause. The command returns once that is durable; phalanx workflow wait waits for the
end. A run that has ended is an error (exit code 16).`,
		Example: "  phalanx workflow cancel order/42 --cause 'the customer has left'",
		Args:    cobra.ExactArgs(1),
		RunE: a.onNode(&c, func(ctx context.Context, client *httpapi.Client, args []string) error {
			if err := client.WorkflowCancel(ctx, args[0], httpapi.CancelRequest{Cause: cause, Timeout: c.timeoutText()}); err != nil {
				return err
			}
			return a.changed(args[0], "canceled", "it is canceled, and goes back")
		}),
	}
	c.flags(cmd)
	cmd.Flags().StringVar(&cause, "cause", "canceled by phalanx workflow cancel", "why, which is what the run's error says")
	return cmd
}

func (a *app) workflowResume() *cobra.Command {
	var c connection
	var with []string
	var acceptLoss bool
	cmd := &cobra.Command{
		Use:   "resume ID",
		Short: "Go on with a run that is stuck",
		Long: `Resume tries again what a run is stuck at. With --with it first replaces a function's
version in the run, for example by one that a node offers now.

If outputs are lost for good, phalanx workflow status names them. With --accept-loss the run
goes on without them: tasks run again, outsiders may see an effect of the attempts before
and another one, and an effect stays if nothing can take it back any more.`,
		Example: "  phalanx workflow resume order/42\n  phalanx workflow resume order/42 --with pay@2 --with ship@3\n  phalanx workflow resume order/42 --accept-loss",
		Args:    cobra.ExactArgs(1),
		RunE: a.onNode(&c, func(ctx context.Context, client *httpapi.Client, args []string) error {
			for _, f := range with {
				if _, err := httpapi.ParseFunction(f); err != nil {
					return invalid("--with: %v", reason(err))
				}
			}
			if err := client.WorkflowResume(ctx, args[0], httpapi.ResumeRequest{With: with, AcceptLoss: acceptLoss, Timeout: c.timeoutText()}); err != nil {
				return err
			}
			return a.changed(args[0], "resumed", "it goes on")
		}),
	}
	c.flags(cmd)
	cmd.Flags().BoolVar(&acceptLoss, "accept-loss", false, "go on without the outputs that are lost for good")
	cmd.Flags().StringArrayVar(&with, "with", nil, "function and version to run in place of the version in the run, such as pay@2; can be repeated")
	return cmd
}

// mostSignal bounds what is read of a signal: the node refuses much less.
const mostSignal = 2 << 20

func (a *app) workflowSignal() *cobra.Command {
	var c connection
	var key string
	cmd := &cobra.Command{
		Use:   "signal ID NAME [FILE]",
		Short: "Tell a run of an event",
		Long: `Signal sends a run the signal NAME, for which a step of it may wait. It brings the bytes
of FILE, of standard input if FILE is "-", or none without FILE. A step that takes a value of
Go wants JSON, such as "yes" with its quotes. The first signal of a name counts; a repeat
with the same --key is no other signal, so that the command can be tried again.`,
		Example: "  echo '{\"by\":\"ann\"}' | phalanx workflow signal order/42 approved - --key ann-1",
		Args:    cobra.RangeArgs(2, 3),
		RunE: a.onNode(&c, func(ctx context.Context, client *httpapi.Client, args []string) error {
			var b []byte
			if len(args) == 3 {
				in, err := openInput(args[2], a.stdin)
				if err != nil {
					return err
				}
				b, err = io.ReadAll(io.LimitReader(in, mostSignal))
				_ = in.Close() // it was only read
				if err != nil {
					return err
				}
			}
			s, err := client.WorkflowSignal(ctx, args[0], args[1], key, b, c.timeout)
			if err != nil {
				return err
			}
			return a.print(s, func(w io.Writer) { fmt.Fprintf(w, "%s: %s has come, key %s\n", s.ID, s.Name, s.Key) })
		}),
	}
	c.flags(cmd)
	cmd.Flags().StringVar(&key, "key", "", "name of this signal, by which a repeat is known (default a random one)")
	return cmd
}

func (a *app) workflowRm() *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:   "rm ID...",
		Short: "Forget runs that have ended",
		Long: `Rm deletes runs that have ended, with their results. A run that has not is an error:
cancel it and wait for its end before. An id can be used again after 20 minutes.`,
		Example: "  phalanx workflow rm order/41 order/42",
		Args:    cobra.MinimumNArgs(1),
		RunE: a.onNode(&c, func(ctx context.Context, client *httpapi.Client, args []string) error {
			forgotten := []string{}
			var first error
			for _, id := range args {
				if first = client.WorkflowForget(ctx, id, c.timeout); first != nil {
					break
				}
				forgotten = append(forgotten, id)
			}
			err := a.print(map[string]any{"forgotten": forgotten}, func(w io.Writer) {
				for _, id := range forgotten {
					fmt.Fprintf(w, "%s: forgotten\n", id)
				}
			})
			if first != nil {
				return first
			}
			return err
		}),
	}
	c.flags(cmd)
	return cmd
}

// changed says what was done with a run.
func (a *app) changed(id, what, text string) error {
	return a.print(map[string]phalanx.ObjectID{what: phalanx.ObjectID(id)}, func(w io.Writer) { fmt.Fprintf(w, "%s: %s\n", id, text) })
}
