package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
)

// Request is what to measure.
type Request struct {
	Op     string
	Size   int64 // of an object in bytes; a multiple of 4
	Nodes  int   // how many members take part, this one first; 0: all
	Runs   int
	WarmUp int // runs before those, which are not told
}

// Result is what was measured.
type Result struct {
	Nodes []phalanx.NodeID
	Times []time.Duration // from the first order until the last answer, of each run
}

// Run measures one operation on the members of n's cluster.
func Run(ctx context.Context, n *cluster.Node, r Request) (Result, error) {
	members, err := r.members(n)
	if err != nil {
		return Result{}, err
	}
	d := &driver{node: n, req: r, name: fmt.Sprintf("phalanx-bench/%x", rand.Uint64())}
	defer d.end()
	for _, m := range members {
		pid, err := n.SpawnOn(ctx, m, Kind, "")
		if err != nil {
			return Result{}, err
		}
		d.agents = append(d.agents, pid)
	}
	res := Result{Nodes: members}
	for run := range r.WarmUp + r.Runs {
		took, err := d.run(ctx, run)
		if err != nil {
			return Result{}, err
		}
		if run >= r.WarmUp {
			res.Times = append(res.Times, took)
		}
	}
	return res, nil
}

// members returns who takes part.
func (r Request) members(n *cluster.Node) ([]phalanx.NodeID, error) {
	bad := func(format string, args ...any) error {
		return &phalanx.Error{Op: "bench", Node: n.ID(), Kind: phalanx.ErrInvalid, Err: fmt.Errorf(format, args...)}
	}
	least := 1
	if r.Op != AllReduce && r.Op != Reduce {
		least = 2
	}
	all := []phalanx.NodeID{n.ID()}
	for _, m := range n.View().Members {
		if m.ID != n.ID() {
			all = append(all, m.ID)
		}
	}
	if r.Nodes == 0 {
		r.Nodes = len(all)
	}
	if r.Op == RoundTrip {
		r.Nodes = min(r.Nodes, 2)
	}
	switch {
	case !slices.Contains(Ops, r.Op):
		return nil, bad("there is no operation %q; there are %v", r.Op, Ops)
	case r.Size <= 0 || r.Size%4 != 0:
		return nil, bad("%d bytes are no array of float32", r.Size)
	case r.Runs < 1 || r.Runs > 1000 || r.WarmUp < 0 || r.WarmUp > 1000:
		return nil, bad("%d runs, %d before those", r.Runs, r.WarmUp)
	case r.Nodes < least || r.Nodes > len(all):
		return nil, bad("%d of %d nodes, at least %d are needed", r.Nodes, len(all), least)
	}
	return all[:r.Nodes], nil
}

// driver tells the agents what to do.
type driver struct {
	node   *cluster.Node
	req    Request
	name   string
	agents []*actor.PID
}

func (d *driver) run(ctx context.Context, run int) (time.Duration, error) {
	o := order{Op: d.req.Op, Of: len(d.agents), Size: d.req.Size, Name: fmt.Sprintf("%s/%d", d.name, run)}
	defer d.clear(o)
	if err := d.all(ctx, o, "prepare"); err != nil {
		return 0, err
	}
	began := time.Now()
	err := d.all(ctx, o, "run")
	took := time.Since(began)
	return took, errors.Join(err, d.all(ctx, o, "check"))
}

// all gives every agent an order, and waits for their answers.
func (d *driver) all(ctx context.Context, o order, do string) error {
	o.Do = do
	wait := stepFor + stepFor/10
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline))
	}
	root := d.node.System().Root
	var futures []*actor.Future
	for rank, pid := range d.agents {
		o.Rank = rank
		futures = append(futures, root.RequestFuture(pid, encode(o), wait))
	}
	var failed error
	for rank, f := range futures {
		if err := d.answered(f); err != nil && failed == nil {
			failed = fmt.Errorf("rank %d: %w", rank, err)
		}
	}
	return errors.Join(failed, ctx.Err())
}

func (d *driver) answered(f *actor.Future) error {
	m, err := f.Result()
	if err != nil {
		return &phalanx.Error{Op: "bench", Kind: phalanx.ErrUnavailable, Err: fmt.Errorf("it does not answer: %w", err)}
	}
	text, ok := m.(*wrapperspb.StringValue)
	if !ok {
		return &phalanx.Error{Op: "bench", Kind: phalanx.ErrInternal, Err: fmt.Errorf("it answers with a %T", m)}
	}
	var a answer
	if err := decode(text, &a); err != nil {
		return err
	}
	if a.Err != "" {
		return &phalanx.Error{Op: "bench", Kind: a.Kind, Err: errors.New(a.Err)}
	}
	return nil
}

// clearFor bounds how long what a run has left is deleted.
const clearFor = 10 * time.Second

func (d *driver) clear(o order) {
	ctx, cancel := context.WithTimeout(context.Background(), clearFor)
	defer cancel()
	for _, id := range o.made() {
		_ = d.node.Delete(ctx, id) // a run that failed has not made all
	}
}

func (d *driver) end() {
	for _, pid := range d.agents {
		d.node.System().Root.Stop(pid)
	}
}
