package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/internal/digits"
	"github.com/phalanx-go/phalanx/workflow"
)

func TestMain(m *testing.M) {
	child()
	os.Exit(m.Run())
}

// Each fault is survived without any checkpoint, and each model has made each step once: run checks that.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	var out strings.Builder
	o := options{job: job{Rounds: 2, Hidden: 20, Copies: 1}, epochs: 3, faulty: []string{"NoCkpt"}, dir: t.TempDir()}
	if err := run(ctx, &out, o); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, s := range []string{"NoCkpt does not publish: cut: ", "each model has made 6 steps"} {
		if !strings.Contains(out.String(), s) {
			t.Errorf("%q is missing in\n%s", s, out.String())
		}
	}
}

func TestRunErrors(t *testing.T) {
	good := options{job: job{Rounds: 2, Hidden: 1, Copies: 1}, epochs: 3}
	for _, change := range []func(*options){
		func(o *options) { o.epochs = 2 }, func(o *options) { o.job.Rounds = 1 },
		func(o *options) { o.job.Hidden = 0 }, func(o *options) { o.job.Copies = 0 },
	} {
		o := good
		change(&o)
		if err := run(context.Background(), io.Discard, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// Each mode has the last task wait for other checkpoints.
func TestModes(t *testing.T) {
	p := outside{}.program("")
	want := map[string]string{
		"SyncCkpt":  "[spawn ingest augment train augment#2 train#2]",
		"AsyncCkpt": "[spawn ingest augment train augment#2 train#2]",
		"Selective": "[spawn ingest train train#2]",
		"NoCkpt":    "[]",
	}
	for _, m := range modes {
		waits, err := workflow.Check(m.flow(p, job{}, 2, ""), p.tasks())
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		last := []string{}
		for _, w := range waits {
			if w.Task == "publish" {
				last = w.For
			}
		}
		if got := fmt.Sprint(last); got != want[m.name] {
			t.Errorf("%s: publish waits for %s, want %s", m.name, got, want[m.name])
		}
	}
}

// Trainers and samples come back as they were.
func TestArrays(t *testing.T) {
	of := newTrainer(3)
	of.adam.Step(of.params, make([]float32, len(of.params)), 1)
	b, err := of.save()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := loadTrainer(b); err != nil || got.steps() != 1 || !slices.Equal(got.array(), of.array()) {
		t.Errorf("%+v, %v", got, err)
	}
	train, _, err := digits.Load()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := parseSamples(samplesArray(train)); err != nil || !slices.Equal(got, train) {
		t.Errorf("%d samples, not %d: %v", len(got), len(train), err)
	}
	if _, err := parseTrainer([]float32{1, 2}); err == nil {
		t.Error("two elements are a trainer")
	}
	if _, err := parseSamples([]float32{1, 2}); err == nil {
		t.Error("two elements are samples")
	}
}

// The check of a run finds a step that is missing, a bad model, and what is not published once.
func TestCheck(t *testing.T) {
	d := &driver{options: options{job: job{Rounds: 2}, epochs: 2, wanted: 0.9}, world: outside{t.TempDir()}}
	good := made{Digest: 1, Steps: 4, Accuracy: 0.9, Trainers: 8}
	says := func(run string, effect bool, m made, want string) {
		t.Helper()
		if err := d.check(mode{effect: effect}, run, m); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", run, err, want)
		}
	}
	publish := func(run string, keys ...string) {
		t.Helper()
		for _, k := range keys {
			if err := d.world.publish(k, run, good); err != nil {
				t.Fatal(err)
			}
		}
	}
	publish("once", "k/1", "k/1")
	publish("twice", "k/1", "k/2")
	says("once", true, good, "<nil>")
	says("never", false, good, "<nil>")
	says("once", true, made{1, 3, 1, 8}, "the model has made 3 steps, not 4")
	says("once", true, made{1, 4, 1, 6}, "6 trainers have the model, not 8")
	says("once", true, made{1, 4, 0.5, 8}, "the model classifies 0.500 of the test samples, not 0.900")
	says("once", true, made{2, 4, 1, 8}, "published is [{Digest:1 Steps:4 Accuracy:0.9 Trainers:8}], and the result is {Digest:2 Steps:4 Accuracy:1 Trainers:8}")
	says("once", false, good, "published is [{Digest:1 Steps:4 Accuracy:0.9 Trainers:8}], and the result is {Digest:1 Steps:4 Accuracy:0.9 Trainers:8}")
	says("never", true, good, "published is [], and the result is {Digest:1 Steps:4 Accuracy:0.9 Trainers:8}")
	says("twice", true, good, "published is [{Digest:1 Steps:4 Accuracy:0.9 Trainers:8} {Digest:1 Steps:4 Accuracy:0.9 Trainers:8}], and the result is {Digest:1 Steps:4 Accuracy:0.9 Trainers:8}")
}

// A task that asks for a fault goes on once the driver has brought it about, and asks once.
func TestFaultsAreBroughtAboutOnce(t *testing.T) {
	o := outside{t.TempDir()}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("killed"))
	if err := o.fail(ctx, job{Name: "r"}, "w1"); fmt.Sprint(err) != "killed" {
		t.Errorf("it does not wait: %v", err)
	}
	if _, err := os.Stat(o.asked("r")); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(o.acted("r"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := o.fail(context.Background(), job{Name: "r"}, "w1"); err != nil {
		t.Error(err)
	}
}
