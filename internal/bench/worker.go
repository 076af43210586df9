package bench

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// Worker does a node's tasks, and keeps the objects that it gets until Check. It is
// not for concurrent use, but for Put beside Run.
type Worker struct {
	Node *cluster.Node

	values []float32         // the values to put, as long as the size is the same
	views  []*storenode.View // of the objects that it got
	wants  []float32         // of each view: the right value of every element
}

// Prepare puts this node's input before the run: the buffers of other libraries are
// in place then, too.
func (w *Worker) Prepare(ctx context.Context, t Task) error {
	if !t.puts() {
		return nil
	}
	return w.Put(ctx, t)
}

// Fill makes the values that this node puts.
func (w *Worker) Fill(t Task) {
	if int64(len(w.values)) == t.Size/4 { // else memory would be cold, unlike that of other libraries
		return
	}
	w.values = make([]float32, t.Size/4)
	for i := range w.values {
		w.values[i] = float32(t.Rank + 1)
	}
}

// Put puts this node's object. The node refuses a size that its memory cannot hold before it
// makes the values, which do not count for the cap.
func (w *Worker) Put(ctx context.Context, t Task) error {
	if room := w.Node.Status().Memory.Cap; t.Size > room {
		return &phalanx.Error{Op: "bench", Node: w.Node.ID(), Kind: phalanx.ErrNoSpace,
			Err: fmt.Errorf("%d bytes are needed, and the node's memory is limited to %d: give it more (--memory), or a smaller size", t.Size, room)}
	}
	w.Fill(t)
	_, err := cluster.PutArray(ctx, w.Node, t.ID(t.Rank), w.values)
	return err
}

func (w *Worker) get(ctx context.Context, id phalanx.ObjectID, want float32) error {
	v, err := w.Node.Get(ctx, id)
	if err == nil {
		w.keep(v, want)
	}
	return err
}

func (w *Worker) keep(v *storenode.View, want float32) {
	w.views, w.wants = append(w.views, v), append(w.wants, want)
}

// Run does the measured part.
func (w *Worker) Run(ctx context.Context, t Task) error {
	r := storenode.Reduce{Target: t.target(), Sources: t.all(), Op: phalanx.Sum}
	switch {
	case t.Op == Broadcast && t.Rank != 0:
		return w.get(ctx, t.ID(0), 1)
	case t.Op == Gather && t.Rank == 0:
		g, err := w.Node.Gather(ctx, r.Sources, 0)
		for i, v := range g.Views {
			w.keep(v, float32(i+1))
		}
		return err
	case t.Op == Reduce && t.Rank == 0:
		return w.reduce(ctx, r, t.sum())
	case t.Op == AllReduce:
		v, _, err := w.Node.AllReduce(ctx, r)
		if err == nil {
			w.keep(v, t.sum())
		}
		return err
	case t.Op == RoundTrip && t.Rank == 0:
		if err := w.Put(ctx, t); err != nil {
			return err
		}
		return w.get(ctx, t.ID(1), 2)
	case t.Op == RoundTrip && t.Rank == 1:
		if err := w.get(ctx, t.ID(0), 1); err != nil {
			return err
		}
		return w.Put(ctx, t)
	}
	return nil
}

// reduce makes the sum of all, and gets it at this node while it is made.
func (w *Worker) reduce(ctx context.Context, r storenode.Reduce, sum float32) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reduced := make(chan error, 1)
	go func() {
		_, err := w.Node.Reduce(ctx, r)
		if err != nil {
			cancel() // the sum will not come
		}
		reduced <- err
	}()
	err := w.get(ctx, r.Target, sum)
	return errors.Join(<-reduced, err)
}

// Check checks every element of the objects that the node got, and releases them.
func (w *Worker) Check(t Task) error {
	defer w.Release()
	for i, v := range w.views {
		b := v.Bytes()
		if int64(len(b)) != t.Size {
			return fmt.Errorf("%q has %d bytes, not %d", string(v.Info().Object), len(b), t.Size)
		}
		for k, x := range unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4) {
			if x != w.wants[i] {
				return fmt.Errorf("element %d of %q is %g, not %g", k, string(v.Info().Object), x, w.wants[i])
			}
		}
	}
	return nil
}

// Release releases the objects that the node got.
func (w *Worker) Release() {
	for _, v := range w.views {
		v.Release()
	}
	w.views, w.wants = nil, nil
}
