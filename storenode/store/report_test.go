package store

import (
	"errors"
	"io"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// A reader of a copy hears that its object was deleted only if it was: a released object is
// unbound at its owner. An answer without news of the copy, or that confirms it, drops nothing.
func TestReadersOfACopyThatOutlivedItsObject(t *testing.T) {
	for name, test := range map[string]struct {
		answer directory.Result
		kind   phalanx.Kind // that a reader gets; 0: the copy stays
	}{
		"deleted":   {directory.Result{State: directory.Deleted, Gen: first}, phalanx.ErrDeleted},
		"released":  {directory.Result{State: directory.Unbound}, phalanx.ErrAborted},
		"put again": {directory.Result{State: directory.Finished, Gen: second}, phalanx.ErrReset},
		"known":     {directory.Result{State: directory.Finished, Gen: first}, 0},
		"lost":      {directory.Result{State: directory.Lost, Gen: first}, 0},
		"older":     {directory.Result{State: directory.Finished, Gen: phalanx.Generation{Epoch: first.Epoch - 1, Seq: 9}}, 0},
		"refused":   {directory.Result{Kind: phalanx.ErrUnavailable, State: directory.Deleted, Gen: first}, 0},
	} {
		e := alone(t)
		c := arriving(t, e.Pool, e.Table, "x", first, 30)
		r := newReader(&call{ctx: t.Context()}, e.Table, c, nil)
		if r == nil {
			t.Fatal("no reader")
		}
		e.heard("x", first, test.answer)
		if stays := e.Table.lookup("x") != nil; stays != (test.kind == 0) {
			t.Errorf("%s: the copy stays: %v", name, stays)
		}
		if test.kind == 0 {
			e.Table.drop(c, &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrClosed, Node: e.Self})
			test.kind = phalanx.ErrClosed
		}
		if _, err := io.ReadAll(r); !errors.Is(err, test.kind) {
			t.Errorf("%s: its reader ends with %v", name, err)
		}
		_ = r.Close()
	}
}
