package fakenode

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode"
)

// Reduce adds the first r.Num of the sources that are there.
func (n *Node) Reduce(ctx context.Context, r storenode.Reduce) (storenode.ReduceResult, error) {
	return n.reduce(ctx, "reduce", r)
}

// AllReduce is Reduce: there is one node.
func (n *Node) AllReduce(ctx context.Context, r storenode.Reduce) (storenode.ReduceResult, error) {
	return n.reduce(ctx, "allreduce", r)
}

func (n *Node) reduce(ctx context.Context, op string, r storenode.Reduce) (storenode.ReduceResult, error) {
	num := cmp.Or(r.Num, len(r.Sources))
	none := storenode.ReduceResult{}
	if err := n.refuse(ctx, op, r.Target); err != nil {
		return none, err
	}
	if err := usable(op, r.Sources, num); err != nil {
		return none, err
	}
	switch {
	case slices.Contains(r.Sources, r.Target):
		return none, fail(op, r.Target, phalanx.ErrInvalid, "the target is a source too")
	case r.Degree < 0:
		return none, fail(op, r.Target, phalanx.ErrInvalid, "the degree is negative")
	case r.Op != phalanx.Sum:
		return none, &phalanx.Error{Op: op, Object: r.Target, Node: n.Info.Node, Kind: phalanx.ErrUnknownOp, Err: fmt.Errorf("there is no op %q", r.Op)}
	}
	stop := n.wakes(ctx)
	defer stop()
	n.mu.Lock()
	defer n.mu.Unlock()
	request := fmt.Sprintf("%s %d %q", r.Op, num, r.Sources)
	if res, done, err := n.reduced(op, r.Target, request); done {
		return res, err
	}
	in, err := n.arrivals(ctx, op, r.Sources, num, false)
	if err != nil {
		return none, err
	}
	if res, done, err := n.reduced(op, r.Target, request); done { // meanwhile
		return res, err
	}
	total := slices.Clone(in[0].bytes)
	meta := in[0].info.Meta
	for i, o := range in {
		switch id := o.info.Object; {
		case o.info.Meta.Size != meta.Size || o.info.Meta.DType != meta.DType || !sameShape(o.info.Meta, meta):
			return none, fail(op, id, phalanx.ErrMismatch, "its size, type or shape differs")
		case o.info.Meta.DType != phalanx.Float32:
			return none, fail(op, id, phalanx.ErrInvalid, fmt.Sprintf("sum is not defined on %v", o.info.Meta.DType))
		case i > 0:
			addFloats(total, o.bytes)
		}
	}
	t := n.bind(r.Target, meta, n.Info.Node)
	t.bytes, t.made = total, request
	n.finish(t)
	res := storenode.ReduceResult{Info: t.info, In: ids(in)}
	for _, id := range r.Sources {
		if !slices.Contains(res.In, id) {
			res.Out = append(res.Out, id)
		}
	}
	n.results[t] = res
	return res, nil
}

// reduced returns the result of an earlier reduce that has made the target, or that the target
// is bound to something else.
func (n *Node) reduced(op string, target phalanx.ObjectID, request string) (res storenode.ReduceResult, done bool, err error) {
	switch o := n.objects[target]; {
	case o == nil:
		return res, false, nil
	case o.made != request:
		return res, true, fail(op, target, phalanx.ErrExists, "the target is bound to something else")
	default:
		return n.results[o], true, nil
	}
}

// Gather takes the first num of the sources that are there.
func (n *Node) Gather(ctx context.Context, sources []phalanx.ObjectID, num int) (in []storenode.Info, out []phalanx.ObjectID, err error) {
	if n.Fail != nil {
		return nil, nil, n.Fail
	}
	num = cmp.Or(num, len(sources))
	if err := usable("gather", sources, num); err != nil {
		return nil, nil, err
	}
	stop := n.wakes(ctx)
	defer stop()
	n.mu.Lock()
	defer n.mu.Unlock()
	all, err := n.arrivals(ctx, "gather", sources, num, true)
	if err != nil {
		return nil, nil, err
	}
	for _, o := range all {
		in = append(in, o.info)
	}
	for _, id := range sources {
		if !slices.Contains(ids(all), id) {
			out = append(out, id)
		}
	}
	return in, out, nil
}

// usable returns why num of sources cannot be had, or nil.
func usable(op string, sources []phalanx.ObjectID, num int) error {
	if len(sources) == 0 {
		return fail(op, "", phalanx.ErrInvalid, "there are no sources")
	}
	if num < 0 || num > len(sources) {
		return fail(op, "", phalanx.ErrInvalid, fmt.Sprintf("%d of %d sources", num, len(sources)))
	}
	seen := map[phalanx.ObjectID]bool{}
	for _, id := range sources {
		if err := id.Validate(); err != nil {
			return as(op, err)
		}
		if seen[id] {
			return fail(op, id, phalanx.ErrInvalid, "the source was given twice")
		}
		seen[id] = true
	}
	return nil
}

// arrivals waits for num of sources and returns them in the order in which they are final.
// It waits for a source that was deleted too, unless gets. It is called with the lock held.
func (n *Node) arrivals(ctx context.Context, op string, sources []phalanx.ObjectID, num int, gets bool) ([]*object, error) {
	if err := ended(ctx, op, sources[0], "the context had ended before the call"); err != nil {
		return nil, err
	}
	for {
		var in []*object
		missing := phalanx.ObjectID("")
		gone := 0
		for _, id := range sources {
			o := n.objects[id]
			if o != nil && o.final {
				in = append(in, o)
				continue
			}
			if n.deleted[id] && gets {
				gone++
			}
			missing = cmp.Or(missing, id)
		}
		if len(in) >= num {
			slices.SortFunc(in, func(a, b *object) int { return cmp.Compare(a.turn, b.turn) })
			return in[:num], nil
		}
		if len(sources)-gone < num {
			return nil, fail(op, missing, phalanx.ErrDeleted, "the object was deleted")
		}
		if err := n.wait(ctx, op, missing, nobody); err != nil {
			return nil, err
		}
	}
}

func ids(all []*object) []phalanx.ObjectID {
	var out []phalanx.ObjectID
	for _, o := range all {
		out = append(out, o.info.Object)
	}
	return out
}

func sameShape(a, b phalanx.Meta) bool { return slices.Equal(a.Shape, b.Shape) }

func addFloats(dst, src []byte) {
	f := func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
	for i := 0; i+4 <= len(dst); i += 4 {
		binary.LittleEndian.PutUint32(dst[i:], math.Float32bits(f(dst[i:])+f(src[i:])))
	}
}
