package main

import (
	"errors"
	"sync"
	"testing"

	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/internal/httpapi/conformance"
	"github.com/phalanx-go/phalanx/workflow"
)

// A node as the program serves it keeps what the tests with package fakenode rely on.
func TestConformance(t *testing.T) {
	conformance.Run(t, func(t *testing.T) (httpapi.Node, conformance.Start) {
		held := newHeld()
		n, err := cluster.Join(t.Context(), cluster.Config{Name: "n1", Memory: conformance.Memory, Shards: 1, Logger: quiet(),
			Services: []cluster.Service{barrier.Service(), workflow.Settings{Dir: t.TempDir(), Tasks: workflow.Tasks(held.task)}.Service()}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Close)
		return servedNode(n), func(t *testing.T, id string) func([]byte, string) { return held.start(t, n, id) }
	})
}

// outcome is how a task ends.
type outcome struct {
	result []byte
	why    string // it fails; "": it does not
}

// heldTasks have a task that goes on until the test ends it.
type heldTasks struct {
	task workflow.F1[string, []byte]
	mu   sync.Mutex
	ends map[string]chan outcome // by the run's id
}

func newHeld() *heldTasks {
	h := &heldTasks{ends: map[string]chan outcome{}}
	h.task = workflow.Func1("held", 1, func(c workflow.Context, id string) ([]byte, error) {
		select {
		case o := <-h.end(id):
			if o.why != "" {
				return nil, workflow.Permanent(errors.New(o.why))
			}
			return o.result, nil
		case <-c.Done():
			return nil, c.Err()
		}
	}).With(workflow.NoEffect)
	return h
}

func (h *heldTasks) end(id string) chan outcome {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ends[id] == nil {
		h.ends[id] = make(chan outcome, 1)
	}
	return h.ends[id]
}

// start begins a run of the task.
func (h *heldTasks) start(t *testing.T, n *cluster.Node, id string) func([]byte, string) {
	t.Helper()
	if _, err := workflow.Start(t.Context(), n, id, h.task.Bind(workflow.Value(id))); err != nil {
		t.Fatal(err)
	}
	return func(result []byte, why string) { h.end(id) <- outcome{result, why} }
}
