// Package fakenode is a node in memory, alone, without a store or a cluster, for
// tests of the HTTP interface and the program. Its objects are
// bytes in a map that can be read while they are written; its Reduce adds
// float32. It is safe for concurrent use.
//
// Package conformance checks that it behaves as a real node does. It differs in these:
// readers see single bytes as they are written, not pieces of 64 KB; sum is its only op;
// no request waits for memory; its runs of workflows have one task, which the test ends; a Put that is canceled as its reader fails has the reader's
// error, where a real node has either; and its Recover and Bench have the results that tests want.
package fakenode

import (
	"context"
	"slices"
	"sync"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/group"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/storenode"
)

// Node is a httpapi.Node.
type Node struct {
	Info httpapi.Status   // the result of Status
	Tr   httpapi.Tree     // the result of Tree for its object
	Bars []barrier.Status // the result of Barriers
	Grps []group.Status   // the result of Groups
	Took []string         // the signals that runs have taken; read after use
	Fail error            // the error of every call, if it is not nil; set before use

	mu         sync.Mutex
	runs       map[string]*run
	changed    *sync.Cond
	objects    map[phalanx.ObjectID]*object
	deleted    map[phalanx.ObjectID]bool // and not put again
	results    map[*object]storenode.ReduceResult
	searching  bool // an Open has waited
	reading    map[phalanx.ObjectID]bool
	seq        uint64
	finals     uint64 // how many objects were made final
	subs       map[chan actors.Event]bool
	prefetched map[phalanx.ObjectID][]phalanx.NodeID
}

var _ httpapi.Node = (*Node)(nil)

// New returns a node called n1#1 that is a member with n2#2.
func New() *Node {
	n := &Node{runs: map[string]*run{}, objects: map[phalanx.ObjectID]*object{}, deleted: map[phalanx.ObjectID]bool{}, results: map[*object]storenode.ReduceResult{}, subs: map[chan actors.Event]bool{}, prefetched: map[phalanx.ObjectID][]phalanx.NodeID{}, reading: map[phalanx.ObjectID]bool{}}
	n.changed = sync.NewCond(&n.mu)
	n.Info = httpapi.Status{Node: "n1#1", Cluster: "phalanx", Version: "test", Uptime: 90, View: 3,
		Members: []httpapi.Member{{Node: "n1#1", Control: "127.0.0.1:1001", Data: "127.0.0.1:1002", Version: "test"},
			{Node: "n2#2", Control: "127.0.0.1:2001", Data: "127.0.0.1:2002", Version: "test"}},
		Voters: []phalanx.NodeID{"n1#1"}, ShardsOwned: 32, ShardsBackedUp: 30,
		Memory:  httpapi.Memory{Cap: 1 << 30, Used: 3 << 20, Idle: 1 << 20, Peak: 5 << 20, Waiting: 2, WaitingBytes: 48 << 20},
		Objects: 4, Complete: 3, Pinned: 2, Evictions: 5, Fetching: 1, BytesSent: 7 << 20, BytesReceived: 9 << 10, Requests: 11, StreamsBusy: 6}
	return n
}

// ID returns the node's id.
func (n *Node) ID() phalanx.NodeID { return n.Info.Node }

// Status returns Info.
func (n *Node) Status() httpapi.Status { return n.Info }

// Recover says that n2#2 is missing, if it may use force.
func (n *Node) Recover(_ context.Context, force bool) (httpapi.RecoverResult, error) {
	if n.Fail != nil {
		return httpapi.RecoverResult{}, n.Fail
	}
	if !force {
		return httpapi.RecoverResult{}, fail("recover", "", phalanx.ErrUnavailable, "1 of 2 members answer, and 2 are needed; missing: n2#2")
	}
	return httpapi.RecoverResult{View: 1<<52 - 1, Members: []phalanx.NodeID{n.Info.Node}, Missing: []phalanx.NodeID{"n2#2"}, LostShards: 2}, nil
}

// Bench finds that every run takes a millisecond.
func (n *Node) Bench(_ context.Context, b httpapi.BenchRequest) (httpapi.BenchResult, error) {
	if n.Fail != nil {
		return httpapi.BenchResult{}, n.Fail
	}
	ops := []string{"broadcast", "gather", "reduce", "allreduce", "roundtrip"}
	if !slices.Contains(ops, b.Op) || b.Size < 4 || b.Size%4 != 0 || b.Runs < 1 || b.Nodes < 0 || b.Nodes > len(n.Info.Members) {
		return httpapi.BenchResult{}, fail("bench", "", phalanx.ErrInvalid, "the request is unusable")
	}
	res := httpapi.BenchResult{Op: b.Op, Size: b.Size, Nodes: []phalanx.NodeID{"a#1", "b#1"}}
	for range b.Runs {
		res.Ms = append(res.Ms, 1)
	}
	return res, nil
}

// Barriers returns Bars.
func (n *Node) Barriers(context.Context) ([]barrier.Status, error) { return n.Bars, n.Fail }

// Groups returns Grps.
func (n *Node) Groups(context.Context) ([]group.Status, error) { return n.Grps, n.Fail }
