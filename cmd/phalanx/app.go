package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// app is one run of the program: its surroundings and the flags that all
// commands have.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string
	terminal       bool             // stderr is one: progress can be shown
	now            func() time.Time // for people, beside events

	output string // text or json
}

// run runs the program and returns its exit code.
func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, environ: environ, now: time.Now, output: "text"}
	if f, ok := stderr.(*os.File); ok {
		a.terminal = term.IsTerminal(int(f.Fd()))
	}
	return a.run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	a.stdout = written{a.stdout, standardOutput}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	var typed *phalanx.Error
	if !errors.As(err, &typed) { // from cobra: the commands' own errors have a type
		said := strings.Join(strings.Fields(err.Error()), " ")
		var bad *pflag.InvalidValueError
		if errors.As(err, &bad) {
			said = fmt.Sprintf("--%s: %s", bad.GetFlag().Name, notA(bad.GetFlag().Value.Type(), bad))
		}
		err = &phalanx.Error{Kind: phalanx.ErrInvalid, Err: fmt.Errorf("%s; see `%s --help`", said, cmd.CommandPath())}
		if slices.Contains(args, "-ojson") || slices.Contains(args, "--output=json") || strings.Contains(strings.Join(args, " "), "-o json") {
			a.output = "json" // the flags may not have been read
		}
	}
	return a.fail(err)
}

// notA says why a flag cannot have its value, where the package that reads it only names its functions.
func notA(kind string, bad *pflag.InvalidValueError) string {
	switch v := bad.GetValue(); {
	case errors.Is(bad, strconv.ErrRange):
		return fmt.Sprintf("%q is out of range", v)
	case kind == "duration":
		return fmt.Sprintf("%q is no duration: a duration is written like 500ms, 5s or 2m", v)
	case kind == "bool":
		return fmt.Sprintf("%q is neither true nor false", v)
	case errors.Is(bad, strconv.ErrSyntax):
		return fmt.Sprintf("%q is no number", v)
	}
	return fmt.Sprintf("%q: %v", bad.GetValue(), bad.Unwrap())
}

// fail prints the error and returns the exit code.
func (a *app) fail(err error) int {
	code := httpapi.ExitCode(err)
	if a.output == "json" {
		type failure struct {
			httpapi.ErrorInfo
			Exit int `json:"exit"`
		}
		_ = a.json(a.stderr, map[string]failure{"error": {httpapi.DescribeError(err), code}})
	} else {
		fmt.Fprintf(a.stderr, "phalanx: %v\n", err)
	}
	return code
}

// root returns the command line, with one constructor per command.
func (a *app) root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "phalanx",
		Short: "A fault-tolerant object store with broadcast and reduce",
		Long: `Phalanx moves large immutable objects between machines and combines arrays
as they become ready.

  phalanx dev --nodes 3                  a cluster on this machine, until Ctrl-C
  phalanx put model.bin models/7         in another terminal
  phalanx get models/7 copy.bin

Commands talk to the node at ` + httpapi.DefaultAddr + `, or at --addr or PHALANX_ADDR.
They take -o json, and exit with the codes of ` + "`phalanx help exit-codes`.",
		Version:       cluster.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if a.output != "text" && a.output != "json" {
				bad := a.output
				a.output = "text"
				return invalid("--output: %q is neither text nor json", bad)
			}
			return nil
		},
	}
	cmd.SetVersionTemplate("phalanx {{.Version}}\n")
	cmd.PersistentFlags().StringVarP(&a.output, "output", "o", "text", "how to print: text or json")
	_ = cmd.RegisterFlagCompletionFunc("output", completeWords("text", "json")) // it was just added
	cmd.AddGroup(&cobra.Group{ID: nodes, Title: "Nodes:"}, &cobra.Group{ID: objects, Title: "Objects:"}, &cobra.Group{ID: workflows, Title: "Workflows:"}, &cobra.Group{ID: looks, Title: "Looking:"})
	cmd.AddCommand(a.nodeCommand(), a.devCommand(), a.demoCommand(), a.soakCommand(), a.recoverCommand(), a.configCommand(),
		a.putCommand(), a.getCommand(), a.rmCommand(), a.lsCommand(), a.statCommand(), a.prefetchCommand(), a.reduceCommand(),
		a.workflowCommand(),
		a.statusCommand(), a.eventsCommand(), a.treeCommand(), a.barrierCommand(), a.groupCommand(), a.benchCommand(), a.versionCommand(), exitCodesTopic())
	cmd.InitDefaultHelpCmd()
	if help, _, err := cmd.Find([]string{"help"}); err == nil {
		help.Args = func(_ *cobra.Command, topic []string) error {
			if _, rest, err := cmd.Find(topic); err != nil || len(rest) > 0 {
				return fmt.Errorf("there is no command or topic %q", strings.Join(topic, " "))
			}
			return nil
		}
	}
	return cmd
}

// The groups of commands.
const (
	nodes     = "nodes"
	objects   = "objects"
	workflows = "workflows"
	looks     = "looks"
)

// action makes sure that the error of a command has a type.
func action(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := f(cmd.Context(), args)
		var typed *phalanx.Error
		if err == nil {
			return nil
		}
		if errors.As(err, &typed) {
			if typed.Op == "" { // the command found the error itself
				named := *typed
				named.Op = cmd.Name()
				return &named
			}
			return err
		}
		kind := phalanx.ErrInternal
		if errors.Is(err, context.Canceled) {
			kind = phalanx.ErrCanceled
		}
		return &phalanx.Error{Op: cmd.Name(), Kind: kind, Err: err}
	}
}

// getenv returns the value of an environment variable, or "".
func (a *app) getenv(name string) string {
	for _, v := range slices.Backward(a.environ) { // the last one counts
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// print writes v as JSON, or the output of text.
func (a *app) print(v any, text func(w io.Writer)) error {
	if a.output == "json" {
		return a.json(a.stdout, v)
	}
	var b strings.Builder
	text(&b)
	_, err := io.WriteString(a.stdout, b.String())
	return err
}

// json writes v as one line.
func (a *app) json(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func invalid(format string, args ...any) *phalanx.Error {
	return &phalanx.Error{Kind: phalanx.ErrInvalid, Err: fmt.Errorf(format, args...)}
}

// reason returns the text of err without its kind, for a message that has one.
func reason(err error) error {
	var e *phalanx.Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err
	}
	return err
}
