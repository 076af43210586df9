package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/messages"
)

// Request describes a measurement.
type Request struct {
	Op     string
	Size   int64 // of an object in bytes; a multiple of 4
	Nodes  int   // how many members take part, this one first; 0: all
	Runs   int
	WarmUp int // runs before those, which the result leaves out
}

// Result is the result of a measurement.
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
	d := &driver{node: n, req: r, name: fmt.Sprintf("phalanx-bench/%x", rand.Uint64()), on: members}
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

// members returns the members that take part.
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

// driver gives the agents their orders.
type driver struct {
	node   *cluster.Node
	req    Request
	name   string
	on     []phalanx.NodeID
	agents []*actor.PID // on these members, by rank
}

func (d *driver) run(ctx context.Context, run int) (time.Duration, error) {
	t := Task{Op: d.req.Op, Of: len(d.agents), Size: d.req.Size, Name: fmt.Sprintf("%s/%d", d.name, run)}
	defer d.clear(t)
	if err := d.all(ctx, "prepare", t); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := d.all(ctx, "run", t); err != nil {
		return 0, err
	}
	took := time.Since(began)
	return took, d.all(ctx, "check", t)
}

// all gives every agent an order, and waits for all answers or the first failure.
func (d *driver) all(ctx context.Context, do string, t Task) error {
	ctx, cancel := context.WithTimeout(ctx, stepFor+stepFor/10)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	for rank, pid := range d.agents {
		t.Rank = rank
		o := order{do, t}.message()
		g.Go(func() error { return d.ask(ctx, d.on[rank], pid, o) })
	}
	return g.Wait()
}

func (d *driver) ask(ctx context.Context, node phalanx.NodeID, agent *actor.PID, o *wrapperspb.StringValue) error {
	answer, err := d.node.Request(ctx, agent, o)
	if told, ok := answer.(*messages.Error); ok {
		err = messages.ErrorFromProto(told)
	}
	var e *phalanx.Error
	switch {
	case !errors.As(err, &e):
		return err
	case e.Node == "":
		e.Node = node
		return e
	case e.Node != node:
		return &phalanx.Error{Op: "bench", Node: node, Kind: e.Kind, Err: e}
	}
	return e
}

// clearFor bounds how long the driver deletes the objects of a run.
const clearFor = 10 * time.Second

func (d *driver) clear(t Task) {
	ctx, cancel := context.WithTimeout(context.Background(), clearFor)
	defer cancel()
	for _, id := range t.Made() {
		_ = d.node.Delete(ctx, id) // a run that failed has not made all
	}
}

func (d *driver) end() {
	for _, pid := range d.agents {
		d.node.System().Root.Stop(pid)
	}
}
