package membership

import (
	"context"
	"errors"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// formed is the result of a Recover.
type formed struct {
	view view.View
	err  error
}

// Recover has this node form the cluster anew from the members that live, since the majority
// of the voters is lost for good. It returns the first view of that. With force it is done
// however few answer.
func (m *Membership) Recover(ctx context.Context, force bool) (view.View, error) {
	done := make(chan formed, 1)
	m.tell(formAnew{force: force, done: done})
	for {
		m.mu.Lock()
		fenced, changed := m.fenced, m.changed
		m.mu.Unlock()
		if fenced {
			return view.View{}, m.fail("recover", phalanx.ErrFenced, errors.New("the other members have removed this node: run the command at another node"))
		}
		select {
		case f := <-done:
			return f.view, f.err
		case <-changed:
		case <-ctx.Done():
			kind := phalanx.ErrDeadline
			if errors.Is(ctx.Err(), context.Canceled) {
				kind = phalanx.ErrCanceled
			}
			return view.View{}, m.fail("recover", kind, errors.New("the node was still asking the members: its status shows the result"))
		}
	}
}

// recovered gives waiting callers the result.
func (h *host) recovered(f formed) {
	for _, done := range h.forming {
		done <- f // each has room for one
	}
	h.forming = nil
}
