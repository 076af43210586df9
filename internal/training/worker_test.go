package training

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// A worker that has ended has no gradient left, also of a round whose Delete had not been answered.
func TestAWorkerDeletesItsGradients(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	log := logrus.New()
	log.SetOutput(io.Discard)
	n, err := cluster.Join(ctx, cluster.Config{Name: "n", Memory: 64 << 20, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Leave(ctx); err != nil {
			t.Error(err)
		}
	}()
	r := run("t")
	w := &worker{node: n, kept: map[phalanx.ObjectID]bool{}}
	for round := range 2 {
		w.last = r.gradient(round, 0)
		w.kept[w.last] = true
		if _, err := n.Put(ctx, w.last, []byte("gradient")); err != nil {
			t.Fatal(err)
		}
	}
	pid, err := n.System().Root.SpawnNamed(actor.PropsFromProducer(func() actor.Actor { return w }), r.worker(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.System().Root.StopFuture(pid).Wait(); err != nil {
		t.Fatal(err)
	}
	left, err := n.List(ctx, "t/")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range left {
		if o.State.String() != "deleted" {
			t.Errorf("%s is still there: %v", o.Object, o.State)
		}
	}
	w.Receive(told{message: &storenode.Deleted{Object: w.last}})
	if w.kept[w.last] || len(w.kept) != 1 {
		t.Errorf("after the answer to a Delete these may not be deleted yet: %v", w.kept)
	}
}

// told is the context of one message.
type told struct {
	actor.Context
	message any
}

func (c told) Message() any { return c.message }
