package training

import (
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/digits"
	"github.com/phalanx-go/phalanx/storenode"
)

// Kind is the kind of the workers.
const Kind = "digits-worker"

// Kinds are for the Config of every node that gets a worker.
func Kinds() map[string]func(*cluster.Node) *actor.Props {
	return map[string]func(*cluster.Node) *actor.Props{Kind: func(n *cluster.Node) *actor.Props {
		return actor.PropsFromProducer(func() actor.Actor { return &worker{node: n} })
	}}
}

// worker computes gradients on its part of the samples, which never leaves the node.
// Its name and the store give it all it needs.
type worker struct {
	node  *cluster.Node
	run   run
	part  int
	plan  plan
	own   []digits.Sample
	round int
	put   *actor.Future             // of the last gradient
	last  phalanx.ObjectID          // the last gradient; "": there is none
	kept  map[phalanx.ObjectID]bool // gradients, also the last, that may not be deleted yet
}

// Receive takes one step: plan, then weights and gradient of each round.
func (w *worker) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		var err error
		if w.run, w.part, err = parseWorker(c.Self().GetId()); err != nil {
			panic(err)
		}
		c.Request(w.node.Store(), &storenode.Get{Object: w.run.plan()})
	case *storenode.Got:
		switch {
		case m.Err == nil:
			w.got(c, m.View)
			m.View.Release()
		case errors.Is(m.Err, phalanx.ErrDeleted) && m.Object == w.run.weights(w.round):
			w.next(c) // that round is over
		default:
			w.fail(c, m.Err)
		}
	case *storenode.Deleted:
		if m.Err == nil {
			delete(w.kept, m.Object)
		}
	case *actor.Stopping:
		w.leave(c)
	}
}

// leave deletes the gradients that are left: the trainer may have deleted the objects of a round
// before this worker put its own, and ends when its workers have ended.
func (w *worker) leave(c actor.Context) {
	if w.put != nil {
		_ = w.put.Wait() // it ends by its deadline; its outcome does not matter
	}
	var deletes []*actor.Future
	for id := range w.kept {
		deletes = append(deletes, c.RequestFuture(w.node.Store(), &storenode.Delete{Object: id}, leaveFor))
	}
	for _, d := range deletes {
		_ = d.Wait() // no caller is left to tell
	}
}

// leaveFor is how long a stopped worker waits for its last Deletes.
const leaveFor = 5 * time.Second

func (w *worker) got(c actor.Context, v *storenode.View) {
	if v.Info().Object == w.run.plan() {
		if err := w.begin(v.Bytes()); err != nil {
			w.fail(c, err)
			return
		}
		w.await(c)
		return
	}
	model := digits.Model{Hidden: w.plan.Hidden}
	weights, err := cluster.ArrayOf[float32](v)
	if err == nil && len(weights.Values()) != model.NumParams() {
		err = fmt.Errorf("%s has %d weights, not %d", v.Info().Object, len(weights.Values()), model.NumParams())
	}
	if err != nil {
		w.fail(c, err)
		return
	}
	w.tell(c, gradientOf(model, weights.Values(), w.plan.samples(w.own, w.round, w.part)))
}

// tell puts the gradient of this round, and deletes the one of the round before: the trainer
// has missed that if it came late.
func (w *worker) tell(c actor.Context, gradient []float32) {
	if w.last != "" {
		c.Request(w.node.Store(), &storenode.Delete{Object: w.last})
	}
	w.last = w.run.gradient(w.round, w.part)
	w.kept[w.last] = true
	patience := time.Duration(w.plan.Patience)
	w.put = c.RequestFuture(w.node.Store(), &storenode.Put{Object: w.last, Bytes: cluster.BytesOf(gradient), Deadline: patience,
		Meta: phalanx.Meta{DType: phalanx.Float32, Shape: []int64{int64(len(gradient))}}}, 2*patience)
	c.ReenterAfter(w.put, func(answer any, err error) {
		if done, ok := answer.(*storenode.PutDone); ok {
			err = done.Err
		}
		w.put = nil
		if err != nil && !errors.Is(err, phalanx.ErrDeleted) {
			w.fail(c, err)
			return
		}
		w.next(c)
	})
}

// begin takes the plan and loads this worker's part of the samples.
func (w *worker) begin(b []byte) (err error) {
	w.kept = map[phalanx.ObjectID]bool{}
	if w.plan, err = parsePlan(b); err != nil {
		return err
	}
	if w.part < 0 || w.part >= w.plan.Parts {
		return fmt.Errorf("part %d is not one of %d", w.part, w.plan.Parts)
	}
	train, _, err := digits.Load()
	if err != nil {
		return err
	}
	w.own = digits.Split(train, w.plan.Parts)[w.part]
	return nil
}

func (w *worker) next(c actor.Context) {
	w.round++
	w.await(c)
}

func (w *worker) await(c actor.Context) {
	c.Request(w.node.Store(), &storenode.Get{Object: w.run.weights(w.round), Deadline: time.Duration(w.plan.Patience)})
}

// fail tells the trainer, which watches this actor too, and ends.
func (w *worker) fail(c actor.Context, err error) {
	if w.plan.Trainer != "" {
		c.Request(actor.NewPID(w.plan.Trainer, w.run.trainer()), wrapperspb.String(err.Error()))
	}
	c.Stop(c.Self())
}
