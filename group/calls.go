package group

import (
	"context"
	"io"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	core "github.com/phalanx-go/phalanx/protocol/group"
	"github.com/phalanx-go/phalanx/storenode"
)

// The calls of cluster.Node in the group: they end with phalanx.ErrRevoked when it is
// revoked, and all their work on any node ends with them. Calls with sources also end with
// phalanx.ErrFailed when members fail without which they cannot end well.

// nobody is the need of calls that go on when members fail.
var nobody = core.Needs{}

// Put is cluster.Node.Put in the group.
func (g *Group) Put(ctx context.Context, id phalanx.ObjectID, data []byte, opts ...cluster.PutOption) (storenode.Info, error) {
	return in(ctx, g, "put", nobody, func(ctx context.Context) (storenode.Info, error) { return g.node.Put(ctx, id, data, opts...) }, nil)
}

// PutReader is cluster.Node.PutReader in the group.
func (g *Group) PutReader(ctx context.Context, id phalanx.ObjectID, r io.Reader, size int64, opts ...cluster.PutOption) (storenode.Info, error) {
	return in(ctx, g, "put", nobody, func(ctx context.Context) (storenode.Info, error) { return g.node.PutReader(ctx, id, r, size, opts...) }, nil)
}

// Get is cluster.Node.Get in the group. The caller must release the view.
func (g *Group) Get(ctx context.Context, id phalanx.ObjectID) (*storenode.View, error) {
	return in(ctx, g, "get", nobody, func(ctx context.Context) (*storenode.View, error) { return g.node.Get(ctx, id) }, (*storenode.View).Release)
}

// Delete is cluster.Node.Delete in the group.
func (g *Group) Delete(ctx context.Context, id phalanx.ObjectID) error {
	_, err := in(ctx, g, "delete", nobody, func(ctx context.Context) (struct{}, error) { return struct{}{}, g.node.Delete(ctx, id) }, nil)
	return err
}

// Open is cluster.Node.Open in the group: reads fail when it is revoked. The caller
// must close the reader.
func (g *Group) Open(ctx context.Context, id phalanx.ObjectID) (*Reader, error) {
	s := g.scope(ctx, nobody)
	if why := s.interrupted("open"); why != nil {
		return nil, why
	}
	r, err := g.node.Open(s, id)
	if err == nil {
		return &Reader{Reader: r, end: s.end}, nil
	}
	defer s.end()
	if why := s.interrupted("open"); why != nil {
		err = why
	}
	return nil, err
}

// Reader is a storenode.Reader in a group.
type Reader struct {
	*storenode.Reader
	end func()
}

// Close ends the reading.
func (r *Reader) Close() error {
	defer r.end()
	return r.Reader.Close()
}

// Reduce is cluster.Node.Reduce in the group. If it needs all sources it also ends with
// phalanx.ErrFailed when a member fails; if the first Num are enough, when too few members
// are left to bring them, as many each.
func (g *Group) Reduce(ctx context.Context, r storenode.Reduce) (storenode.ReduceResult, error) {
	return in(ctx, g, "reduce", sources(r), func(ctx context.Context) (storenode.ReduceResult, error) { return g.node.Reduce(ctx, r) }, nil)
}

// reduced is the result of an AllReduce.
type reduced struct {
	view   *storenode.View
	result storenode.ReduceResult
}

// AllReduce is cluster.Node.AllReduce in the group. It ends with phalanx.ErrFailed as Reduce
// does. The caller must release the view.
func (g *Group) AllReduce(ctx context.Context, r storenode.Reduce) (*storenode.View, storenode.ReduceResult, error) {
	d, err := in(ctx, g, "allreduce", sources(r), func(ctx context.Context) (reduced, error) {
		v, result, err := g.node.AllReduce(ctx, r)
		return reduced{v, result}, err
	}, func(d reduced) { d.view.Release() })
	return d.view, d.result, err
}

func sources(r storenode.Reduce) core.Needs { return core.NeedsSources(r.Num, len(r.Sources)) }

// Gather is cluster.Node.Gather in the group. It ends with phalanx.ErrFailed as Reduce does.
// The caller must release the views.
func (g *Group) Gather(ctx context.Context, sources []phalanx.ObjectID, num int) (storenode.Gathered, error) {
	return in(ctx, g, "gather", core.NeedsSources(num, len(sources)), func(ctx context.Context) (storenode.Gathered, error) { return g.node.Gather(ctx, sources, num) },
		func(d storenode.Gathered) { release(d.Views) })
}

// AllGather is cluster.Node.AllGather in the group. It also ends with
// phalanx.ErrFailed when a member fails. The caller must release the views.
func (g *Group) AllGather(ctx context.Context, sources []phalanx.ObjectID) ([]*storenode.View, error) {
	return in(ctx, g, "allgather", core.NeedsSources(0, len(sources)), func(ctx context.Context) ([]*storenode.View, error) { return g.node.AllGather(ctx, sources) }, release)
}

func release(views []*storenode.View) {
	for _, v := range views {
		if v != nil {
			v.Release()
		}
	}
}
