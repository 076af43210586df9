package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx/internal/digits"
	"github.com/phalanx-go/phalanx/workflow"
)

// job is what a task does of a run. Each task has it as an argument.
type job struct {
	Name   string // of the run; files outside are called so
	Hidden int    // units of the classifier
	Rounds int    // steps in an epoch
	Copies int    // of the data set
	Epoch  int    // of the task
	Fault  fault  // that the task brings about; "": none
}

// fault is one of those of figure 3.6.
type fault string

const (
	clusterFails  fault = "cluster"   // all processes are killed
	ingestLost    fault = "ingest"    // the workers are killed that have the ingested data in memory
	actorLost     fault = "actor"     // a process is killed that has actors, and not the task that trains
	augmentLost   fault = "augment"   // the process of an augmentation is killed
	augmentedLost fault = "augmented" // the workers are killed that have augmented data in memory, before it is used
)

// inEpoch reports whether trainers bring the fault about, when they have made half of the steps of an epoch.
func (f fault) inEpoch() bool { return f == clusterFails || f == actorLost }

var faults = []fault{clusterFails, ingestLost, actorLost, augmentLost, augmentedLost}

// outside is what the tasks see of the world: a folder.
type outside struct{ Dir string }

// program has the tasks, and the actors that they use.
type program struct {
	trainers trainers
	ingest   workflow.F1[job, []float32]
	spawn    workflow.F1[job, []workflow.ActorRef]
	augment  workflow.F2[job, []float32, []float32]
	train    workflow.F3[job, []workflow.ActorRef, []float32, []workflow.ActorRef]
	evaluate workflow.F2[job, []workflow.ActorRef, made]
	publish  workflow.F2[job, []workflow.ActorRef, made]
}

func (p program) tasks() *workflow.Registry {
	return workflow.Tasks(p.ingest, p.spawn, p.augment, p.train, p.evaluate, p.publish)
}

// program returns the tasks of a process with a name. Samples are moved at random.
func (o outside) program(process string) program {
	k := o.trainers()
	return program{
		trainers: k,
		ingest: workflow.Func1("ingest", 1, func(_ workflow.Context, j job) ([]float32, error) {
			samples, _, err := digits.Load()
			return slices.Repeat(samplesArray(samples), j.Copies), err
		}).With(workflow.NoEffect),
		spawn: workflow.Func1("spawn", 1, k.begin).With(workflow.NoEffect),
		augment: workflow.Func2("augment", 1, func(c workflow.Context, j job, data []float32) ([]float32, error) {
			if j.Fault == ingestLost || j.Fault == augmentLost {
				if err := o.fail(c, j, process); err != nil {
					return nil, err
				}
			}
			samples, err := parseSamples(data)
			return samplesArray(digits.Jitter(samples, rand.Uint64())), err
		}).With(workflow.NoEffect),
		train: workflow.Func3("train", 1, func(c workflow.Context, j job, all []workflow.ActorRef, data []float32) ([]workflow.ActorRef, error) {
			if j.Fault == augmentedLost {
				if err := o.fail(c, j, process); err != nil {
					return nil, err
				}
			}
			return k.epoch(c, process, j, all, data)
		}).With(workflow.NoEffect),
		evaluate: workflow.Func2("evaluate", 1, k.result).With(workflow.NoEffect),
		publish: workflow.Func2("publish", 1, func(c workflow.Context, j job, all []workflow.ActorRef) (made, error) {
			m, err := k.result(c, j, all)
			if err != nil {
				return m, err
			}
			return m, o.publish(c.Key(), j.Name, m)
		}).With(workflow.Idempotent),
	}
}

// objects begins the ids of what trainers put for each other in a run.
func objects(run string) string { return "pipeline/" + run + "/" }

// publish creates the file of a key, whole or not at all. An attempt again leaves it as it is.
func (o outside) publish(key, run string, m made) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return o.create(run+".published."+strings.ReplaceAll(key, "/", "-"), b)
}

// create creates a file with these bytes, if it is not there.
func (o outside) create(name string, b []byte) error {
	t, err := os.CreateTemp(o.Dir, ".new")
	if err != nil {
		return err
	}
	_, err = t.Write(b)
	if err = errors.Join(err, t.Close()); err == nil {
		if err = os.Link(t.Name(), filepath.Join(o.Dir, name)); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	return errors.Join(err, os.Remove(t.Name()))
}

// published returns what a run has published.
func (o outside) published(run string) (all []made, err error) {
	files, err := filepath.Glob(filepath.Join(o.Dir, run+".published.*"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		var m made
		b, err := os.ReadFile(f)
		if err == nil {
			err = json.Unmarshal(b, &m)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// Files by which a task asks the driver to bring about the fault of a run, and is told that it has.
func (o outside) asked(run string) string { return filepath.Join(o.Dir, run+".asked") }
func (o outside) acted(run string) string { return filepath.Join(o.Dir, run+".acted") }

// glance is how often a process looks for such a file.
const glance = 10 * time.Millisecond

// fail has the driver bring about the fault of a run, unless it has done so before, and waits until it has. It is called by the process that
// a fault of one process kills.
func (o outside) fail(ctx context.Context, j job, process string) error {
	if err := o.create(filepath.Base(o.asked(j.Name)), []byte(process)); err != nil {
		return err
	}
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		if _, err := os.Stat(o.acted(j.Name)); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
