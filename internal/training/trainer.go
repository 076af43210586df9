package training

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/digits"
	"github.com/phalanx-go/phalanx/storenode"
)

// Messages to the trainer from its own node.
type (
	abandon struct{ err error } // the caller has gone
	giveUp  struct{}            // workers do not end
)

// trainer drives the rounds. It waits only for answers of the store, which come by
// their deadline, and for the end of its workers.
type trainer struct {
	node    *cluster.Node
	run     run
	cfg     Config
	done    func(Result, error)
	workers []*member

	model  digits.Model
	params []float32
	adam   *digits.Adam
	parts  []int // how many samples each part has
	test   []digits.Sample

	round    int // from 0
	now      inRound
	result   Result
	err      error
	panicked bool
	ending   bool
	deletes  int // not answered yet
	patience *time.Timer
}

// member is a worker as the trainer sees it.
type member struct {
	pid    *actor.PID
	node   phalanx.NodeID
	ended  bool
	reason string // why it ended, if it said so
}

// inRound is the state of the present round.
type inRound struct {
	began   time.Time
	missing int // answers
	reduced storenode.ReduceResult
	wanted  map[phalanx.ObjectID]bool // asked of the store, not answered yet
	arrays  map[phalanx.ObjectID]*cluster.Array[float32]
	remade  map[phalanx.ObjectID][]float32 // gradients that were lost with their workers
}

// Receive takes one step.
func (t *trainer) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Restarting:
		t.panicked = true
	case *actor.Started:
		if t.panicked {
			t.end(c, &phalanx.Error{Op: "train", Node: t.node.ID(), Kind: phalanx.ErrInternal, Err: errors.New("the trainer has panicked; see the node's log")})
			return
		}
		for _, w := range t.workers {
			c.Watch(w.pid)
		}
		t.begin(c)
	case *storenode.PutDone:
		t.answered(c, m.Err)
	case *storenode.Reduced:
		t.reduced(c, m)
	case *storenode.Got:
		t.got(c, m)
	case *storenode.Deleted:
		t.deleted(c, m)
	case *wrapperspb.StringValue:
		if w := t.find(c.Sender()); w != nil {
			w.reason = m.GetValue()
		}
	case *actor.Terminated:
		t.ended(c, m.Who)
	case *actor.Stopping:
		t.tell(&phalanx.Error{Op: "train", Node: t.node.ID(), Kind: phalanx.ErrClosed, Err: errors.New("the trainer was stopped")})
	case abandon:
		t.end(c, m.err)
	case giveUp:
		if t.ending {
			t.err = errors.Join(t.err, fmt.Errorf("train: after %v there are still workers: %s", t.cfg.Deadline, t.describe(func(w *member) bool { return !w.ended })))
			t.finish(c)
		}
	}
}

// begin puts the weights of a round and asks for the sum of its gradients.
func (t *trainer) begin(c actor.Context) {
	if t.round == t.cfg.Rounds {
		t.end(c, nil)
		return
	}
	t.now = inRound{began: time.Now(), missing: 2, wanted: map[phalanx.ObjectID]bool{},
		arrays: map[phalanx.ObjectID]*cluster.Array[float32]{}, remade: map[phalanx.ObjectID][]float32{}}
	c.Request(t.node.Store(), &storenode.Put{Object: t.run.weights(t.round), Bytes: cluster.BytesOf(t.params), Deadline: t.cfg.Deadline,
		Meta: phalanx.Meta{DType: phalanx.Float32, Shape: []int64{int64(len(t.params))}}})
	t.askReduce(c)
	t.cfg.OnReduce(t.round+1, t.run.sum(t.round))
}

// answered counts an answer, and makes the step after the last one of a round.
func (t *trainer) answered(c actor.Context, err error) {
	switch {
	case t.ending:
	case err != nil:
		t.end(c, err)
	default:
		if t.now.missing--; t.now.missing == 0 {
			t.step(c)
		}
	}
}

// reduced fetches the sum and, to check it, exactly the gradients that the answer names.
func (t *trainer) reduced(c actor.Context, m *storenode.Reduced) {
	if m.Err == nil && !t.ending {
		t.now.reduced = m.Result
		t.want(c, m.Target, t.cfg.Deadline/sumTries)
		for _, id := range m.Result.In {
			t.want(c, id, t.cfg.Deadline)
		}
		t.remake(c)
	}
	t.answered(c, m.Err)
}

