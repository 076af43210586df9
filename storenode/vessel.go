package storenode

import (
	"context"
	"fmt"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// vessel is what a place's output is made in: all of it in a Buffer, or, where
// there is no room for that and only the parent reads it, in a Window; or in a
// Ring, where it is what goes to the next place.
type vessel struct {
	buffer *dataplane.Buffer // one of the three is set
	window *dataplane.Window
	ring   *dataplane.Ring
}

// part is what all of them are.
type part interface {
	Retain()
	Release()
	Fail(err error)
	Watermark() int64
	Digest() (phalanx.Digest, bool)
}

func (v vessel) part() part {
	switch {
	case v.buffer != nil:
		return v.buffer
	case v.window != nil:
		return v.window
	}
	return v.ring
}

func (v vessel) isZero() bool { return v == vessel{} }

func (v vessel) retain()          { v.part().Retain() }
func (v vessel) release()         { v.part().Release() }
func (v vessel) fail(err error)   { v.part().Fail(err) }
func (v vessel) watermark() int64 { return v.part().Watermark() }

// commit says that the next n bytes are made.
func (v vessel) commit(n int) {
	if v.buffer != nil {
		v.buffer.Commit(n)
	} else {
		v.window.Commit(n)
	}
}

func (v vessel) digest() phalanx.Digest {
	d, _ := v.part().Digest()
	return d
}

func (v vessel) send(ctx context.Context, w *dataplane.Writer, from int64, opts dataplane.SendOptions) error {
	switch {
	case v.buffer != nil:
		return w.SendBuffer(ctx, v.buffer, from, opts)
	case v.ring != nil:
		return w.SendRing(ctx, v.ring, opts)
	}
	return w.SendWindow(ctx, v.window, from, opts)
}

// vesselNeed says which vessel a place can do with.
type vesselNeed uint8

const (
	anyVessel   vesselNeed = iota // the whole output, or a window
	wholeVessel                   // all may read it: the root's
	smallVessel                   // a window, or an output that is no larger than one
)

// leastVessel is the size up to which a window would not be smaller.
const leastVessel = dataplane.WindowMin

// tryVessel returns room for an output of size bytes if there is some now.
func (e *Env) tryVessel(size int64, need vesselNeed) vessel {
	if need != smallVessel || size <= leastVessel {
		if buf := e.Pool.TryBuffer(size); buf != nil {
			return vessel{buffer: buf}
		}
	}
	if need == wholeVessel {
		return vessel{}
	}
	return vessel{window: e.Pool.TryWindow(size)}
}

// missingRoom says in numbers why there is no vessel now.
func (e *Env) missingRoom(size int64, need vesselNeed) string {
	if need != wholeVessel {
		size = min(size, leastVessel)
	}
	b := e.Pool.Budget()
	return fmt.Sprintf("%d bytes are needed, %d of %d are free", size, b.Cap()-b.Used(), b.Cap())
}

// newVessel is tryVessel that waits until ctx ends.
func (e *Env) newVessel(ctx context.Context, size int64, need vesselNeed) (vessel, error) {
	if need == wholeVessel {
		buf, err := e.Pool.NewBuffer(ctx, size)
		return vessel{buffer: buf}, err
	}
	win, err := e.Pool.NewWindow(ctx, size)
	return vessel{window: win}, err
}
