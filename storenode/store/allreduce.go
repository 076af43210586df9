package store

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// AllReduce runs r, or waits for who runs the same, and gets the target while it
// is made.
func (e *Env) AllReduce(ctx context.Context, r storenode.AllReduce) storenode.AllReduced {
	ctx, cancel := e.within(ctx)
	defer cancel()
	type got struct {
		view *storenode.View
		err  error
	}
	gets, here := make(chan got, 1), make(chan storenode.Info, 1)
	shared := (<-chan storenode.Info)(here)
	go func() {
		e.lookAround(ctx, r)
		v, err := e.Get(ctx, r.Target, true)
		if err == nil {
			here <- v.Info()
		}
		gets <- got{v, err}
	}()
	switch e.part(r) {
	case reduce.Leads:
		shared = nil // nobody else is expected to make it
	case reduce.Follows:
		select {
		case g := <-gets:
			if g.err == nil && e.Table.isTagged(g.view.Info(), Fingerprint(storenode.Reduce(r)).String()) {
				return storenode.AllReduced{Target: r.Target, Result: storenode.ReduceResult{Info: g.view.Info(), In: r.Sources}, View: g.view}
			}
			gets <- g // the reduce says what is wrong
		case <-time.After(reduce.FollowFor):
		}
	}
	result, err := e.Coordinators.Run(ctx, storenode.Reduce(r), shared)
	if err != nil {
		cancel()
	}
	g := <-gets
	if err == nil {
		err = g.err
	}
	if err != nil {
		if g.view != nil {
			g.view.Release()
		}
		return storenode.AllReduced{Target: r.Target, Err: withOp("allreduce", r.Target, err)}
	}
	return storenode.AllReduced{Target: r.Target, Result: result, View: g.view}
}

// part returns what this node does in r, by what it has of the sources.
func (e *Env) part(r storenode.AllReduce) reduce.Part {
	has, ok := e.Table.Whole(firstOf(e.Table, r.Sources))
	if !ok {
		return reduce.Either
	}
	return reduce.PartOf(r.Sources, cmp.Or(r.Num, len(r.Sources)), r.Degree, has.Object, has.Meta.Size, e.InlineLimit)
}

// Fingerprint is equal for requests that make the same.
func Fingerprint(r storenode.Reduce) phalanx.Digest {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %d %d", string(r.Op), cmp.Or(r.Num, len(r.Sources)), len(r.Sources))
	for _, s := range r.Sources {
		fmt.Fprintf(&b, " %q", string(s))
	}
	return dataplane.DigestBytes([]byte(b.String()))
}

// ringSoon is how long a target that can be made in a ring is waited for here,
// before others are asked for it.
const ringSoon = 50 * time.Millisecond

// lookAround waits a little if the target is likely to be made on this node too.
func (e *Env) lookAround(ctx context.Context, r storenode.AllReduce) {
	has, ok := e.Table.Whole(firstOf(e.Table, r.Sources))
	if !ok || !reduce.RingFits(len(r.Sources), cmp.Or(r.Num, len(r.Sources)), r.Degree, has.Meta.Size, reduce.RingGrain) {
		return
	}
	shown, leave := e.Table.arrived(r.Target)
	defer leave()
	if e.Table.lookup(r.Target) == nil {
		await(ctx, shown, ringSoon)
	}
}

// firstOf returns the first of ids of which there is a complete copy, or "".
func firstOf(t *Table, ids []phalanx.ObjectID) phalanx.ObjectID {
	for _, id := range ids {
		if _, ok := t.Whole(id); ok {
			return id
		}
	}
	return ""
}
