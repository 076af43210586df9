package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/examples/internal/workers"
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

var faults = []fault{clusterFails, ingestLost, actorLost, augmentLost, augmentedLost}

// made is the model that a run ends with.
type made struct {
	Digest   uint64
	Steps    int
	Accuracy float64
}

// outside is what the tasks see of the world: a folder.
type outside struct{ Dir string }

// program has the tasks.
type program struct {
	ingest   workflow.F1[job, []float32]
	begin    workflow.F1[job, []float32]
	augment  workflow.F2[job, []float32, []float32]
	train    workflow.F3[job, []float32, []float32, []float32]
	evaluate workflow.F2[job, []float32, made]
	publish  workflow.F2[job, []float32, made]
}

func (p program) tasks() *workflow.Registry {
	return workflow.Tasks(p.ingest, p.begin, p.augment, p.train, p.evaluate, p.publish)
}

// program returns the tasks. Those that train are not deterministic: gradients are added up in the order in which they
// come, and perhaps not all of them. Samples are moved at random.
func (o outside) program(self *workers.Self) program {
	return program{
		ingest: workflow.Func1("ingest", 1, func(_ workflow.Context, j job) ([]float32, error) {
			samples, _, err := digits.Load()
			return slices.Repeat(samplesArray(samples), j.Copies), err
		}).With(workflow.NoEffect),
		begin: workflow.Func1("begin", 1, func(_ workflow.Context, j job) ([]float32, error) {
			return newState(j.Hidden).array(), nil
		}).With(workflow.NoEffect, workflow.Deterministic),
		augment: workflow.Func2("augment", 1, func(c workflow.Context, j job, data []float32) ([]float32, error) {
			if j.Fault == ingestLost || j.Fault == augmentLost {
				if err := o.fail(c, j, self); err != nil {
					return nil, err
				}
			}
			samples, err := parseSamples(data)
			return samplesArray(digits.Jitter(samples, rand.Uint64())), err
		}).With(workflow.NoEffect),
		train: workflow.Func3("train", 1, func(c workflow.Context, j job, from, data []float32) ([]float32, error) {
			return o.train(c, j, self, from, data)
		}).With(workflow.NoEffect),
		evaluate: workflow.Func2("evaluate", 1, func(_ workflow.Context, j job, from []float32) (made, error) {
			return evaluated(j, from)
		}).With(workflow.NoEffect),
		publish: workflow.Func2("publish", 1, func(c workflow.Context, j job, from []float32) (made, error) {
			m, err := evaluated(j, from)
			if err != nil {
				return m, err
			}
			return m, o.publish(c.Key(), j.Name, m)
		}).With(workflow.Idempotent),
	}
}

// train trains an epoch by actors on all workers.
func (o outside) train(c workflow.Context, j job, self *workers.Self, from, data []float32) ([]float32, error) {
	if j.Fault == augmentedLost {
		if err := o.fail(c, j, self); err != nil {
			return nil, err
		}
	}
	node, err := self.Node(c)
	if err != nil {
		return nil, err
	}
	on, err := self.Workers(c)
	if err != nil {
		return nil, err
	}
	f := c.Fence() // objects of another attempt have other names
	s := &session{node: node, epoch: epoch(fmt.Sprintf("%s/%s/%d.%d.%d", objects, c.Key(), f.Generation, f.Term, f.Attempt))}
	if s.state, err = parseState(from); err != nil {
		return nil, err
	}
	defer s.end()
	if err := s.begin(c, j.Hidden, data, on); err != nil {
		return nil, err
	}
	for round := range j.Rounds {
		if round == j.Rounds/2 && (j.Fault == clusterFails || j.Fault == actorLost) {
			if err := o.fail(c, j, self); err != nil {
				return nil, err
			}
		}
		if err := s.round(c, round); err != nil {
			return nil, err
		}
	}
	return s.state.array(), nil
}

// objects begins the ids of the objects of all epochs.
const objects = "pipeline"

func evaluated(j job, from []float32) (made, error) {
	s, err := parseState(from)
	if err != nil {
		return made{}, err
	}
	_, test, err := digits.Load()
	if err != nil {
		return made{}, err
	}
	h := fnv.New64a()
	_, _ = h.Write(cluster.BytesOf(s.params)) // a hash takes all
	return made{Digest: h.Sum64(), Steps: s.steps(), Accuracy: digits.Model{Hidden: j.Hidden}.Accuracy(s.params, test)}, nil
}

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

// fail has the driver bring about the fault of a run, unless it has done so before, and waits until it has.
func (o outside) fail(ctx context.Context, j job, self *workers.Self) error {
	if err := o.create(filepath.Base(o.asked(j.Name)), []byte(self.Name())); err != nil {
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
