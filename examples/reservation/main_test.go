package main

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/internal/reservation"
)

func TestMain(m *testing.M) {
	child()
	os.Exit(m.Run())
}

// Processes are killed in each stage, and the books balance: run checks them.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	var out strings.Builder
	if err := run(ctx, &out, options{workers: 3, clients: 2, trips: 2, killed: 2, seats: 8, every: 10, seed: 3, dir: t.TempDir()}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), "the books balance: ") {
		t.Errorf("%s", out.String())
	}
	for _, s := range reservation.Stages {
		if !strings.Contains(out.String(), "\n"+s.Name+" ") {
			t.Errorf("the stage %s is missing in\n%s", s.Name, out.String())
		}
	}
}

func TestRunErrors(t *testing.T) {
	good := options{workers: 1, clients: 1, trips: 1, killed: 1, seats: 1, every: 2}
	for _, change := range []func(*options){
		func(o *options) { o.workers = 0 }, func(o *options) { o.clients = 0 }, func(o *options) { o.trips = 0 },
		func(o *options) { o.killed = 0 }, func(o *options) { o.seats = 0 }, func(o *options) { o.every = 1 },
	} {
		o := good
		change(&o)
		if err := run(context.Background(), io.Discard, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
