package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/storenode"
)

func (a *app) putCommand() *cobra.Command {
	var c connection
	var o httpapi.PutOptions
	var shape string
	var memoryWait time.Duration
	cmd := &cobra.Command{
		Use:     "put FILE ID",
		Short:   "Create an object from a file, or from standard input (-)",
		GroupID: objects,
		Long: `Put creates the object ID from FILE, or from standard input if FILE is "-".
Other nodes can read it while it is written. Objects are immutable: the same bytes
under the same id succeed again, other bytes fail (exit code 4). A FILE that shrinks
or grows meanwhile creates nothing (exit code 2). If there are fewer nodes than
--copies, put fails at once (exit code 8). If the node has no memory for it, put
waits as long as --memory-wait says; if pinned objects leave no memory for it, put
fails at once (exit code 7).`,
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
			if memoryWait < 0 || memoryWait > 24*time.Hour {
				return invalid("--memory-wait: %v is not from 0s to 24h", memoryWait)
			}
			if o.MemoryWait = memoryWait; memoryWait == 0 {
				o.MemoryWait = -1
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
	cmd.Flags().DurationVar(&memoryWait, "memory-wait", storenode.MemoryWait, "how long to wait for memory at the node; 0s: not at all")
	return cmd
}

func (a *app) put(ctx context.Context, c *connection, file string, id phalanx.ObjectID, o httpapi.PutOptions) error {
	if err := id.Validate(); err != nil {
		return err
	}
	in, err := openInput(file, a.stdin)
	if errors.Is(err, fs.ErrNotExist) {
		if st, other := os.Stat(string(id)); other == nil && st.Mode().IsRegular() {
			return invalid("%w; the file comes before the id: phalanx put %s %s", reason(err), id, file)
		}
	}
	if err != nil {
		return err
	}
	defer in.Close()
	client, err := a.client(c)
	if err != nil {
		return err
	}
	defer client.Close()
	bar, waits, done := a.progressWaits("put "+string(id), in.size)
	o.Waits = waits
	info, err := client.Put(ctx, id, io.TeeReader(in, bar), in.size, o)
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

// describe returns the description of an object in a line.
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
