package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/internal/bench"
)

func TestBound(t *testing.T) {
	const rate = 400_000_000 // 47.82 MB of payload a second
	for _, c := range []struct {
		job  job
		want time.Duration
	}{
		{job{Op: bench.Broadcast, Nodes: 16, Size: 32 << 20}, 702 * time.Millisecond},
		{job{Op: bench.Reduce, Nodes: 4, Size: 128 << 20}, 2807 * time.Millisecond},
		{job{Op: bench.Gather, Nodes: 16, Size: 1 << 20}, 329 * time.Millisecond},
		{job{Op: bench.AllReduce, Nodes: 16, Size: 32 << 20}, 1316 * time.Millisecond},
		{job{Op: bench.RoundTrip, Nodes: 3, Size: 128 << 20}, 5613 * time.Millisecond},
		{job{Op: bench.Broadcast, Nodes: 16, Size: 32 << 20, Interval: 100 * time.Millisecond}, 2202 * time.Millisecond},
	} {
		if got := c.job.bound(rate).Round(time.Millisecond); got != c.want {
			t.Errorf("%s: %v, want %v", c.job, got, c.want)
		}
	}
	if (job{Op: bench.Reduce, Nodes: 4, Size: 1}).bound(0) != 0 {
		t.Error("there is a bound without a rate")
	}
}

func TestParse(t *testing.T) {
	sizes, err := parseAll("1KB, 32mb,4B", parseSize)
	if err != nil || len(sizes) != 3 || sizes[0] != 1<<10 || sizes[1] != 32<<20 || sizes[2] != 4 {
		t.Errorf("%v, %v", sizes, err)
	}
	for _, bad := range []string{"", "1", "0KB", "-1MB", "5B", "9GB", "x KB"} {
		if n, err := parseSize(bad); err == nil {
			t.Errorf("%q is %d", bad, n)
		}
	}
	if r, err := parseRate("10gbit"); r != 10_000_000_000 || err != nil {
		t.Errorf("%d, %v", r, err)
	}
	for _, bad := range []string{"", "fast", "0mbit", "1kbit"} {
		if n, err := parseRate(bad); err == nil {
			t.Errorf("%q is %d", bad, n)
		}
	}
}

func TestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"":                               "collectives roundtrip directory arrivals slow unshaped",
		"--parts slow,roundtrip":         "roundtrip slow",
		"--systems phalanx":              "collectives roundtrip directory arrivals slow unshaped",
		"--nodes 4 --sizes 1KB":          "",
		"--parts fast":                   `there is no part "fast"`,
		"--parts slow --nodes 4":         "--parts says itself",
		"--nodes 1":                      "numbers of nodes are 2 to 64",
		"--runs -1":                      "-1 runs",
		"--ops gather --slow 2":          "a link can be slower",
		"--interval 1s --sizes 3B":       `"3B" is no multiple`,
		"--systems phalanx,ray --runs 1": `there is no system "ray"`,
	} {
		f := flag.NewFlagSet("", flag.ContinueOnError)
		chosen, _, err := flags(f, strings.Fields(args))
		var names []string
		for _, p := range chosen {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); err == nil && got != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; want %q", args, got, err, want)
		}
	}
	if p := parts[1].only([]string{"gloo", "phalanx"}, 2); !slices.Equal(p.Systems, []string{"phalanx"}) || p.Runs != 2 || parts[1].Runs == 2 {
		t.Errorf("%+v", p)
	}
}

// The table has a peer's best variant, and marks ranges that overlap.
func TestTable(t *testing.T) {
	r := newResult(part{Systems: []string{"phalanx", "gloo"}, Rate: 400_000_000})
	j := job{Op: bench.AllReduce, Nodes: 4, Size: 1 << 20, Runs: 3}
	for i, ms := range []float64{40, 42, 41} {
		r.add(sample{System: "phalanx", job: j, Run: i, Last: ms})
		r.add(sample{System: "gloo", Variant: "allreduce-chunked", job: j, Run: i, Last: ms - 5})
		r.add(sample{System: "gloo", job: j, Run: i, Last: ms + 5})
	}
	r.sum()
	table := r.table()
	for _, want := range []string{"allreduce 1 MB, 4 nodes", "| 32.9 |", "41.0 (40.0–42.0)", "36.0 (35.0–37.0)", "| 1.247 | 1.14 |"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table has no %q:\n%s", want, table)
		}
	}
	j2 := j
	j2.Size = 1 << 10
	r.add(sample{System: "phalanx", job: j2, Last: 3})
	r.sum()
	dir := t.TempDir()
	if err := (&report{Parts: []*result{r}}).write(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"results.json", "table.md", "allreduce-4.svg", "allreduce-4.png"} {
		if i, err := os.Stat(filepath.Join(dir, name)); err != nil || i.Size() < 200 {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.add(sample{System: "gloo", Variant: "allreduce-chunked", job: j, Run: 3, Last: 40})
	r.sum()
	if table := r.table(); !strings.Contains(table, "(ranges overlap)") {
		t.Error(table)
	}
}
