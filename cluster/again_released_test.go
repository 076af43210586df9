package cluster_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// deletedBefore leaves id deleted, some time ago.
func deletedBefore(t *testing.T, n *cluster.Node, id phalanx.ObjectID) {
	t.Helper()
	must(t)(n.Put(within(t), id, []byte("old")))
	if err := n.Delete(within(t), id); err != nil {
		t.Fatal(err)
	}
}

// halfPut has n put an array of 2 MB under id, of which half comes. The result ends
// the Put and waits until it has.
func halfPut(t *testing.T, n *cluster.Node, id phalanx.ObjectID) (fail func()) {
	t.Helper()
	const floats = 1 << 19
	source, sink := io.Pipe()
	over := make(chan error, 1)
	go func() {
		_, err := n.PutReader(within(t), id, source, 4*floats, cluster.WithArray(phalanx.Float32, floats))
		over <- err
	}()
	if _, err := sink.Write(make([]byte, 2*floats)); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		_ = sink.CloseWithError(io.ErrUnexpectedEOF)
		if err := <-over; !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("the put that fails ended with %v", err)
		}
	}
}

// bound waits until the owner of id tells that it is begun.
func bound(t *testing.T, n *cluster.Node, id phalanx.ObjectID) {
	t.Helper()
	eventually(t, "begun", func() bool {
		s, err := n.Stat(within(t), id)
		return err == nil && s.State.String() == "begun"
	})
}

// A Get that waits for what is put again goes on waiting if that Put fails, for another
// one. What is asked then, without waiting, is not there.
func TestGetWaitsOverAReleaseOfWhatWasDeleted(t *testing.T) {
	nodes := start(t, 3)
	deletedBefore(t, nodes[0], "x")
	fail := halfPut(t, nodes[1], "x")
	bound(t, nodes[0], "x")
	type got struct {
		bytes string
		err   error
	}
	gets := make(chan got, 2)
	get := func(n *cluster.Node) {
		v, err := n.Get(within(t), "x")
		if err != nil {
			gets <- got{"", err}
			return
		}
		defer v.Release()
		gets <- got{string(v.Bytes()), nil}
	}
	go get(nodes[2])
	eventually(t, "waited for", func() bool { return nodes[2].Status().Fetching == 1 && nodes[2].Held("x") > 0 })
	fail()
	go get(nodes[0])
	eventually(t, "waited for at another node", func() bool { return nodes[0].Status().Fetching == 1 || len(gets) > 0 })
	if _, err := nodes[1].TryGet(within(t), "x"); !errors.Is(err, phalanx.ErrNotFound) {
		t.Errorf("a get that does not wait ended with %v", err)
	}
	if _, err := nodes[1].Stat(within(t), "x"); !errors.Is(err, phalanx.ErrNotFound) {
		t.Errorf("a stat ended with %v", err)
	}
	must(t)(nodes[1].Put(within(t), "x", []byte("new")))
	for range 2 {
		if g := <-gets; g.err != nil || g.bytes != "new" {
			t.Errorf("a get that waited ended with %q, %v", g.bytes, g.err)
		}
	}
}

// A Reduce that waits for a source which is put again waits for another Put of it if that
// one fails.
func TestReduceWaitsOverAReleaseOfADeletedSource(t *testing.T) {
	nodes := start(t, 3)
	must(t)(cluster.PutArray(within(t), nodes[0], "a", full(1<<19, 1)))
	deletedBefore(t, nodes[0], "b")
	fail := halfPut(t, nodes[1], "b")
	over := make(chan error, 1)
	go func() {
		_, err := nodes[2].Reduce(within(t), storenode.Reduce{Target: "sum", Sources: []phalanx.ObjectID{"a", "b"}, Op: phalanx.Sum})
		over <- err
	}()
	eventually(t, "placed", func() bool { return nodes[0].Status().Places+nodes[1].Status().Places+nodes[2].Status().Places == 2 })
	fail()
	must(t)(cluster.PutArray(within(t), nodes[2], "b", full(1<<19, 2)))
	if err := <-over; err != nil {
		t.Fatalf("the reduce ended with %v", err)
	}
	sums(t, nodes[0], "sum", 3)
}

// sums checks the last element of an array.
func sums(t *testing.T, n *cluster.Node, id phalanx.ObjectID, want float32) {
	t.Helper()
	v, err := n.Get(within(t), id)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release()
	b := v.Bytes()
	if got := math.Float32frombits(binary.LittleEndian.Uint32(b[len(b)-4:])); got != want {
		t.Errorf("the last element of %s is %v, not %v", id, got, want)
	}
}

// A Reduce, or an AllReduce, that follows another one goes on itself when that is given
// up, also if its target was deleted before.
func TestFollowerOfADeletedTargetGoesOn(t *testing.T) {
	nodes := start(t, 4)
	for name, reduce := range map[string]func(context.Context, *cluster.Node, storenode.Reduce) error{
		"reduce": func(ctx context.Context, n *cluster.Node, r storenode.Reduce) error {
			_, err := n.Reduce(ctx, r)
			return err
		},
		"allreduce": func(ctx context.Context, n *cluster.Node, r storenode.Reduce) error {
			v, _, err := n.AllReduce(ctx, r)
			if err == nil {
				v.Release()
			}
			return err
		},
	} {
		target, a, b := phalanx.ObjectID(name), phalanx.ObjectID(name+"/a"), phalanx.ObjectID(name+"/b")
		r := storenode.Reduce{Target: target, Sources: []phalanx.ObjectID{a, b}, Op: phalanx.Sum}
		deletedBefore(t, nodes[3], target)
		must(t)(cluster.PutArray(within(t), nodes[0], a, full(1<<19, 1)))
		leading, giveUp := context.WithCancel(within(t))
		led := make(chan error, 1)
		go func() { led <- reduce(leading, nodes[0], r) }()
		bound(t, nodes[3], target)
		followed := make(chan error, 2)
		for _, n := range nodes[1:3] {
			go func() { followed <- reduce(within(t), n, r) }()
		}
		eventually(t, "followed", func() bool { return nodes[1].Status().Reduces+nodes[2].Status().Reduces == 2 })
		giveUp()
		if err := <-led; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: that which was given up ended with %v", name, err)
		}
		bound(t, nodes[3], target) // by another
		must(t)(cluster.PutArray(within(t), nodes[1], b, full(1<<19, 2)))
		for range 2 {
			if err := <-followed; err != nil {
				t.Errorf("%s: one that followed ended with %v", name, err)
			}
		}
		if !t.Failed() {
			sums(t, nodes[3], target, 3)
		}
	}
}
