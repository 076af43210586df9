package store

import (
	"context"
	"fmt"

	"github.com/phalanx-go/phalanx"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// sink is the memory of a place's output: a Buffer for all of it; or a Window, if there is no
// room for that and only the parent reads the output; or a Ring, whose place sends its output
// to the next place.
type sink struct {
	buffer *dataplane.Buffer // one of the three is set
	window *dataplane.Window
	ring   *dataplane.Ring
}

// part has the methods of all three.
type part interface {
	Retain()
	Release()
	Fail(err error)
	Watermark() int64
	Digest() (phalanx.Digest, bool)
}

func (v sink) part() part {
	switch {
	case v.buffer != nil:
		return v.buffer
	case v.window != nil:
		return v.window
	}
	return v.ring
}

func (v sink) isZero() bool { return v == sink{} }

func (v sink) retain()          { v.part().Retain() }
func (v sink) release()         { v.part().Release() }
func (v sink) fail(err error)   { v.part().Fail(err) }
func (v sink) watermark() int64 { return v.part().Watermark() }

// commit says that the next n bytes are made.
func (v sink) commit(n int) {
	if v.buffer != nil {
		v.buffer.Commit(n)
	} else {
		v.window.Commit(n)
	}
}

func (v sink) digest() phalanx.Digest {
	d, _ := v.part().Digest()
	return d
}

func (v sink) send(ctx context.Context, w *dataplane.Writer, from int64, opts dataplane.SendOptions) error {
	switch {
	case v.buffer != nil:
		return w.SendBuffer(ctx, v.buffer, from, opts)
	case v.ring != nil:
		return w.SendRing(ctx, v.ring, opts)
	}
	return w.SendWindow(ctx, v.window, from, opts)
}

// leastSink is the size up to which a window would not be smaller.
const leastSink = dataplane.WindowMin

// trySink returns room for an output of size bytes if there is some now.
func (e *Env) trySink(size int64, need rnode.Room) sink {
	if need != rnode.SmallRoom || size <= leastSink {
		if buf := e.Pool.TryBuffer(size); buf != nil {
			return sink{buffer: buf}
		}
	}
	if need == rnode.WholeRoom {
		return sink{}
	}
	return sink{window: e.Pool.TryWindow(size)}
}

// missingRoom tells how many bytes a sink needs and how many are free.
func (e *Env) missingRoom(size int64, need rnode.Room) string {
	if need != rnode.WholeRoom {
		size = min(size, leastSink)
	}
	b := e.Pool.Budget()
	return fmt.Sprintf("%d bytes are needed, %d of %d are free", size, b.Cap()-b.Used(), b.Cap())
}

// newSink is trySink that waits until ctx ends.
func (e *Env) newSink(ctx context.Context, size int64, need rnode.Room) (sink, error) {
	if need == rnode.WholeRoom {
		buf, err := e.Pool.NewBuffer(ctx, size)
		return sink{buffer: buf}, err
	}
	win, err := e.Pool.NewWindow(ctx, size)
	return sink{window: win}, err
}
