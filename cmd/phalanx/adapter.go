package main

import (
	"context"
	"io"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/group"
	"github.com/phalanx-go/phalanx/internal/bench"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/storenode"
)

// served is a node as the HTTP interface needs it.
type served struct{ *cluster.Node }

var _ httpapi.Node = served{}

// Put creates an object from r.
func (n served) Put(ctx context.Context, id phalanx.ObjectID, r io.Reader, meta phalanx.Meta, how httpapi.Putting) (info storenode.Info, existed bool, err error) {
	opts := []cluster.PutOption{cluster.WithArray(meta.DType, meta.Shape...), cluster.TellExisted(&existed), cluster.WaitForMemory(how.MemoryWait)}
	if how.Copies > 0 {
		opts = append(opts, cluster.WithCopies(how.Copies))
	}
	info, err = n.PutReader(ctx, id, r, meta.Size, opts...)
	return info, existed, err
}

// Open reads an object as it arrives.
func (n served) Open(ctx context.Context, id phalanx.ObjectID, wait bool) (httpapi.Stream, error) {
	open := n.Node.TryOpen
	if wait {
		open = n.Node.Open
	}
	r, err := open(ctx, id)
	if err != nil {
		return nil, err // and not a Stream that holds nil
	}
	return r, nil
}

// Bench measures an operation on the node's cluster.
func (n served) Bench(ctx context.Context, b httpapi.BenchRequest) (httpapi.BenchResult, error) {
	r, err := bench.Run(ctx, n.Node, bench.Request{Op: b.Op, Size: b.Size, Nodes: b.Nodes, Runs: b.Runs, WarmUp: 1})
	res := httpapi.BenchResult{Op: b.Op, Size: b.Size, Nodes: r.Nodes}
	for _, t := range r.Times {
		res.Ms = append(res.Ms, float64(t)/float64(time.Millisecond))
	}
	return res, err
}

// Barriers returns the partial barriers of the node's cluster.
func (n served) Barriers(ctx context.Context) ([]barrier.Status, error) {
	return barrier.List(ctx, n.Node)
}

// Groups returns the groups of the node's cluster.
func (n served) Groups(ctx context.Context) ([]group.Status, error) {
	return group.List(ctx, n.Node)
}

// AllReduce leaves a copy of the target at the node.
func (n served) AllReduce(ctx context.Context, r storenode.Reduce) (storenode.ReduceResult, error) {
	v, res, err := n.Node.AllReduce(ctx, r)
	if v != nil {
		v.Release()
	}
	return res, err
}

// Gather leaves copies at the node.
func (n served) Gather(ctx context.Context, sources []phalanx.ObjectID, num int) (in []storenode.Info, out []phalanx.ObjectID, err error) {
	g, err := n.Node.Gather(ctx, sources, num)
	if err != nil {
		return nil, nil, err
	}
	has := map[phalanx.ObjectID]storenode.Info{}
	for _, v := range g.Views {
		if v != nil {
			has[v.Info().Object] = v.Info()
			v.Release()
		}
	}
	for _, id := range g.In {
		in = append(in, has[id])
	}
	return in, g.Out, nil
}

// Tree returns the live tree of an object.
func (n served) Tree(ctx context.Context, id phalanx.ObjectID) (httpapi.Tree, error) {
	t, err := n.Node.Tree(ctx, id)
	if err != nil {
		return httpapi.Tree{}, err
	}
	out := httpapi.Tree{Object: t.Object, Kind: t.Kind, State: t.State, Size: t.Size, Degree: t.Degree, Hidden: t.Hidden}
	for _, tn := range t.Nodes {
		here := httpapi.TreeNode{Node: tn.Node, Place: tn.Place, Source: tn.Source, Lost: tn.Empty, Complete: tn.Complete, Pinned: tn.Pinned, Origin: tn.Origin, Held: tn.Held}
		if !tn.Gen.IsZero() {
			here.Generation = tn.Gen.String()
		}
		out.Nodes = append(out.Nodes, here)
	}
	for _, e := range t.Edges {
		out.Edges = append(out.Edges, httpapi.TreeEdge(e))
	}
	return out, nil
}

// Recover forms the cluster anew from the members that live.
func (n served) Recover(ctx context.Context, force bool) (httpapi.RecoverResult, error) {
	r, err := n.Node.Recover(ctx, cluster.RecoverOptions{Force: force})
	return httpapi.RecoverResult{View: r.View, Members: r.Members, Missing: r.Missing, LostShards: r.LostShards}, err
}

// Status returns the state of the node.
func (n served) Status() httpapi.Status {
	s := n.Node.Status()
	out := httpapi.Status{Node: s.Node, Cluster: s.Cluster, Version: s.Version, Uptime: s.Uptime.Seconds(), View: s.View, Voters: s.Voters, Leader: n.Leader(), Formed: s.Formed, MissingMembers: s.Missing,
		ShardsOwned: s.ShardsOwned, ShardsBackedUp: s.ShardsBackedUp, Memory: httpapi.Memory{Cap: s.Memory.Cap, Used: s.Memory.Used, Idle: s.Memory.Idle, Peak: s.Memory.Peak, Directory: s.Memory.Directory, Services: s.Memory.Services,
			Waiting: s.Memory.Waiting, WaitingBytes: s.Memory.WaitingBytes},
		Objects: s.Objects, Complete: s.Complete, Pinned: s.Pinned, Evictions: s.Evictions, Fetching: s.Fetching, Reduces: s.Reduces, Places: s.Places,
		BytesSent: s.BytesSent, BytesReceived: s.BytesReceived, Requests: s.Requests, StreamsBusy: s.StreamsBusy, Members: []httpapi.Member{}}
	out.MajorityLost, out.MissingVoters = s.MajorityLost, s.MissingVoters
	if s.Unready != nil {
		why := httpapi.DescribeError(s.Unready)
		out.Unready = &why
	}
	for _, m := range s.Members {
		out.Members = append(out.Members, httpapi.Member{Node: m.ID, Control: m.Control, Data: m.Data, Version: m.Version, Leaving: m.Leaving})
	}
	return out
}
