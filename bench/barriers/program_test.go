package main

import (
	"context"
	"math"
	"testing"
	"time"
)

// Receivers that pass have the object, and all others are told to leave. The barrier waits for at
// least 60 %, and for none that comes long after the rest.
func TestDistribution(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	p, err := compile(ctx, "phases")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.remove(); err != nil {
			t.Error(err)
		}
	}()
	const receivers, scale = 50, 1000
	s, err := measureStart(ctx, p, receivers, 0, scale)
	if err != nil {
		t.Fatal(err)
	}
	ready := s.Values[pReady] * receivers / 100
	if s.Values[pReady] < 60 || ready+s.Values[nLeft] != receivers || s.Values[nTurned] != s.Values[nLeft]-receivers/8 {
		t.Errorf("%v", s.Values)
	}
	if s.Values[sInTime] > spreadOfReady.Seconds() || s.Values[sAll] < 15*spreadOfReady.Seconds() {
		t.Errorf("receivers in time are ready by %v s, the last by %v", s.Values[sInTime], s.Values[sAll])
	}
}

// The output of the example becomes the figures of the paper.
func TestMapReduceFigures(t *testing.T) {
	c := counted{
		Knee:    []phaseOf{{Tasks: 200, Respawned: 94, Copies: 100, KneeAt: 0.68, DoneAtKnee: 106, Seconds: 1.5}, {Tasks: 10, Seconds: 0.5}},
		Without: []phaseOf{{Tasks: 200, Seconds: 24}, {Tasks: 10, Seconds: 1}},
	}
	s, err := c.sample(100)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{sKnee: 68, pKnee: 53, pRespawned: 47, pRepeated: 50, sWith: 150, sWithout: 2400, fasterMap: 16, fasterAll: 12.5} {
		if got := s.Values[name]; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, not %v", name, got, want)
		}
	}
	c.Knee[0].Copies = 0
	if s, err = c.sample(100); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Values[sKnee]; ok {
		t.Error("a run without a knee has a time of the knee")
	}
	if _, err := (counted{}).sample(100); err == nil {
		t.Error("sample accepts an output without phases")
	}
}

// The benchmark can read the output of the example, and with the knee a task goes at most once to
// each other worker.
func TestMapReduceRuns(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	p, err := compile(ctx, "mapreduce")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.remove(); err != nil {
			t.Error(err)
		}
	}()
	var r counted
	if err := p.run(ctx, &r, "mapreduce", "--workers", "3", "--maps", "24", "--reduces", "3", "--pace", "5ms", "--slow", "1", "--slower", "10"); err != nil {
		t.Fatal(err)
	}
	s, err := r.sample(1)
	if err != nil {
		t.Fatal(err)
	}
	if r.Knee[0].Tasks != 24 || s.Values[sWith] <= 0 || s.Values[sWithout] <= 0 || s.Values[pRepeated] > 200 || s.Values[pRespawned] > 50 {
		t.Errorf("%+v", r)
	}
}

func TestParsePlans(t *testing.T) {
	const text = `goos: linux
BenchmarkPlans/bytes=65536-2         	       2	         9.213 ms-first	         2.940 ms-revoked	        15.19 ms-second	        10.41 ms-third	        10.00 ms-undisturbed	        10.32 ms-undisturbed-p25
BenchmarkPlans/bytes=1048576         	       2	         20 ms-first	         3 ms-revoked	        20 ms-second	        19 ms-third	        20 ms-undisturbed
PASS
`
	all, err := parsePlans(text)
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	if s := all[0]; s.Case != "64 KB" || s.Values[msBefore] != 10 || s.Values[msThird] != 10.41 || math.Abs(s.Values[ratio3]-1.041) > 1e-9 {
		t.Errorf("%+v", s)
	}
	if s := all[1]; s.Case != "1024 KB" || s.Values[ratio1] != 1 || s.Values[ratio3] != 0.95 {
		t.Errorf("%+v", s)
	}
	for _, bad := range []string{"PASS", "BenchmarkPlans/bytes=1-2 1 5 ms-first", "BenchmarkPlans/bytes=x-2 1 5 ms-first"} {
		if _, err := parsePlans(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
