package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

func (a *app) putCommand() *cobra.Command {
	var c connection
	var o httpapi.PutOptions
	var shape string
	cmd := &cobra.Command{
		Use:     "put FILE ID",
		Short:   "Create an object from a file, or from standard input (-)",
		GroupID: objects,
		Long: `Put creates the object ID from FILE, or from standard input if FILE is "-".
Others can read it while it is written. Objects are immutable: the same bytes
under the same id succeed again, other bytes fail (exit code 4).`,
		Example: `  phalanx put model.bin models/7
  phalanx put grad.f32 grad/1 --dtype float32 --shape 1000,250
  tar c data | phalanx put - data.tar
  phalanx put model.bin models/7 --copies 2`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeIDs(&c, 1, 2),
		RunE: action(func(ctx context.Context, args []string) (err error) {
			if o.Shape, err = httpapi.ParseShape(shape); err != nil {
				return invalid("--shape: %w", reason(err))
			}
			if _, err := phalanx.ParseDType(cmp.Or(o.DType, "bytes")); err != nil {
				return invalid("--dtype: %w: give one of %s", reason(err), strings.Join(dtypes(), ", "))
			}
			if o.Copies < 0 {
				return invalid("--copies: %d is negative", o.Copies)
			}
			o.Timeout = c.timeout
			return a.put(ctx, &c, args[0], phalanx.ObjectID(args[1]), o)
		}),
	}
	c.flags(cmd)
	cmd.Flags().StringVar(&o.DType, "dtype", "", "element type of an array: float32, int64 …")
	_ = cmd.RegisterFlagCompletionFunc("dtype", completeWords(dtypes()...)) // it was just added
	cmd.Flags().StringVar(&shape, "shape", "", "elements per dimension, such as 3,4")
	cmd.Flags().IntVar(&o.Copies, "copies", 0, "how many nodes keep a pinned copy (default 1)")
	return cmd
}

func (a *app) put(ctx context.Context, c *connection, file string, id phalanx.ObjectID, o httpapi.PutOptions) error {
	if err := id.Validate(); err != nil {
		return err
	}
	in, size, err := a.source(file)
	if err != nil {
		return err
	}
	defer in.Close()
	client, err := a.client(c)
	if err != nil {
		return err
	}
	defer client.Close()
	bar, done := a.progress("put "+string(id), size)
	info, err := client.Put(ctx, id, io.TeeReader(in, bar), size, o)
	done()
	if err != nil {
		return err
	}
	return a.print(info, func(w io.Writer) {
		was := ""
		if !info.Created {
			was = ", existed already"
		}
		fmt.Fprintf(w, "%s: %s%s\n", info.ID, describe(info.Info), was)
	})
}

// dtypes returns the names of all element types.
func dtypes() []string {
	var names []string
	for d := phalanx.DType(0); d.Valid(); d++ {
		names = append(names, d.String())
	}
	return names
}

// source opens file; its size is unknown unless it is a plain one.
func (a *app) source(file string) (io.ReadCloser, int64, error) {
	if file == "-" {
		return io.NopCloser(a.stdin), phalanx.UnknownSize, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, &phalanx.Error{Op: "put", Kind: phalanx.ErrInvalid, Err: err}
	}
	st, err := f.Stat()
	switch {
	case err != nil:
	case st.IsDir():
		err = fmt.Errorf("%s is a directory: put its files one by one, or tar c %s | phalanx put - ID", file, file)
	case st.Mode().IsRegular():
		return f, st.Size(), nil
	default:
		return f, phalanx.UnknownSize, nil
	}
	_ = f.Close()
	return nil, 0, &phalanx.Error{Op: "put", Kind: phalanx.ErrInvalid, Err: err}
}

// describe returns what there is to say of an object in a line.
func describe(i httpapi.Info) string {
	text := formatSize(i.Size)
	if i.DType != "" && i.DType != "bytes" {
		text += " " + i.DType
		if i.Shape != nil {
			text += "[" + httpapi.FormatShape(i.Shape) + "]"
		}
	}
	if i.Digest != "" {
		text += ", digest " + i.Digest
	}
	return text
}
