package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/workflow"
)

// mean is the state of an actor.
type mean struct {
	Sum float64
	N   int
}

func newMean(workflow.ActorContext, workflow.None) (*mean, error) { return &mean{}, nil }

func (m *mean) see(_ workflow.ActorContext, values []float64) (int, error) {
	for _, v := range values {
		m.Sum, m.N = m.Sum+v, m.N+1
	}
	return m.N, nil
}

func (m *mean) value(workflow.ActorContext, workflow.None) (float64, error) {
	return m.Sum / float64(m.N), nil
}

func (m *mean) save() ([]byte, error) { return json.Marshal(m) }

func loadMean(_ workflow.ActorContext, b []byte) (m *mean, err error) {
	return m, json.Unmarshal(b, &m)
}

var (
	means = workflow.Actor("mean", 1, newMean).Snapshots((*mean).save, loadMean)
	see   = workflow.Method(means, "see", (*mean).see)
	value = workflow.Method(means, "value", (*mean).value).ReadOnly()

	start = workflow.Func0("start", 1, func(c workflow.Context) (workflow.ActorRef, error) {
		return means.Spawn(c, "mean", workflow.None{})
	}).With(workflow.NoEffect)
	feed = workflow.Func2("feed", 1, func(c workflow.Context, m workflow.ActorRef, values []float64) (workflow.ActorRef, error) {
		_, err := see.Call(c, m, values)
		return m, err
	}).With(workflow.NoEffect)
	show = workflow.Func1("show", 1, func(c workflow.Context, m workflow.ActorRef) (float64, error) {
		return value.Call(c, m, workflow.None{})
	}).With(workflow.NoEffect)
)

// An actor keeps its state from task to task. A snapshot after the second task has it survive its node.
func ExampleActor() {
	dir, err := os.MkdirTemp("", "workflows")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := cluster.Join(ctx, cluster.Config{Name: "means", Services: []cluster.Service{
		workflow.Settings{Dir: dir, Tasks: workflow.Tasks(start, feed, show), Actors: workflow.Actors(means)}.Service(),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Leave(ctx) }()

	m := feed.Bind(start.Bind(), workflow.Value([]float64{1, 2, 3})).With(workflow.Snapshot)
	m = feed.Bind(m, workflow.Value([]float64{4, 5}))
	run, err := workflow.Start(ctx, node, "mean", show.Bind(workflow.Read(m)))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run.Result(ctx))
	// Output: 3 <nil>
}
