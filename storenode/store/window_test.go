package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
	"github.com/phalanx-go/phalanx/storenode/dataplane/combine"
)

// bench is one inner place on a node with little memory. The test plays its
// parent, its child and its coordinator.
type bench struct {
	pool   *dataplane.Pool
	places *Places
	conns  *dataplane.Conns // of the test
	reader *dataplane.Conns // of the place's node
	self   *actor.PID       // the coordinator

	mu     sync.Mutex
	pulled []int64 // offsets that the child was asked for
	turned int     // streams of place 1 that the test's node has turned away
	child  *dataplane.Buffer
	events chan reduce.Event
}

const (
	benchSize = 24 << 20
	benchRoom = 4 << 20 // besides the source
)

var (
	first = phalanx.Generation{Epoch: 1, Seq: 1}
	label = reduce.PlaceGen{Attempt: 1, Seq: 2}
)

func numbers(n int, of func(i int) uint64) []byte {
	b := make([]byte, 0, n)
	for i := range n / 8 {
		b = binary.LittleEndian.AppendUint64(b, of(i))
	}
	return b
}

func newBench(t *testing.T, memory int64) *bench {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	b := &bench{events: make(chan reduce.Event, 1000)}
	own := dataplane.NewPool(dataplane.NewBudget(64 << 20))
	b.child = own.TryBuffer(benchSize)
	t.Cleanup(b.child.Release) // once no stream reads it
	if _, err := b.child.Write(numbers(benchSize, func(i int) uint64 { return uint64(i) })); err != nil {
		t.Fatal(err)
	}
	system := actor.NewActorSystem()
	t.Cleanup(system.Shutdown)
	var nodes sync.Map
	lookup := func(n phalanx.NodeID) (string, bool) {
		a, ok := nodes.Load(n)
		if !ok {
			return "", false
		}
		return a.(string), true
	}
	b.pool = dataplane.NewPool(dataplane.NewBudget(memory))
	env := &Env{Self: "place", System: system, Table: NewTable(b.pool.Budget()), Pool: b.pool, Log: log,
		Now:   func() time.Duration { return 0 },
		Spawn: func(p *actor.Props, name string) (*actor.PID, error) { return system.Root.SpawnNamed(p, name) }}
	b.places = NewPlaces(env, new(combine.Registry))
	var err error
	if b.reader, err = dataplane.New(dataplane.Config{Self: "place", Lookup: lookup, Logger: log, OnStream: b.places.Serve}); err != nil {
		t.Fatal(err)
	}
	env.Conns = b.reader
	if b.conns, err = dataplane.New(dataplane.Config{Self: "test", Lookup: lookup, Logger: log, OnStream: b.serveChild}); err != nil {
		t.Fatal(err)
	}
	nodes.Store(phalanx.NodeID("place"), b.reader.Addr().String())
	nodes.Store(phalanx.NodeID("test"), b.conns.Addr().String())
	t.Cleanup(func() {
		b.places.Close()
		_ = b.conns.Close()
		_ = b.reader.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		rest, err := b.pool.NewBuffer(ctx, memory-benchSize-64<<10) // all comes back but the source and the cost of its copy
		if err != nil {
			t.Error(err)
			return
		}
		rest.Release()
	})

	source := b.pool.TryBuffer(benchSize)
	if _, err := source.Write(numbers(benchSize, func(i int) uint64 { return 7 * uint64(i) })); err != nil {
		t.Fatal(err)
	}
	env.Table.show("source", first, phalanx.Meta{Size: benchSize, DType: phalanx.Uint64}, source, true)
	if b.self, err = system.Root.SpawnNamed(actor.PropsFromFunc(b.coordinate), "coordinator"); err != nil {
		t.Fatal(err)
	}
	b.places.Order(b.self, reduce.Command{State: reduce.State{Target: "sum", Reduce: first, Attempt: 1, Version: 1, Place: 1, Gen: label,
		Source: "source", SourceGen: first, Op: phalanx.Sum, Meta: phalanx.Meta{Size: benchSize, DType: phalanx.Uint64},
		Parent:   reduce.Peer{Place: 0, Node: "test"},
		Children: []reduce.Child{{Order: 0, Place: 3, Node: "test", Gen: label, Source: "other", SourceGen: first}}}})
	return b
}

