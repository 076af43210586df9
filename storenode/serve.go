package storenode

import (
	"context"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

const (
	// showPatience is how long a sender waits for its own first bytes: the
	// directory names it as soon as it was answered, which it may not know yet.
	showPatience = time.Second
	// slotPatience is how long a sender waits for a receiver that is about to
	// end before it says BUSY.
	slotPatience = 100 * time.Millisecond
)

// Serve answers a request for a stream, on the goroutine of its connection.
func (e *Env) Serve(from phalanx.NodeID, req dataplane.Request, w *dataplane.Writer) {
	if req.Kind == dataplane.Place {
		e.ServePlace(from, req, w)
		return
	}
	c := e.find(w.Context(), req)
	switch {
	case c == nil:
		_ = w.Gone(phalanx.ErrNotFound, "there is no copy of it here")
		return
	case req.Generation.Less(c.gen):
		_ = w.Reset(c.gen)
		return
	}
	if !e.slot(w.Context(), c) {
		_ = w.Busy()
		return
	}
	err := w.SendBuffer(w.Context(), c.buffer, req.Offset, dataplane.SendOptions{Checked: req.Checked, WaitPath: func() []phalanx.NodeID {
		path := []phalanx.NodeID{e.Self}
		if up := c.path.Load(); up != nil {
			path = append(path, *up...)
		}
		return path
	}})
	if err != nil {
		e.Log.WithError(err).WithField("object", c.object).WithField("peer", from).Debug("a stream was not finished")
	}
	if n := e.Table.served(c); !c.isOver() {
		e.send(e.StorePID, streamsChanged{c.object, n})
	}
}

// find returns this node's copy of the generation that is asked for, or of a
// greater one. It waits a little for one that is about to be shown.
func (e *Env) find(ctx context.Context, req dataplane.Request) *objectCopy {
	ctx, cancel := context.WithTimeout(ctx, showPatience)
	defer cancel()
	for {
		shown := e.Table.arrived(req.Object)
		if c := e.Table.lookup(req.Object); c != nil && !c.gen.Less(req.Generation) && c.buffer != nil {
			return c
		}
		select {
		case <-shown:
		case <-ctx.Done():
			return nil
		}
	}
}

// slot waits a little until c may serve one more receiver. The owner counts the
// leases; it may have one slow receiver served besides the fan-out (2.13), so
// that only what exceeds both is refused here.
func (e *Env) slot(ctx context.Context, c *objectCopy) bool {
	patience := time.NewTimer(slotPatience)
	defer patience.Stop()
	retry := time.NewTicker(2 * time.Millisecond)
	defer retry.Stop()
	for !e.Table.serve(c, e.Fanout+1) {
		select {
		case <-retry.C:
		case <-patience.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// isOver reports whether c is complete or dropped.
func (c *objectCopy) isOver() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}
