package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
)

// Readers and views of more objects than nodes have room for: copies come and go
// all the time, and no read of one is cut short by that.
func TestEvictionCutsNoRead(t *testing.T) {
	const each, size, readers = 4, 2 << 20, 8
	reads := 25
	if testing.Short() { // beside the race detector
		reads = 6
	}
	nodes := start(t, 3, func(c *cluster.Config) { c.Memory = each*size + 3*size })
	steady(t, nodes)
	var ids []phalanx.ObjectID
	data := map[phalanx.ObjectID][]byte{}
	for i := range each * len(nodes) {
		id := phalanx.ObjectID(fmt.Sprint("o", i))
		ids = append(ids, id)
		data[id] = random(size, uint64(i))
		put(t, nodes[i%len(nodes)], id, data[id])
	}
	var wg sync.WaitGroup
	for i, n := range nodes {
		for r := range readers {
			wg.Go(func() {
				pick := rand.New(rand.NewPCG(uint64(i), uint64(r)))
				for range reads {
					id := ids[pick.IntN(len(ids))]
					if r%4 == 3 && pick.IntN(2) == 0 {
						abandon(n, id)
						continue
					}
					if err := insist(t.Context(), func() error { return read(t, n, id, data[id], r%2 == 0) }); err != nil {
						t.Errorf("%s reads %s: %v", n.ID(), id, err)
					}
				}
			})
		}
	}
	wg.Wait()
	empty(t, nodes, ids...)
}

func read(t *testing.T, n *cluster.Node, id phalanx.ObjectID, want []byte, asItComes bool) error {
	if !asItComes {
		v, err := n.Get(within(t), id)
		if err != nil {
			return err
		}
		defer v.Release()
		return isSame(v.Bytes(), want)
	}
	r, err := n.Open(within(t), id)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return isSame(b, want)
}

// abandon begins to read and goes away, as a client does whose connection breaks.
func abandon(n *cluster.Node, id phalanx.ObjectID) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r, err := n.Open(ctx, id)
		if err == nil {
			_, _ = r.Read(make([]byte, 1000))
			_ = r.Close()
		}
	}()
	runtime.Gosched()
	cancel()
	<-ended
}

func isSame(got, want []byte) error {
	if !bytes.Equal(got, want) {
		return fmt.Errorf("it got other bytes")
	}
	return nil
}