// sumTries is how often a round fetches the sum before it fails. Between tries it asks
// for the reduce again, in case the only copy of the sum has died with a node.
const sumTries = 10

// want asks the store for an object that has not come yet.
func (t *trainer) want(c actor.Context, id phalanx.ObjectID, deadline time.Duration) {
	if t.now.wanted[id] || t.now.arrays[id] != nil || t.now.remade[id] != nil {
		return
	}
	c.Request(t.node.Store(), &storenode.Get{Object: id, Deadline: deadline})
	t.now.wanted[id] = true
	t.now.missing++
}

// askReduce asks for the sum of the round. A repeat asks for the same reduce, which
// runs again only if its result was lost.
func (t *trainer) askReduce(c actor.Context) {
	sources := make([]phalanx.ObjectID, len(t.workers))
	for part := range sources {
		sources[part] = t.run.gradient(t.round, part)
	}
	c.Request(t.node.Store(), &storenode.Reduce{Target: t.run.sum(t.round), Sources: sources, Op: phalanx.Sum, Num: t.cfg.Num, Deadline: t.cfg.Deadline})
}

// remake computes gradients in the sum that ended workers had: only their nodes had
// copies, which may be lost. The plan and the weights determine the values.
func (t *trainer) remake(c actor.Context) {
	for part, w := range t.workers {
		id := t.run.gradient(t.round, part)
		if !w.ended || !t.now.wanted[id] {
			continue
		}
		own, err := t.samples(part)
		if err != nil {
			t.end(c, err)
			return
		}
		delete(t.now.wanted, id)
		t.now.remade[id] = gradientOf(t.model, t.params, t.plan().samples(own, t.round, part))
		t.answered(c, nil)
	}
}

// samples returns the samples of a part.
func (t *trainer) samples(part int) ([]digits.Sample, error) {
	train, _, err := digits.Load()
	if err != nil {
		return nil, err
	}
	return digits.Split(train, len(t.workers))[part], nil
}

func (t *trainer) got(c actor.Context, m *storenode.Got) {
	if !t.now.wanted[m.Object] { // it was remade
		if m.View != nil {
			m.View.Release()
		}
		return
	}
	delete(t.now.wanted, m.Object)
	if m.Err != nil && !t.ending && m.Object == t.run.sum(t.round) && time.Since(t.now.began) < t.cfg.Deadline {
		t.askReduce(c) // its answer takes the place of this one
		return
	}
	err := m.Err
	if err == nil {
		var a *cluster.Array[float32]
		if a, err = cluster.ArrayOf[float32](m.View); err != nil || t.ending {
			m.View.Release()
		} else {
			t.now.arrays[m.Object] = a
		}
	}
	t.answered(c, err)
}

// step checks the sum, moves the weights, reports the round and deletes its objects,
// so that memory does not grow with the rounds.
func (t *trainer) step(c actor.Context) {
	r, err := t.check()
	if err != nil {
		t.end(c, err)
		return
	}
	sum := t.now.arrays[t.run.sum(t.round)].Values()
	last := len(sum) - 1
	r.Loss = float64(sum[last]) / float64(r.Samples)
	t.adam.Step(t.params, sum[:last], r.Samples)
	t.release()
	r.Accuracy = t.model.Accuracy(t.params, t.test)
	r.Took = time.Since(t.now.began)
	t.result.Rounds, t.result.Loss, t.result.Accuracy = r.Number, r.Loss, r.Accuracy
	t.cfg.OnRound(r)
	t.clear(c)
	t.round++
	t.begin(c)
}

