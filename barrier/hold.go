package barrier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier/message"
	core "github.com/phalanx-go/phalanx/protocol/barrier"
)

// Fence numbers the holds of a semaphore whose count is 1.
type Fence = message.Fence

// Hold is a semaphore that was acquired, as its holder sees it.
//
// The node counts it as lost when it cannot be sure any more to be a member of the cluster,
// which may give the semaphore to the next entry: when its lease ends, 0.3 s after it was last
// in touch with a majority; when it was removed; and when it is about to leave. It then
// releases the semaphore. A node that owns no part of the directory may be removed 0.2 s
// before its lease ends, and a process that is stopped notices nothing before it goes on: the
// next holder may hold the semaphore at the same time. The Fence tells them apart.
type Hold struct {
	passage Passage
	b       *Barrier
	entry   core.Entry
	ctx     context.Context
	end     context.CancelCauseFunc
	among   *holds
	leased  <-chan struct{} // closed with the lease that it waits for; nil: there was one
	waits   time.Duration   // by the node's clock: the end of that wait
}

// Acquire is Enter of a semaphore, with a Hold that says when it is lost. Enter holds it
// until it is released, or the cluster has removed the node, and does not say. On a node that was
// idle Acquire returns when the node has a lease.
func (b *Barrier) Acquire(ctx context.Context, e Entry) (*Hold, error) {
	h := &Hold{b: b, entry: b.entry(e)}
	h.ctx, h.end = context.WithCancelCause(context.Background())
	d, err := b.do(ctx, "acquire", core.CallEnter, e, nil, h)
	if err != nil {
		h.end(err)
		return nil, err
	}
	h.passage = Passage{Term: d.Term, Batch: d.Batch}
	if h.leased != nil { // it comes, or the hold is lost, within idle.HoldFor
		select {
		case <-h.leased:
		case <-h.ctx.Done():
		}
	}
	if h.ctx.Err() != nil { // it was lost meanwhile
		return nil, context.Cause(h.ctx)
	}
	return h, nil
}

// Fence returns the number of the hold.
func (h *Hold) Fence() Fence { return h.passage.Fence() }

// Context ends when the semaphore is lost or released. The cause of a loss is a phalanx.Error
// of kind ErrAborted, with ErrNotHeld, or of kind ErrClosed.
func (h *Hold) Context() context.Context { return h.ctx }

// Held reports whether it is held still. It looks at the clock, so that also a process that
// was stopped is answered no when it goes on.
func (h *Hold) Held() bool { return h.ctx.Err() == nil && h.among.sure() }

// Release ends the hold, and lets the next one in. It fails with ErrNotHeld if it was lost or
// released before. If ctx ends first, the semaphore is released nevertheless, later.
func (h *Hold) Release(ctx context.Context) error {
	if !h.among.drop(h, context.Canceled) {
		return h.b.fail("release", phalanx.ErrInvalid, ErrNotHeld)
	}
	err := h.b.Release(ctx, h.entry)
	if err != nil { // it may not even have been asked for
		h.among.tell(loosened{h})
	}
	return err
}

// lost is the error of a hold that was lost.
func (h *Hold) lost(kind phalanx.Kind, why error) error {
	return h.b.fail("hold", kind, fmt.Errorf("%w: %w", ErrNotHeld, why))
}

var (
	errTaken   = errors.New("the time of the hold has run out, its node was taken for gone, or the entry acquired the semaphore again at another node")
	errUnsure  = errors.New("the node's lease has ended: the node cannot be sure to be a member of the cluster")
	errRemoved = errors.New("the cluster has removed this node")
	errLeaves  = errors.New("the node is about to leave the cluster")
)

// Holders returns the first 16 holders of the semaphore. There may be none.
func (b *Barrier) Holders(ctx context.Context) ([]Entry, error) {
	d, err := b.do(ctx, "holders", core.CallStanding, Entry{}, nil, nil)
	if errors.Is(err, phalanx.ErrNotFound) {
		return nil, nil
	}
	return d.Last.Holders, err
}
