package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx/internal/bench"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

func (a *app) benchCommand() *cobra.Command {
	var c connection
	var req httpapi.BenchRequest
	sizes := []string{"1KB", "32KB", "1MB", "32MB"}
	cmd := &cobra.Command{
		Use:     "bench " + strings.Join(bench.Ops, "|"),
		Short:   "Measure a collective on the cluster as it is",
		GroupID: looks,
		Long: `Bench has the nodes of the cluster carry out an operation, some runs for each size
after one to warm up, checks every element of the results, and prints the time of
the runs: from the first message to a node until the last node has answered.

  broadcast  the first node has an object, and all others get it
  gather     each node has one, and the first gets all
  reduce     each node has an array of float32, and the first gets their sum
  allreduce  each node has an array, and all get their sum
  roundtrip  the first node puts an object that the second gets, and back

The first node is the one that gets the request. Columns are as in nccl-tests: algbw is size
by time (of gather the size of all objects), busbw what a link carries for that: of
allreduce 2(n-1)/n of the size, of gather (n-1)/n of all.`,
		Example:   "  phalanx bench allreduce --sizes 1MB,32MB --runs 10\n  phalanx bench broadcast --nodes 8 -o json",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: bench.Ops,
		RunE: action(func(ctx context.Context, args []string) error {
			client, err := a.client(&c)
			if err != nil {
				return err
			}
			defer client.Close()
			var bytes []int64
			for _, s := range sizes {
				n, err := parseSize(s)
				if err != nil {
					return err
				}
				bytes = append(bytes, n)
			}
			req.Op, req.Timeout = args[0], cmp.Or(c.timeoutText(), "10m")
			rows := []benchRow{}
			done := a.count("measuring "+req.Op, len(bytes))
			defer done.end()
			for i, n := range bytes {
				done.set(i)
				req.Size = n
				res, err := client.Bench(ctx, req)
				if err != nil {
					return err
				}
				rows = append(rows, rowOf(res))
			}
			done.end()
			return a.print(rows, func(w io.Writer) { benchTable(w, req.Op, rows) })
		}),
	}
	c.flags(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&sizes, "sizes", sizes, "sizes of an object")
	f.IntVar(&req.Nodes, "nodes", 0, "how many nodes take part (default all)")
	f.IntVar(&req.Runs, "runs", 5, "runs of each size; bench prints their median")
	return cmd
}

// benchRow is one line of the table. Rates are in bytes per second.
type benchRow struct {
	httpapi.BenchResult
	Median float64 `json:"median_ms"`
	AlgBW  float64 `json:"algbw"`
	BusBW  float64 `json:"busbw"`
}

func rowOf(r httpapi.BenchResult) benchRow {
	sorted := slices.Sorted(slices.Values(r.Ms))
	row := benchRow{BenchResult: r, Median: sorted[len(sorted)/2]}
	n, of := float64(len(r.Nodes)), float64(r.Size)
	share := 1.0
	switch r.Op {
	case bench.AllReduce:
		share = 2 * (n - 1) / n
	case bench.Gather:
		of, share = of*n, (n-1)/n
	case bench.RoundTrip:
		of *= 2
	}
	row.AlgBW = of / (row.Median / 1000)
	row.BusBW = row.AlgBW * share
	return row
}

func benchTable(w io.Writer, op string, rows []benchRow) {
	fmt.Fprintf(w, "%s on %d nodes\n", op, len(rows[0].Nodes))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "size\ttime\tmin\tmax\talgbw\tbusbw\t\n")
	ms := func(x float64) string {
		return time.Duration(x * float64(time.Millisecond)).Round(10 * time.Microsecond).String()
	}
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s/s\t%s/s\t\n", formatSize(r.Size), ms(r.Median), ms(slices.Min(r.Ms)), ms(slices.Max(r.Ms)),
			formatSize(int64(r.AlgBW)), formatSize(int64(r.BusBW)))
	}
	_ = t.Flush() // to memory
}