// check compares the sum with one over exactly the gradients that the answer names.
func (t *trainer) check() (Round, error) {
	r := Round{Number: t.round + 1}
	fail := func(err error) (Round, error) {
		return r, &phalanx.Error{Op: "train", Object: t.run.sum(t.round), Kind: phalanx.ErrCorrupt, Err: err}
	}
	if in := t.now.reduced.In; len(in) != t.cfg.Num {
		return fail(fmt.Errorf("the sum has %d gradients, not %d", len(in), t.cfg.Num))
	}
	var parts [][]float32
	for part := range t.workers {
		id := t.run.gradient(t.round, part)
		if !slices.Contains(t.now.reduced.In, id) {
			r.Out = append(r.Out, part)
			continue
		}
		gradient, ok := t.now.remade[id]
		if !ok {
			gradient = t.now.arrays[id].Values()
		}
		parts = append(parts, gradient)
		r.Samples += t.parts[part]
	}
	for _, id := range t.now.reduced.In {
		r.In = append(r.In, partOf(id))
	}
	sum := t.now.arrays[t.run.sum(t.round)].Values()
	if len(parts) != t.cfg.Num || len(sum) != gradientLen(t.model) {
		return fail(fmt.Errorf("the sum has %d known gradients and %d elements, not %d and %d", len(parts), len(sum), t.cfg.Num, gradientLen(t.model)))
	}
	if err := checkSum(sum, parts); err != nil {
		return fail(err)
	}
	t.result.Verified++
	return r, nil
}

func (t *trainer) release() {
	for _, a := range t.now.arrays {
		a.Release()
	}
	t.now.arrays, t.now.wanted = nil, nil
}

// clear deletes the objects of the present round. A worker that puts a gradient later deletes
// it.
func (t *trainer) clear(c actor.Context) {
	ids := []phalanx.ObjectID{t.run.weights(t.round), t.run.sum(t.round)}
	for part := range t.workers {
		ids = append(ids, t.run.gradient(t.round, part))
	}
	t.delete(c, ids...)
}

func (t *trainer) delete(c actor.Context, ids ...phalanx.ObjectID) {
	for _, id := range ids {
		c.Request(t.node.Store(), &storenode.Delete{Object: id, Deadline: t.cfg.Deadline})
		t.deletes++
	}
}

func (t *trainer) deleted(c actor.Context, m *storenode.Deleted) {
	t.deletes--
	if m.Err != nil && !t.ending {
		t.end(c, m.Err)
		return
	}
	t.err = errors.Join(t.err, m.Err)
	t.finishIfOver(c)
}

func (t *trainer) find(pid *actor.PID) *member {
	for _, w := range t.workers {
		if pid != nil && w.pid.Equal(pid) {
			return w
		}
	}
	return nil
}

// ended notes the end of a worker, and ends the training if too few are left.
func (t *trainer) ended(c actor.Context, who *actor.PID) {
	w := t.find(who)
	if w == nil {
		return
	}
	w.ended = true
	left := 0
	for _, w := range t.workers {
		if !w.ended {
			left++
		}
	}
	if !t.ending && left < t.cfg.Num {
		t.end(c, fmt.Errorf("train: %d of %d workers are left, a round needs %d; ended: %s", left, len(t.workers), t.cfg.Num,
			t.describe(func(w *member) bool { return w.ended })))
	}
	if !t.ending {
		t.remake(c)
	}
	t.finishIfOver(c)
}

// describe names the workers that which picks.
func (t *trainer) describe(which func(*member) bool) string {
	var names []string
	for _, w := range t.workers {
		if which(w) {
			name := string(w.node)
			if w.reason != "" {
				name += " (" + w.reason + ")"
			}
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// end stops the workers and deletes the remaining objects of the training.
func (t *trainer) end(c actor.Context, err error) {
	if t.ending {
		return
	}
	t.ending, t.err = true, err
	t.release()
	for _, w := range t.workers {
		c.Stop(w.pid)
	}
	t.clear(c)
	t.delete(c, t.run.plan())
	self, root := c.Self(), c.ActorSystem().Root
	t.patience = time.AfterFunc(t.cfg.Deadline, func() { root.Send(self, giveUp{}) })
	t.finishIfOver(c)
}

func (t *trainer) finishIfOver(c actor.Context) {
	if t.ending && t.deletes == 0 && !slices.ContainsFunc(t.workers, func(w *member) bool { return !w.ended }) {
		t.finish(c)
	}
}

func (t *trainer) finish(c actor.Context) {
	t.patience.Stop()
	t.tell(t.err)
	c.Stop(c.Self())
}

// tell answers the caller, once.
func (t *trainer) tell(err error) {
	if t.done != nil {
		t.done(t.result, err)
		t.done = nil
	}
}
