package httpapi

import (
	"context"
	"io"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/group"
	"github.com/phalanx-go/phalanx/storenode"
)

// Node has the calls of a node that the server needs. Errors are *phalanx.Error.
type Node interface {
	ID() phalanx.NodeID
	// Put creates an object from r; meta.Size may be phalanx.UnknownSize. It may
	// go on reading r after it has returned. It tells whether the same bytes
	// existed.
	Put(ctx context.Context, id phalanx.ObjectID, r io.Reader, meta phalanx.Meta, how Putting) (info storenode.Info, existed bool, err error)
	// Open reads an object as it arrives, until ctx ends. Unless wait, it fails with
	// phalanx.ErrNotFound at once if the object is not begun.
	Open(ctx context.Context, id phalanx.ObjectID, wait bool) (Stream, error)
	Delete(ctx context.Context, id phalanx.ObjectID) error
	Stat(ctx context.Context, id phalanx.ObjectID) (storenode.ObjectStat, error)
	List(ctx context.Context, prefix string) ([]storenode.ObjectStat, error)
	Prefetch(ctx context.Context, id phalanx.ObjectID, nodes ...phalanx.NodeID) error
	Reduce(ctx context.Context, r storenode.Reduce) (storenode.ReduceResult, error)
	// AllReduce is Reduce, and the node has the target after it.
	AllReduce(ctx context.Context, r storenode.Reduce) (storenode.ReduceResult, error)
	// Bench measures an operation on the node's cluster.
	Bench(ctx context.Context, b BenchRequest) (BenchResult, error)
	// Gather has the node get the first num of the sources, in order of arrival.
	Gather(ctx context.Context, sources []phalanx.ObjectID, num int) (in []storenode.Info, out []phalanx.ObjectID, err error)
	Tree(ctx context.Context, id phalanx.ObjectID) (Tree, error)
	// Barriers returns the partial barriers of the cluster, and with an error the barriers
	// of the members that answer.
	Barriers(ctx context.Context) ([]barrier.Status, error)
	// Groups returns the groups of the cluster, and with an error the reports of the members
	// that answer.
	Groups(ctx context.Context) ([]group.Status, error)
	// Recover forms the cluster anew from the members that live.
	Recover(ctx context.Context, force bool) (RecoverResult, error)
	Workflows
	Status() Status
	// Events returns the events from now on, until ctx ends.
	Events(ctx context.Context) <-chan actors.Event
}

// Putting is how an object is put.
type Putting struct {
	Copies     int           // that are kept; 0: one
	MemoryWait time.Duration // how long memory is waited for; 0: not at all
}

// Stream is an object that arrives. It ends with io.EOF only when the object is
// final.
type Stream interface {
	io.ReadCloser
	io.WriterTo
	Info() storenode.Info // the digest is zero as long as it is not final
}

var _ Stream = (*storenode.Reader)(nil)
