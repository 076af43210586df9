package storenode

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// A deadline's error names who has not given the rest: the sender, or, of bytes that
// are not final, their maker. Who goes away by itself has nobody to blame.
func TestWhomAReaderBlames(t *testing.T) {
	pool := dataplane.NewPool(dataplane.NewBudget(1 << 20))
	table := NewTable(pool.Budget())
	c := arriving(t, pool, table, "x", first, 1000)
	table.reading(c, "relay", 1, "maker")
	blames := func(ctx context.Context, kind phalanx.Kind, node phalanx.NodeID) {
		t.Helper()
		r := newReader(&call{ctx: ctx}, table, c, nil)
		defer r.Close()
		_, err := io.Copy(io.Discard, r)
		if e := (*phalanx.Error)(nil); !errors.As(err, &e) || e.Kind != kind || e.Node != node {
			t.Errorf("reading ended with %v, want %v of %q", err, kind, node)
		}
	}
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	gone, leave := context.WithCancel(t.Context())
	leave()
	blames(late, phalanx.ErrDeadline, "relay")
	blames(gone, phalanx.ErrCanceled, "")
	if _, err := c.buffer.Write(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if err := c.buffer.Finish(1000); err != nil {
		t.Fatal(err)
	}
	blames(late, phalanx.ErrDeadline, "maker")
	table.drop(c, errOver)
}

// A Reader's error is of the kind for which its bytes were dropped.
func TestAReadersErrorIsOfTheKindOfTheDrop(t *testing.T) {
	r := &Reader{copy: &objectCopy{object: "x"}}
	for want, end := range map[phalanx.Kind]error{
		phalanx.ErrDeleted: errDeletedHere("n"),
		phalanx.ErrAborted: &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrAborted},
		phalanx.ErrReset:   &dataplane.Ended{Reason: dataplane.Reset},
		phalanx.ErrFenced:  &phalanx.Error{Kind: phalanx.ErrFenced},
	} {
		if e := (*phalanx.Error)(nil); !errors.As(r.failure(end), &e) || e.Kind != want {
			t.Errorf("%v: the reader's error is %v, want %v", end, e, want)
		}
	}
}
