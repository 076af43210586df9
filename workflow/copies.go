package workflow

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// maxCopies is how many disks hold the ledger, from as many disks on.
const maxCopies = 3

// MinCopies has Start wait until n disks hold the ledger, from 1 to 3: a ledger begins on one disk, and has three as soon as three
// nodes with folders are there. With three the run outlives the loss of any one of them. If the context ends before, the
// error is ErrDeadline or ErrCanceled, it says how many disks there are, and the run has not begun.
func MinCopies(n int) StartOption {
	return func(o *startOptions) { o.copies, o.waits = n, true }
}

// copies are the starts that wait for disks. However many wait, the node asks one question at a time. The service's actor
// owns it.
type copies struct {
	waits  map[*copiesWait]bool
	asking bool
	due    bool // it asks again in a while
}

// ask reports whether the node is to ask, which it then does.
func (p *copies) ask() bool {
	if p.asking || len(p.waits) == 0 {
		return false
	}
	p.asking = true
	return true
}

// counted lets starts go on for which there are enough, and reports whether the node is to ask again in a while, if nobody else
// brings that about.
func (p *copies) counted(m copiesCounted) (again bool) {
	p.asking = false
	for w := range p.waits {
		w.last.Store(&m)
		if m.have >= w.want {
			delete(p.waits, w)
			close(w.enough)
		}
	}
	if again = len(p.waits) > 0 && !p.due; again {
		p.due = true
	}
	return again
}

// copiesWait is a start that waits.
type copiesWait struct {
	want   int
	last   atomic.Pointer[copiesCounted] // nil: none yet
	enough chan struct{}
}

type (
	// noWait says that a start waits no more.
	noWait struct{ *copiesWait }
	// copiesCounted says how many disks hold the ledger, or why that is not known.
	copiesCounted struct {
		have int
		why  error
	}
	// countCopies asks again.
	countCopies struct{}
)

// awaitCopies waits until so many disks hold the ledger.
func awaitCopies(ctx context.Context, n *cluster.Node, id string, want int) error {
	const op = "start"
	if want < 1 || want > maxCopies {
		return failure(op, id, phalanx.ErrInvalid, fmt.Errorf("MinCopies(%d): 1 to %d disks hold the ledger", want, maxCopies))
	}
	pid, ok := n.Service(Name)
	if !ok {
		return nil // the call says so
	}
	if _, has := ctx.Deadline(); !has {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callWithin)
		defer cancel()
	}
	w := &copiesWait{want: want, enough: make(chan struct{})}
	root := n.System().Root
	root.Send(pid, w)
	select {
	case <-w.enough:
		return nil
	case <-n.Done():
		return failure(op, id, phalanx.ErrClosed, errLeft)
	case <-ctx.Done():
	}
	root.Send(pid, noWait{w})
	kind := phalanx.ErrCanceled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		kind = phalanx.ErrDeadline
	}
	switch last := w.last.Load(); {
	case last == nil:
		return failure(op, id, kind, fmt.Errorf("nobody has said yet how many disks hold the ledger, and %d were asked for: look whether a majority of them is there", want))
	case last.why != nil:
		return failure(op, id, kind, fmt.Errorf("%d disks that hold the ledger were asked for, and how many there are is not known: %w", want, last.why))
	default:
		return failure(op, id, kind, fmt.Errorf("%d of the %d disks that were asked for hold the ledger: start more nodes with folders (phalanx node --dir, or workflow.Settings.Dir)", last.have, want))
	}
}

// awaitsCopies takes a start that waits.
func (s *service) awaitsCopies(c actor.Context, w *copiesWait) {
	p := &s.open.copies
	if p.waits == nil {
		p.waits = map[*copiesWait]bool{}
	}
	p.waits[w] = true
	s.countCopies(c)
}

// countCopies asks how many disks hold the ledger, if a start wants to know.
func (s *service) countCopies(c actor.Context) {
	if !s.open.copies.ask() {
		return
	}
	s.asksFor(c, c.Self(), "ledger", "", &asked{call: core.GetLedger{}}, callWithin, func(a core.Answer, err error) any {
		have := 0
		if err == nil && a.Ledger != nil {
			for _, d := range a.Ledger.Disks {
				if d.Holds && !d.Failed {
					have++
				}
			}
		}
		return copiesCounted{have, err}
	})
}

// countEvery is how often a node asks while starts wait.
const countEvery = 500 * time.Millisecond

// copiesCounted takes how many disks hold the ledger.
func (s *service) copiesCounted(c actor.Context, m copiesCounted) {
	if s.open.copies.counted(m) {
		root, self := c.ActorSystem().Root, c.Self()
		time.AfterFunc(countEvery, func() { root.Send(self, countCopies{}) })
	}
}
