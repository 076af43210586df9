package store

import (
	"context"
	"errors"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// slotPause is how often a sender looks whether a receiver has ended.
const slotPause = 2 * time.Millisecond

// Serve answers a request for a stream, on the goroutine of its connection.
func (e *Env) Serve(from phalanx.NodeID, req dataplane.Request, w *dataplane.Writer) {
	if req.Kind == dataplane.Place {
		e.places.Serve(from, req, w)
		return
	}
	c, turn := e.turn(req, w)
	switch turn {
	case copies.Newer:
		_ = w.Reset(c.Gen)
		return
	case copies.Full:
		_ = w.Busy()
		return
	case copies.Vain:
		_ = w.Gone(phalanx.ErrNotFound, "there is no copy of it here")
		return
	}
	e.readersChanged(c)
	err := e.stream(from, req, c, w)
	e.Table.served(c)
	e.readersChanged(c)
	var bad *dataplane.BadPiece
	switch {
	case err == nil:
		return
	case errors.As(err, &bad):
		e.corrupted(c, bad)
	}
	e.Log.WithError(err).WithField("object", c.Object).WithField("peer", from).Debug("a stream was not finished")
}

// stream sends c, and keeps account of the lease.
func (e *Env) stream(from phalanx.NodeID, req dataplane.Request, c *objectCopy, w *dataplane.Writer) error {
	buf, err := e.sendable(c)
	switch bad := (*dataplane.BadPiece)(nil); {
	case errors.As(err, &bad):
		return errors.Join(err, w.Gone(phalanx.ErrCorrupt, "the bytes of the copy have changed in memory"))
	case err != nil:
		return w.Busy() // there is no room for it now: the receiver locates again
	}
	defer buf.Release()
	out := e.outgoing.begin(e, from, c, req)
	changed := c.path.follow()
	err = w.SendBuffer(w.Context(), buf, req.Offset, dataplane.SendOptions{Checked: req.Checked, PathChanged: changed, Meter: &out.meter,
		WaitPath: func() []phalanx.NodeID { return c.path.below(e.Self) }})
	c.path.unfollow(changed)
	e.outgoing.end(e, out, w.Broken())
	return err
}

// sendable returns the bytes of c, which is in use, in a buffer for a stream. It copies bytes
// that came inline: receivers ask for such a copy only after the object's shard was lost, and
// its bytes with it. Inline bytes came without the checks of pieces, so the node compares
// their digest before it makes such checks.
func (e *Env) sendable(c *objectCopy) (*dataplane.Buffer, error) {
	if c.buffer != nil {
		c.buffer.Retain()
		return c.buffer, nil
	}
	if dataplane.DigestBytes(c.inline) != e.Table.digestOf(c) {
		return nil, &dataplane.BadPiece{}
	}
	buf, err := e.Pool.NewBufferWithin(context.Background(), int64(len(c.inline)), 0) // the stream cannot wait
	if err != nil {
		return nil, errFull
	}
	_, err = buf.Write(c.inline)
	if err == nil {
		err = buf.Finish(int64(len(c.inline)))
	}
	if err != nil {
		buf.Release()
		return nil, err
	}
	return buf, nil
}

// readersChanged tells the fetch that fills c, if one does.
func (e *Env) readersChanged(c *objectCopy) {
	if !c.isOver() {
		e.send(e.StorePID, streamsChanged{c.Object})
	}
}

// readers returns how many receivers read from c.
func (t *Table) readers(c *objectCopy) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.Streams()
}

// turn waits until it can answer the receiver, and tells it to WAIT meanwhile.
func (e *Env) turn(req dataplane.Request, w *dataplane.Writer) (*objectCopy, copies.Turn) {
	a := copies.NewAsked(e.Now(), req.Generation, req.Beside)
	for {
		c, turn := e.Table.turn(&a, req.Object, e.Now(), e.expects(req.Object), e.Fanout)
		there := true
		switch turn {
		case copies.Awaits:
			there = e.awaitShown(req, w)
		case copies.Queues:
			there = await(w.Context(), nil, slotPause)
		default:
			return c, turn
		}
		if !there {
			return nil, copies.Vain
		}
	}
}

// turn decides the answer to a receiver that has asked for id, and retains a copy that it sends.
func (t *Table) turn(a *copies.Asked, id phalanx.ObjectID, now time.Duration, expected bool, fanout int) (*objectCopy, copies.Turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.core.Of(id)
	turn := t.core.Turn(a, c, now, expected, fanout)
	if turn == copies.Streams && copyOf(c).buffer != nil {
		copyOf(c).buffer.Retain()
	}
	return copyOf(c), turn
}

// awaitShown waits a little for a copy that was not here, and tells the receiver to
// WAIT if none was shown; false if it is gone.
func (e *Env) awaitShown(req dataplane.Request, w *dataplane.Writer) bool {
	shown, leave := e.Table.arrived(req.Object)
	defer leave()
	if c := e.Table.lookup(req.Object); c != nil && !c.Gen.Less(req.Generation) { // since it was looked for
		return true
	}
	if !await(w.Context(), shown, sayWait) {
		return false
	}
	select {
	case <-shown:
		return true
	default:
		return w.Wait([]phalanx.NodeID{e.Self}) == nil
	}
}

// expects reports whether a generation of an object can still come here.
func (e *Env) expects(id phalanx.ObjectID) bool {
	e.active.mu.Lock()
	defer e.active.mu.Unlock()
	return e.active.fetches[id] != nil || e.active.puts.Has(id)
}

// await returns when c is closed or after d; false if ctx ended.
func await(ctx context.Context, c <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
	case <-t.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// isOver reports whether c is complete or dropped.
func (c *objectCopy) isOver() bool { return isClosed(c.over) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
