package main

import (
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRows(t *testing.T) {
	m := []measure{{"ms", "1"}, {"knee", ""}}
	r := result{Name: "p", About: "It is about that."}
	for i := range 10 {
		r.Samples = append(r.Samples, sample{Case: "a", Run: i, Values: map[string]float64{"ms": float64(10 - i)}})
	}
	r.Samples = append(r.Samples, sample{Case: "b", Values: map[string]float64{"ms": 7, "knee": 3}})
	r.sum(m)
	if len(r.Rows) != 3 {
		t.Fatalf("%+v", r.Rows)
	}
	if a := r.Rows[0]; a.Mean != 5.5 || a.P90 != 9 || math.Abs(a.Deviation-3.0277) > 0.001 || a.Runs != 10 || a.Paper != "1" {
		t.Errorf("%+v", a)
	}
	if b := r.Rows[2]; b.Case != "b" || b.Measure != "knee" || b.Mean != 3 || b.Deviation != 0 || b.P90 != 3 || b.Runs != 1 {
		t.Errorf("%+v", b)
	}
	if text := r.table(); !strings.Contains(text, "| a | ms | 1 | 5.50 | 3.03 | 9.00 | 10 |") {
		t.Error(text)
	}
}

// --out writes the table with the command, every run, and the plots.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	r := newReport([]string{"--runs", "1"})
	two := &result{Name: "two"}
	for _, p := range []passage{{Hosts: 10}, {Hosts: 20}, {Hosts: 10, Degree: 10}, {Hosts: 20, Degree: 10}} {
		two.Samples = append(two.Samples, sample{Case: p.String(), Values: map[string]float64{msTwo: 1}})
		p.Delay = 40e6
		two.Samples = append(two.Samples, sample{Case: p.String(), Values: map[string]float64{msTwo: 2}})
	}
	two.sum(twoBarriers.measures)
	eman := &result{Name: "eman", Samples: []sample{{Series: map[string][]float64{"with": {1, 2}, "without": {1, 3}}}}}
	r.Parts = []*result{two, eman}
	if err := r.write(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"table.md", "results.json", "two.svg", "two-40ms.svg", "eman.svg"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || len(b) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		if name == "table.md" && !strings.Contains(string(b), "`go run ./bench/barriers --runs 1`") {
			t.Errorf("%s", b)
		}
	}
}

func TestFlags(t *testing.T) {
	parse := func(args ...string) (options, error) {
		f := flag.NewFlagSet("barriers", flag.ContinueOnError)
		f.SetOutput(io.Discard)
		return flags(f, args)
	}
	o, err := parse()
	if err != nil || len(o.parts) != len(parts) || o.runs != 10 || len(o.hosts) != 11 {
		t.Errorf("%+v, %v", o, err)
	}
	for _, args := range [][]string{{"--parts", "three"}, {"--hosts", "1"}, {"--runs", "0"}, {"--scale", "0"}, {"-o", "yaml"}, {"--nodes", "2"}} {
		if _, err := parse(args...); err == nil {
			t.Errorf("flags accepts %q", args)
		}
	}
}
