package cluster_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
)

// TestOpenThatEndsAsItIsAnswered has callers go away, or run late, at the moment
// in which they get their reader. It must not lose the bytes that it reads, which
// would look as if the creator had given up.
func TestOpenThatEndsAsItIsAnswered(t *testing.T) {
	nodes := start(t, 2)
	steady(t, nodes)
	ctx := within(t)
	source, sink := io.Pipe()
	var putting sync.WaitGroup
	putting.Go(func() {
		if _, err := nodes[0].PutReader(ctx, "x", source, phalanx.UnknownSize); err != nil {
			t.Error(err)
		}
	})
	if _, err := sink.Write(random(3<<20, 1)); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	rounds := 2_000
	if testing.Short() {
		rounds = 500
	}
	for i := range rounds {
		ending := context.WithCancel
		want := phalanx.ErrCanceled
		in := time.Duration(rng.IntN(2_000)) * time.Microsecond
		if i%2 == 1 {
			ending = func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, in) }
			want = phalanx.ErrDeadline
		}
		opening, cancel := ending(ctx)
		if i%2 == 0 {
			time.AfterFunc(in, cancel)
		}
		r, err := nodes[1].Open(opening, "x")
		if err == nil {
			_, err = io.Copy(io.Discard, r)
			_ = r.Close()
		}
		if e := (*phalanx.Error)(nil); !errors.As(err, &e) || e.Kind != want {
			t.Fatalf("open %d ended with %v, want %v", i, err, want)
		}
		cancel()
	}
	_ = sink.Close()
	putting.Wait()
}

// TestReaderWithoutADeadline has one whose creator stops half way: its context never
// ends, and neither would its wait.
func TestReaderWithoutADeadline(t *testing.T) {
	t.Parallel() // it mostly waits
	const patience = time.Second
	nodes := start(t, 2, func(c *cluster.Config) { c.Deadline = patience })
	steady(t, nodes)
	source, sink := io.Pipe()
	var putting sync.WaitGroup
	putting.Go(func() { _, _ = nodes[0].PutReader(within(t), "x", source, phalanx.UnknownSize) })
	head := random(3<<20, 1)
	if _, err := sink.Write(head); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]*cluster.Node{"where it is made": nodes[0], "elsewhere": nodes[1]} {
		r, err := n.Open(context.Background(), "x")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		_ = r.Close()
		if e := (*phalanx.Error)(nil); !errors.As(err, &e) || e.Kind != phalanx.ErrDeadline || !strings.Contains(err.Error(), patience.String()) || e.Object != "x" {
			t.Errorf("%s: ended with %v after %d bytes", name, err, len(got))
		}
		if n == nodes[1] && !strings.Contains(err.Error(), string(nodes[0].ID())) {
			t.Errorf("%v does not name the sender", err)
		}
	}
	_ = sink.Close()
	putting.Wait()
}

// TestReaderOfWhatIsDeleted has Readers, where an object is made and elsewhere, in the
// midst of it as it is deleted. It was not given up.
func TestReaderOfWhatIsDeleted(t *testing.T) {
	nodes := start(t, 3)
	steady(t, nodes)
	ctx := within(t)
	source, sink := io.Pipe()
	var putting sync.WaitGroup
	putting.Go(func() {
		if _, err := nodes[0].PutReader(ctx, "x", source, phalanx.UnknownSize); !errors.Is(err, phalanx.ErrDeleted) {
			t.Errorf("the put ended with %v", err)
		}
	})
	if _, err := sink.Write(random(3<<20, 1)); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	for _, n := range nodes {
		r, err := n.Open(ctx, "x")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		reading.Go(func() {
			defer r.Close()
			_, err := io.Copy(io.Discard, r)
			if e := (*phalanx.Error)(nil); !errors.As(err, &e) || e.Kind != phalanx.ErrDeleted { // the kind itself, not that of what it wraps
				t.Errorf("the reader on %s ended with %v", n.ID(), err)
			}
		})
	}
	if err := nodes[1].Delete(ctx, "x"); err != nil {
		t.Fatal(err)
	}
	reading.Wait()
	_ = sink.Close()
	putting.Wait()
}
