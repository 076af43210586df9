package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// A deadline's error names the node that has not given the rest: the sender, or, of bytes that
// are not final, their maker. The error of a caller that goes away names no node.
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
	r := &reader{copy: &objectCopy{Copy: copies.Copy{Object: "x"}}}
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

// A Reader of a part goes on when a complete copy of the same bytes takes its place,
// since a Put had no room for both, or the owner has answered with them.
func TestAReaderGoesOnWithTheCopyThatTakesThePlaceOfAPart(t *testing.T) {
	data := make([]byte, 2*dataplane.PieceSize)
	for i := range data {
		data[i] = byte(i / 100)
	}
	info := storenode.Info{Object: "x", Gen: first, Meta: phalanx.Meta{Size: int64(len(data))}}
	for name, replace := range map[string]func(pool *dataplane.Pool, table *Table){
		"put": func(pool *dataplane.Pool, table *Table) {
			whole := pool.TryBuffer(info.Meta.Size)
			if _, err := whole.Write(data); err != nil {
				t.Fatal(err)
			}
			if c, ok := table.supplant(info, whole, errOver); !ok || !c.Pinned {
				t.Error("it does not take the place of the part")
			}
		},
		"inline": func(_ *dataplane.Pool, table *Table) {
			table.budget.TryReserve(info.Meta.Size)
			table.release(table.keepInline(info, data, "", false))
		},
	} {
		t.Run(name, func(t *testing.T) {
			pool := dataplane.NewPool(dataplane.NewBudget(1 << 20))
			defer pool.Close()
			table := NewTable(pool.Budget())
			part := arriving(t, pool, table, "x", first, info.Meta.Size)
			if _, err := part.buffer.Write(data[:dataplane.PieceSize]); err != nil {
				t.Fatal(err)
			}
			r := newReader(&call{ctx: t.Context()}, table, part, nil)
			got := make([]byte, dataplane.PieceSize)
			if _, err := io.ReadFull(r, got); err != nil {
				t.Fatal(err)
			}
			replace(pool, table)
			rest, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(append(got, rest...), data) {
				t.Errorf("%d bytes are read, %v", len(got)+len(rest), err)
			}
			_ = r.Close()
			table.Close(errOver)
			pool.Close()
			if used := pool.Budget().Used(); used != 0 {
				t.Errorf("%d bytes are left", used)
			}
		})
	}
}
