package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// lost waits until the coordinator hears that a place is lost.
func (b *bench) lost(t *testing.T, place int) {
	t.Helper()
	for patience := time.After(20 * time.Second); ; {
		select {
		case ev := <-b.events:
			if l, ok := ev.(reduce.PlaceLost); ok {
				if l.Place != place || l.Reason != reduce.LostSource {
					t.Errorf("lost is %+v", l)
				}
				return
			}
		case <-patience:
			t.Fatal("no place is lost")
		}
	}
}

// bad reads a place's output, which is bad.
func (b *bench) bad(t *testing.T, place int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	s, err := b.conns.Open(ctx, "place", dataplane.Request{Kind: dataplane.Place, Object: "sum", Generation: first,
		Reduce: first.String(), Place: place, PlaceGeneration: dataplane.PlaceGeneration{Attempt: 1, Seq: 2}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for buf := make([]byte, 1<<20); err == nil; {
		_, err = s.Read(buf)
	}
	if !errors.Is(err, phalanx.ErrCorrupt) {
		t.Errorf("the stream of an output that has changed ends with %v", err)
	}
}

func (b *bench) command(s reduce.State) {
	s.Target, s.Reduce, s.Attempt, s.Version, s.Gen, s.Source, s.SourceGen = "sum", first, 1, 1, label, "source", first
	s.Op, s.Meta = phalanx.Sum, phalanx.Meta{Size: benchSize, DType: phalanx.Uint64}
	b.places.Order(b.self, reduce.Command{State: s})
}

// The output of an inner place changes in memory. The first parent that reads it finds a bad piece and
// is lost with it; the place is given up when the next one asks.
func TestAnOutputChangesInMemory(t *testing.T) {
	b := newBench(t, 2*benchSize+benchRoom)
	same(t, b.pull(t, 0), 0, benchSize)
	out, _ := b.places.shown(placeKey{Target: "sum", Reduce: first, Place: 1})
	out.sink.buffer.Bytes(0, benchSize)[benchSize/2] ^= 1
	out.release()
	b.bad(t, 1)
	b.lost(t, 1)
}

// The output of a leaf is its source's copy: it goes, too.
func TestTheSourceOfALeafChangesInMemory(t *testing.T) {
	b := newBench(t, benchSize+benchRoom)
	table := b.places.env.Table
	c := table.lookup("source")
	if digest, _ := c.buffer.Digest(); !table.finish(c, c.Meta, digest, true) {
		t.Fatal("the copy is not complete")
	}
	c.buffer.Bytes(0, benchSize)[benchSize/2] ^= 1
	b.places.env.Directory = told{all: new([]any)}
	b.command(reduce.State{Place: 2, Parent: reduce.Peer{Place: 0, Node: "test"}})
	b.bad(t, 2)
	if table.lookup("source") == nil {
		t.Error("the copy is dropped before this node has looked at it")
	}
	b.bad(t, 2)
	b.lost(t, 2)
	if table.lookup("source") != nil {
		t.Error("the copy stays")
	}
}

// The target changes in memory while the root makes it.
func TestATargetChangesInMemory(t *testing.T) {
	b := newBench(t, 3*benchSize+benchRoom)
	env := b.places.env
	env.Directory, env.StorePID = told{all: new([]any)}, b.self
	shown, leave := env.Table.arrived("sum")
	defer leave()
	b.command(reduce.State{Place: 0, Root: true, TargetGen: first,
		Children: []reduce.Child{{Order: 0, Place: 3, Node: "test", Gen: label, Source: "other", SourceGen: first}}})
	<-shown
	c := env.Table.lookup("sum")
	env.corrupted(c, &dataplane.BadPiece{Piece: 3})
	b.lost(t, 0)
}
