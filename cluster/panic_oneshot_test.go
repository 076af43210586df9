package cluster_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// The callers of a fetch that panics hear of it, its node is listed no more, and
// everybody can get the object.
func TestAFetchThatPanics(t *testing.T) {
	var link *bent
	nodes := start(t, 3, silent, func(cfg *cluster.Config) {
		if cfg.Name == "n1" {
			link = bend(t, cfg)
		}
	})
	steady(t, nodes)
	ctx := within(t)
	data := random(24<<20, 1)
	put(t, nodes[0], "x", data)
	free := make(chan struct{})
	link.set(slowly(free))
	listed := func() bool {
		st, err := nodes[0].Stat(ctx, "x")
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range st.Holders {
			if h.Node == nodes[1].ID() {
				return true
			}
		}
		return false
	}
	gets := []<-chan got{getting(ctx, nodes[1], "x"), getting(ctx, nodes[1], "x")}
	eventually(t, "it arrives", func() bool { return link.bytesTo("n2") > 0 && listed() })
	if crash(nodes[1], "fetch-") != 1 {
		t.Fatal("there is no fetch")
	}
	for _, g := range gets {
		if err := (<-g).err; !errors.Is(err, phalanx.ErrInternal) {
			t.Errorf("a Get ended with %v", err)
		}
	}
	for end := time.Now().Add(2 * time.Second); listed(); {
		if time.Now().After(end) {
			t.Fatal("its node is listed after 2 s")
		}
	}
	close(free)
	brings(t, "a third node", getting(ctx, nodes[2], "x"), data)
	brings(t, "the node itself", getting(ctx, nodes[1], "x"), data)
}

// A fetch that panics before anybody has begun the object leaves nobody waiting.
func TestAFetchThatPanicsAsItWaits(t *testing.T) {
	nodes := start(t, 3, silent)
	steady(t, nodes)
	ctx := within(t)
	for round := range 2 { // the second waits as another actor
		get := getting(ctx, nodes[1], "x")
		eventually(t, "there is a fetch", func() bool { return nodes[1].Status().Fetching > 0 })
		eventually(t, "it has panicked", func() bool { crash(nodes[1], "fetch-"); return len(get) > 0 })
		if err := (<-get).err; !errors.Is(err, phalanx.ErrInternal) {
			t.Errorf("round %d: a Get ended with %v", round, err)
		}
	}
	data := random(1<<20, 1)
	put(t, nodes[0], "x", data)
	brings(t, "a third node", getting(ctx, nodes[2], "x"), data)
	brings(t, "the node itself", getting(ctx, nodes[1], "x"), data)
}

// A reduce goes on without a place that panics, and then with it again.
func TestAPlaceThatPanics(t *testing.T) {
	nodes := start(t, 5, silent)
	steady(t, nodes)
	ctx := within(t)
	var sources []phalanx.ObjectID
	for i := range nodes {
		sources = append(sources, phalanx.ObjectID(fmt.Sprint("s", i)))
	}
	ones := slices.Repeat([]float32{1}, 1<<18)
	for i := range 3 {
		if _, err := cluster.PutArray(ctx, nodes[i], sources[i], ones); err != nil {
			t.Fatal(err)
		}
	}
	events := nodes[4].Events(ctx)
	over := make(chan error, 1)
	go func() {
		r, err := nodes[4].Reduce(ctx, storenode.Reduce{Target: "sum", Sources: sources, Op: phalanx.Sum})
		if err == nil && len(r.In) != len(sources) {
			err = fmt.Errorf("only %v are in it", r.In)
		}
		over <- err
	}()
	for i := range 3 {
		eventually(t, "there is a place", func() bool { return nodes[i].Status().Places > 0 })
		if crash(nodes[i], "place-") == 0 {
			t.Fatal("there is no place")
		}
		for lost := false; !lost; {
			select {
			case e := <-events:
				_, lost = e.(actors.PlaceLost)
			case <-ctx.Done():
				t.Fatal("no place was lost")
			}
		}
	}
	for i := 3; i < 5; i++ {
		if _, err := cluster.PutArray(ctx, nodes[i], sources[i], ones); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	a, err := cluster.GetArray[float32](ctx, nodes[1], "sum")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Release()
	if i := slices.IndexFunc(a.Values(), func(v float32) bool { return v != 5 }); i >= 0 || len(a.Values()) != len(ones) {
		t.Errorf("element %d of %d is not 5", i, len(a.Values()))
	}
}
