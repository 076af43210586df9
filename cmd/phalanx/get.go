package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

func (a *app) getCommand() *cobra.Command {
	var c connection
	var wait time.Duration
	cmd := &cobra.Command{
		Use:     "get ID FILE",
		Short:   "Write an object to a file, or to standard output (-)",
		GroupID: objects,
		Long: `Get writes the object ID to FILE, or to standard output if FILE is "-", as its
bytes arrive. FILE appears once the object is final and whole. An object that
nobody has announced is an error (exit code 3), unless --wait says how long
to wait for it.`,
		Example: `  phalanx get models/7 model.bin
  phalanx get models/8 model.bin --wait 5m
  phalanx get data.tar - | tar x`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeIDs(&c, 0, 1),
		RunE: action(func(ctx context.Context, args []string) error {
			return a.get(ctx, &c, phalanx.ObjectID(args[0]), args[1], wait)
		}),
	}
	c.flags(cmd)
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait this long for an object that nobody has announced")
	return cmd
}

func (a *app) get(ctx context.Context, c *connection, id phalanx.ObjectID, file string, wait time.Duration) error {
	if wait < 0 {
		return invalid("--wait: %v is negative", wait)
	}
	client, err := a.client(c)
	if err != nil {
		return err
	}
	defer client.Close()
	object, err := client.Get(ctx, id, wait, c.timeout)
	if err != nil {
		return err
	}
	defer object.Close()
	bar, done := a.progress("get "+string(id), object.Size)
	if file == "-" {
		_, err = io.Copy(io.MultiWriter(a.stdout, bar), object)
		done()
		return err
	}
	err = writeWhole(file, func(f io.Writer) error {
		_, err := io.Copy(io.MultiWriter(f, bar), object)
		return err
	})
	done()
	if err != nil {
		return err
	}
	type got struct {
		httpapi.Info
		File string `json:"file"`
	}
	return a.print(got{object.Info, file}, func(w io.Writer) { fmt.Fprintf(w, "%s: %s, in %s\n", id, describe(object.Info), file) })
}

// writeWhole creates file from the output of write, or not at all. It writes directly to
// a file that is not plain, such as a pipe.
func writeWhole(file string, write func(io.Writer) error) (err error) {
	bad := func(err error) error { return localError(file, notWritten, err) }
	if st, err := os.Stat(file); err == nil && !st.Mode().IsRegular() {
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err != nil {
			return bad(err)
		}
		err = write(written{f, file})
		if end := f.Close(); err == nil && end != nil {
			err = bad(end)
		}
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return bad(err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := write(written{f, file}); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return bad(err)
	}
	if err := f.Close(); err != nil {
		return bad(err)
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return bad(err)
	}
	return nil
}