func (b *bench) coordinate(c actor.Context) {
	if m, ok := c.Message().(*messages.PlaceReport); ok {
		if r, err := messages.ReportFromProto(m); err == nil {
			b.events <- r.Event
		}
	}
}

func (b *bench) serveChild(_ phalanx.NodeID, r dataplane.Request, w *dataplane.Writer) {
	b.mu.Lock()
	busy := r.Place == 1
	if busy {
		b.turned++
	} else {
		b.pulled = append(b.pulled, r.Offset)
	}
	b.mu.Unlock()
	if busy {
		_ = w.Busy()
		return
	}
	_ = w.SendBuffer(w.Context(), b.child, r.Offset, dataplane.SendOptions{Patient: true})
}

// pull is the parent's stream of the place's output from a byte on.
func (b *bench) pull(t *testing.T, from int64) *dataplane.Stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	s, err := b.conns.Open(ctx, "place", dataplane.Request{Kind: dataplane.Place, Object: "sum", Generation: first, Offset: from,
		Reduce: first.String(), Place: 1, PlaceGeneration: dataplane.PlaceGeneration{Attempt: 1, Seq: 2}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

var sum = numbers(benchSize, func(i int) uint64 { return 8 * uint64(i) })

func same(t *testing.T, s *dataplane.Stream, from, n int64) {
	t.Helper()
	got := make([]byte, n)
	if _, err := io.ReadFull(s, got); err != nil || !bytes.Equal(got, sum[from:from+n]) {
		t.Fatalf("%d bytes from %d are not the sum, %v", n, from, err)
	}
	if from+n == benchSize {
		if _, err := s.Read(got[:1]); err != io.EOF {
			t.Fatalf("the end is %v", err)
		}
	}
}

func (b *bench) asked() []int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]int64(nil), b.pulled...)
}

// TestParentComesBack has a parent break its edge again and again: it gets
// the same bytes from wherever it goes on, in a node that has no room for them all.
func TestParentComesBack(t *testing.T) {
	b := newBench(t, benchSize+benchRoom)
	step := int64(dataplane.PieceSize)
	s := b.pull(t, 0)
	same(t, s, 0, 5*step)
	if p := b.pool.Budget().Peak(); p > benchSize+benchRoom || p <= benchSize {
		t.Errorf("%d bytes were in use", p)
	}
	s.Close()
	s = b.pull(t, 4*step) // the kernel may have taken more than is kept: either way
	same(t, s, 4*step, benchSize/2)
	s.Close()
	s = b.pull(t, 0) // far before the window
	same(t, s, 0, benchSize)
	if a := b.asked(); len(a) < 2 {
		t.Errorf("the child was asked from %v", a)
	}
	for _, from := range b.asked() {
		if from != 0 {
			t.Errorf("the child was asked from byte %d", from)
		}
	}
	s = b.pull(t, benchSize-4*step) // another parent that has nearly all
	same(t, s, benchSize-4*step, 4*step)
}

// TestHeldUpChild lets a parent take nothing: the child's stream stops as soon as
// the window is full.
func TestHeldUpChild(t *testing.T) {
	b := newBench(t, benchSize+benchRoom)
	s := b.pull(t, 0)
	same(t, s, 0, dataplane.PieceSize)
	if p := b.pool.Budget().Peak(); p > benchSize+benchRoom {
		t.Errorf("%d bytes were in use", p)
	}
	same(t, s, dataplane.PieceSize, benchSize-dataplane.PieceSize)
	if a := b.asked(); len(a) != 1 || a[0] != 0 {
		t.Errorf("the child was asked from %v", a)
	}
}

// TestShrunkOutput has a place that keeps its whole output give it up, before its
// parent has read it and after.
func TestShrunkOutput(t *testing.T) {
	for _, done := range []bool{false, true} {
		t.Run(fmt.Sprintf("read %v", done), func(t *testing.T) {
			b := newBench(t, 2*benchSize+benchRoom)
			s := b.pull(t, 0)
			if done {
				same(t, s, 0, benchSize)
			} else {
				same(t, s, 0, dataplane.PieceSize)
			}
			b.places.ShrinkOutputs()
			// Room for a whole object, which there is only once the output is gone.
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			other, err := b.pool.NewBuffer(ctx, benchSize)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Release()
			s.Close()
			same(t, b.pull(t, dataplane.PieceSize), dataplane.PieceSize, benchSize-dataplane.PieceSize)
		})
	}
}
