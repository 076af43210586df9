package cluster_test

import (
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// manyGets has a node get n objects of another one at once.
func manyGets(t *testing.T, from, to *cluster.Node, n, size int) {
	t.Helper()
	data := random(size, 1)
	var ids []phalanx.ObjectID
	for i := range n {
		ids = append(ids, phalanx.ObjectID(fmt.Sprint("o/", i)))
		put(t, from, ids[i], data)
	}
	began := time.Now()
	var all sync.WaitGroup
	for _, id := range ids {
		ctx := within(t)
		all.Go(func() {
			v, err := to.Get(ctx, id)
			if err != nil {
				t.Error(err)
				return
			}
			v.Release()
		})
	}
	all.Wait()
	t.Logf("%d Gets took %v, %d streams were turned away", n, time.Since(began), from.Status().StreamsBusy)
	for _, id := range ids { // so that nobody has to hand anything over
		if err := from.Delete(within(t), id); err != nil {
			t.Error(err)
		}
	}
}

// Gets beyond the streams that a node gives another one take turns, and none is turned away.
func TestManyGetsTakeTurns(t *testing.T) {
	nodes := start(t, 2, silent, cluster.Patient, func(c *cluster.Config) { c.Streams = 8; c.Memory = 1 << 30 })
	steady(t, nodes)
	manyGets(t, nodes[0], nodes[1], 40, 4<<20) // long streams, so that they meet, and few end at a time
	if n := nodes[0].Status().StreamsBusy; n > 0 {
		t.Errorf("%d streams were turned away", n)
	}
}

// A Get that is told that its sender is busy tries again: it does not fail, and does not blame the sender.
func TestABusySenderIsNotAtFault(t *testing.T) {
	t.Parallel() // it mostly waits
	i := 0
	nodes := start(t, 2, silent, func(c *cluster.Config) {
		if c.Streams = 1; i == 1 {
			c.Streams = 1000 // it asks for more than it may have
		}
		c.Memory = 1 << 30
		i++
	})
	steady(t, nodes)
	ctx := within(t)
	events := nodes[1].Events(t.Context())
	head, tail := random(3<<20, 1), random(1<<20, 2)
	source, sink := io.Pipe()
	var putting sync.WaitGroup
	putting.Go(func() {
		if _, err := nodes[0].PutReader(ctx, "slow", source, phalanx.UnknownSize); err != nil {
			t.Error(err)
		}
	})
	if _, err := sink.Write(head); err != nil {
		t.Fatal(err)
	}
	slow := getting(ctx, nodes[1], "slow") // has the one seat
	eventually(t, "its bytes have come", func() bool { return nodes[1].Status().BytesReceived > 1<<20 })
	if _, err := nodes[0].Put(ctx, "o", head); err != nil {
		t.Fatal(err)
	}
	brings(t, "the other Get", getting(ctx, nodes[1], "o"), head) // the seat is given up, since there is nothing to send
	if nodes[0].Status().StreamsBusy == 0 {
		t.Error("no stream was turned away")
	}
	if _, err := sink.Write(tail); err != nil {
		t.Fatal(err)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	putting.Wait()
	brings(t, "the slow Get", slow, append(head, tail...))
	for {
		select {
		case e := <-events:
			switch e.(type) {
			case actors.SenderLost, actors.NodeSuspected, actors.NodeDown:
				t.Errorf("%+v", e)
			}
			continue
		default:
		}
		break
	}
}

// The edges of a Reduce wait for no stream's end: each place needs those below it, however many they are.
func TestAReduceWithMorePlacesThanStreamsOfAPeer(t *testing.T) {
	const length, sources = 16 << 10, 60 // of each source; 128 KB
	nodes := start(t, 2, silent, func(c *cluster.Config) { c.Streams = 2; c.Memory = 1 << 30 })
	steady(t, nodes)
	for _, degree := range []int{0, 1, 2, sources} {
		t.Run(fmt.Sprintf("degree %d", degree), func(t *testing.T) {
			ctx := within(t)
			var ids []phalanx.ObjectID
			var want int64
			for i := range sources {
				id := phalanx.ObjectID(fmt.Sprintf("s/%d/%d", degree, i))
				values := make([]int64, length)
				for j := range values {
					values[j] = int64(i + 1)
				}
				want += int64(i + 1)
				if _, err := cluster.PutArray(ctx, nodes[i%len(nodes)], id, values); err != nil {
					t.Fatal(err)
				}
				ids = append(ids, id)
			}
			target := phalanx.ObjectID(fmt.Sprint("sum/", degree))
			began := time.Now()
			r, err := nodes[0].Reduce(ctx, storenode.Reduce{Target: target, Sources: ids, Op: phalanx.Sum, Degree: degree})
			if err != nil || len(r.In) != sources {
				t.Fatalf("%d sources are in: %v", len(r.In), err)
			}
			t.Logf("took %v, %d streams were turned away", time.Since(began), nodes[0].Status().StreamsBusy+nodes[1].Status().StreamsBusy)
			for _, n := range nodes {
				a, err := cluster.GetArray[int64](ctx, n, target)
				if err != nil {
					t.Fatal(err)
				}
				if v := a.Values(); v[0] != want || v[length-1] != want {
					t.Errorf("the sum has %d and %d, not %d", v[0], v[length-1], want)
				}
				a.Release()
			}
			for _, id := range append(ids, target) {
				if err := nodes[0].Delete(ctx, id); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// So does a ring: each node has a stream to the next one, of every AllReduce.
func TestRingsWithFewStreams(t *testing.T) {
	nodes := start(t, 3, silent, func(c *cluster.Config) { c.Streams = 1; c.Memory = 1 << 30 })
	steady(t, nodes)
	ctx := within(t)
	var all sync.WaitGroup
	for k := range 6 {
		var ids []phalanx.ObjectID
		for i, n := range nodes {
			ids = append(ids, phalanx.ObjectID(fmt.Sprintf("in/%d/%d", k, i)))
			values := make([]int64, 1<<18)
			values[0] = int64(i + 1)
			if _, err := cluster.PutArray(ctx, n, ids[i], values); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range nodes {
			all.Go(func() {
				target := phalanx.ObjectID(fmt.Sprint("out/", k))
				v, _, err := n.AllReduce(ctx, storenode.Reduce{Target: target, Sources: ids, Op: phalanx.Sum})
				if err != nil {
					t.Error(err)
					return
				}
				v.Release()
				a, err := cluster.GetArray[int64](ctx, n, target)
				if err != nil {
					t.Error(err)
					return
				}
				defer a.Release()
				if got := a.Values()[0]; got != 6 {
					t.Errorf("the sum has %d", got)
				}
			})
		}
	}
	all.Wait()
}
