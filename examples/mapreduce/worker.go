package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
)

// task is one of a phase.
type task struct {
	Label   string
	Phase   string
	Config  barrier.Config // of the phase's barrier
	Index   int
	Maps    int // of a reduce task: how many parts there are
	Reduces int
	Drop    bool // another worker has done it
}

func mapTasks(n int) (all []task) {
	for i := range n {
		all = append(all, task{Label: fmt.Sprint("map/", i), Index: i})
	}
	return all
}

func reduceTasks(maps, n int) (all []task) {
	for i := range n {
		all = append(all, task{Label: fmt.Sprint("reduce/", i), Index: i, Maps: maps, Reduces: n})
	}
	return all
}

// message is a task as it goes to a worker on any node.
func (t task) message() *wrapperspb.StringValue {
	b, err := json.Marshal(t)
	if err != nil {
		panic(err) // it always can be
	}
	return wrapperspb.String(string(b))
}

// worker does its tasks one after the other, each in a goroutine beside the actor.
type worker struct {
	node  *cluster.Node
	name  string
	pace  time.Duration
	queue []task
	doing string // label of the task that it does; empty: none
	drop  context.CancelFunc
	ctx   context.Context
	stop  context.CancelFunc
}

type finished struct{}

func newWorker(n *cluster.Node, name string, pace time.Duration) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &worker{node: n, name: name, pace: pace} })
}

// Receive takes tasks.
func (w *worker) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		w.ctx, w.stop = context.WithCancel(context.Background())
	case *actor.Stopping:
		w.stop()
	case *wrapperspb.StringValue:
		var t task
		switch {
		case json.Unmarshal([]byte(m.GetValue()), &t) != nil: // nobody else sends anything
		case !t.Drop:
			w.queue = append(w.queue, t)
		case t.Label == w.doing:
			w.drop()
		default:
			w.queue = slices.DeleteFunc(w.queue, func(queued task) bool { return queued.Label == t.Label })
		}
	case finished:
		w.drop()
		w.doing = ""
	}
	if w.doing != "" || len(w.queue) == 0 {
		return
	}
	t := w.queue[0]
	w.queue, w.doing = w.queue[1:], t.Label
	var ctx context.Context
	ctx, w.drop = context.WithCancel(w.ctx)
	root, self := c.ActorSystem().Root, c.Self()
	go func() {
		w.do(ctx, t)
		root.Send(self, finished{})
	}()
}

// do does a task, and enters the barrier of its phase. It does not wait there.
func (w *worker) do(ctx context.Context, t task) {
	began := time.Now()
	err := w.work(ctx, t)
	select {
	case <-time.After(w.pace - time.Since(began)):
	case <-ctx.Done():
		return
	}
	if err != nil {
		return // the barrier says that the task is absent
	}
	if b, err := barrier.Open(w.node, t.Phase, t.Config); err == nil {
		b.EnterFunc(w.ctx, barrier.Entry{Label: t.Label, Host: w.name}, func(barrier.Passage, error) {})
	}
}

// work is what the task is about. Copies of a task leave the same bytes.
func (w *worker) work(ctx context.Context, t task) error {
	sum, id := map[string]int{}, middleID(t.Index)
	if t.Maps == 0 {
		v, err := w.node.Get(ctx, splitID(t.Index))
		if err != nil {
			return err
		}
		sum = count(string(v.Bytes()))
		v.Release()
	} else {
		id = resultID(t.Index)
		for i := range t.Maps {
			c, err := counts(ctx, w.node, middleID(i))
			if err != nil {
				return err
			}
			for word, n := range c {
				if part(word, t.Reduces) == t.Index {
					sum[word] += n
				}
			}
		}
	}
	b, err := json.Marshal(sum)
	if err == nil {
		_, err = w.node.Put(ctx, id, b)
	}
	return err
}
