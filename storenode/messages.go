package storenode

import (
	"context"
	"io"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// MemoryWait is how long a Put waits for memory unless it is told otherwise.
const MemoryWait = 10 * time.Second

// The messages that an actor sends to its node's store. The store
// answers each with the message named in its comment, to the sender. A Deadline of zero is the
// node's default; no request waits for ever.
type (
	// Put creates an object from Bytes, which the store copies, or from Reader
	// if it is not nil. The store answers with PutDone.
	Put struct {
		Object       phalanx.ObjectID
		Bytes        []byte
		Reader       io.Reader
		Meta         phalanx.Meta // the size is taken from Bytes; with a Reader it may be phalanx.UnknownSize
		Copies       int          // complete pinned copies that are to exist when the Put is done; 0 means 1
		WhileLeaving bool         // the Put begins although the node leaves
		Deadline     time.Duration
		// MemoryWait is how long the Put waits for memory at most; 0 means the constant
		// MemoryWait. A negative one does not wait: only free memory is taken, and nothing
		// is evicted.
		MemoryWait time.Duration
	}
	// PutDone answers Put.
	PutDone struct {
		Object  phalanx.ObjectID
		Info    Info
		Existed bool // the same bytes had been put before
		Err     error
	}

	// Get asks for the whole object, once it is final. Unless NoWait is set, it waits for
	// an id that no node has begun. The store answers with Got.
	Get struct {
		Object   phalanx.ObjectID
		NoWait   bool
		Deadline time.Duration
	}
	// Got answers Get. The receiver must release the View.
	Got struct {
		Object phalanx.ObjectID
		View   *View
		Err    error
	}

	// Open asks for a reader of the object's bytes as they arrive. The store
	// answers with Opened, as soon as there is a sender.
	Open struct {
		Object   phalanx.ObjectID
		NoWait   bool
		Deadline time.Duration
	}
	// Opened answers Open. The receiver must close the Reader.
	Opened struct {
		Object phalanx.ObjectID
		Reader *Reader
		Err    error
	}

	// Delete removes the object everywhere. The store answers with Deleted once
	// the tombstone is durable.
	Delete struct {
		Object   phalanx.ObjectID
		Deadline time.Duration
	}
	// Deleted answers Delete.
	Deleted struct {
		Object phalanx.ObjectID
		Err    error
	}

	// Stat asks for the directory's record of the object. The store answers with
	// Stated.
	Stat struct {
		Object   phalanx.ObjectID
		Deadline time.Duration
	}
	// Stated answers Stat.
	Stated struct {
		Object phalanx.ObjectID
		Stat   ObjectStat
		Err    error
	}

	// Prefetch asks Nodes, or all members if there are none, to have the object.
	// The store answers with Prefetched once they do.
	Prefetch struct {
		Object   phalanx.ObjectID
		Nodes    []phalanx.NodeID
		Deadline time.Duration
	}
	// Prefetched answers Prefetch.
	Prefetched struct {
		Object phalanx.ObjectID
		Err    error // names the first node that has failed
	}

	// Reduce creates Target from the first Num of Sources that become ready (all
	// if Num is 0), combined by Op. The store answers with Reduced once Target
	// is final.
	Reduce struct {
		Target   phalanx.ObjectID
		Sources  []phalanx.ObjectID // at most 131,072 (reduce.MaxSources)
		Op       phalanx.Op
		Num      int
		Degree   int // of the tree, at most 8192 (reduce.MaxDegree); 0 chooses the fastest
		Deadline time.Duration
	}
	// Reduced answers Reduce.
	Reduced struct {
		Target phalanx.ObjectID
		Result ReduceResult
		Err    error
	}

	// Gather asks for the first Num of Sources that are complete here (all if Num
	// is 0). Nodes that gather the same sources at the same time send them on to
	// each other. The store answers with Gathered.
	Gather struct {
		Sources  []phalanx.ObjectID
		Num      int
		Deadline time.Duration
	}
	// Gathered answers Gather. The receiver must release the Views.
	Gathered struct {
		Views []*View            // in the order of the sources; nil for one that is not in
		In    []phalanx.ObjectID // in order of arrival
		Out   []phalanx.ObjectID
		Err   error // names a source that failed; then there are no views
	}

	// Within has the store do Request, a *Get, *Open, *Put, *Reduce, *Gather or
	// *AllReduce, and give it up when Context ends: with the context's cause, if that
	// is a phalanx.Error. The store answers it as it answers Request.
	Within struct {
		Context context.Context
		Request any
		Over    func() // is called when it was answered; may be nil
	}

	// AllReduce is a Reduce by all that ask for the same, each of whom gets the
	// target. The store answers with AllReduced.
	AllReduce Reduce
	// AllReduced answers AllReduce. The receiver must release the View.
	AllReduced struct {
		Target phalanx.ObjectID
		Result ReduceResult
		View   *View
		Err    error
	}
)

// Info describes a final object.
type Info struct {
	Object phalanx.ObjectID
	Gen    phalanx.Generation
	Meta   phalanx.Meta
	Digest phalanx.Digest
}

// ReduceResult names the target of a Reduce and the sources in it.
type ReduceResult struct {
	Info
	In  []phalanx.ObjectID // in the result, in order of arrival
	Out []phalanx.ObjectID // not in the result
}

// ObjectStat is the directory's record of an object.
type ObjectStat = directory.ObjectStat
