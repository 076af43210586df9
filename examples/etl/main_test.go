package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	child()
	os.Exit(m.Run())
}

// All results are right, also when the process of a consumer is killed: run checks that. By Ref nothing is copied.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	var out strings.Builder
	if err := run(ctx, &out, options{workers: 3, megabytes: 2, consumers: []int{1, 4}, runs: 1, dir: t.TempDir()}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, s := range []string{"is dead (signal: killed)", "is killed: "} {
		if !strings.Contains(out.String(), s) {
			t.Errorf("%q is missing in\n%s", s, out.String())
		}
	}
	for line := range strings.Lines(out.String()) {
		switch f := strings.Fields(line); {
		case len(f) == 6 && f[0] == "4" && f[2] == "Ref" && f[5] != "0.0",
			len(f) == 6 && f[0] == "4" && f[2] == "value" && f[5] != "8.0":
			t.Errorf("copied: %s", line)
		}
	}
}

func TestRunErrors(t *testing.T) {
	good := options{workers: 3, megabytes: 1, consumers: []int{1}, runs: 1}
	for _, change := range []func(*options){
		func(o *options) { o.workers = 2 }, func(o *options) { o.megabytes = 0 }, func(o *options) { o.runs = 0 },
		func(o *options) { o.consumers = nil }, func(o *options) { o.consumers = []int{0} },
	} {
		o := good
		change(&o)
		if err := run(context.Background(), io.Discard, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// The check of results finds one that is missing or wrong.
func TestCheck(t *testing.T) {
	d := &driver{rows: []uint64{3, 5}}
	if err := d.check("r", []counted{{Sum: 8}, {Sum: 7}}, 2); err != nil {
		t.Error(err)
	}
	for want, all := range map[string][]counted{
		"r has results of 1 consumers, not 2": {{Sum: 8}},
		"r: consumer 1 has made 8, not 7":     {{Sum: 8}, {Sum: 8}},
	} {
		if err := d.check("r", all, 2); fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
