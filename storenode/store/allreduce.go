package store

import (
	"context"
	"time"

	"github.com/phalanx-go/phalanx"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// AllReduce runs r, or waits for another node that runs the same Reduce, and gets the target
// while a node makes it.
func (e *Env) AllReduce(ctx context.Context, r storenode.AllReduce) storenode.AllReduced {
	ctx, cancel := e.within(ctx)
	defer cancel()
	type got struct {
		view *storenode.View
		err  error
	}
	part, ring := rnode.PartOf(reduce.Config{Sources: r.Sources, Num: r.Num, Degree: r.Degree, InlineLimit: e.InlineLimit}, func(id phalanx.ObjectID) (phalanx.Generation, phalanx.Meta, bool) {
		h, ok := e.Table.Whole(id)
		return h.Gen, h.Meta, ok
	})
	gets, here := make(chan got, 1), make(chan storenode.Info, 1)
	shared := (<-chan storenode.Info)(here)
	go func() {
		if ring {
			e.awaitOwn(ctx, r.Target)
		}
		v, err := e.Get(ctx, r.Target, true)
		if err == nil {
			here <- v.Info()
		}
		gets <- got{v, err}
	}()
	if part == reduce.Leads {
		if _, another := e.leading.LoadOrStore(r.Target, true); another {
			part = reduce.Follows // two that lead would hold each other up
		} else {
			defer e.leading.Delete(r.Target)
		}
	}
	switch part {
	case reduce.Leads:
		shared = nil // no other node makes the target
	case reduce.Follows:
		select {
		case g := <-gets:
			if g.err == nil && e.Table.isTagged(g.view.Info(), Fingerprint(storenode.Reduce(r)).String()) {
				return storenode.AllReduced{Target: r.Target, Result: storenode.ReduceResult{Info: g.view.Info(), In: r.Sources}, View: g.view}
			}
			gets <- g // the Reduce below fails with the reason
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

// Fingerprint is equal for requests that make equal targets.
func Fingerprint(r storenode.Reduce) phalanx.Digest {
	return dataplane.DigestBytes(rnode.RequestText(reduce.Config{Op: r.Op, Num: r.Num, Sources: r.Sources}))
}

// awaitOwn waits a little if the target is likely to be made on this node too.
func (e *Env) awaitOwn(ctx context.Context, target phalanx.ObjectID) {
	shown, leave := e.Table.arrived(target)
	defer leave()
	if e.Table.lookup(target) == nil {
		await(ctx, shown, rnode.RingSoon)
	}
}
