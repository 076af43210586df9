package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/poll"
	"github.com/phalanx-go/phalanx/protocol/view"
	"github.com/phalanx-go/phalanx/storenode"
)

// order is what a node's process is told to do.
type order struct {
	Do      string
	Object  phalanx.ObjectID
	Sources []phalanx.ObjectID
	Size    int64
	Times   int
}

// report says what came of an order.
type report struct {
	Took []time.Duration
	Made uint64 `json:",omitempty"` // allocations since the process began
	Err  string `json:",omitempty"`
}

func (o order) carryOut(n *cluster.Node) (report, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	switch o.Do {
	case "settle":
		return report{}, settle(n, o.Times)
	case "put":
		data := random(int(o.Size), 1)
		return timed(func() error {
			_, err := n.Put(ctx, o.Object, data)
			return err
		})
	case "put from reader": // so that nobody else holds the bytes
		source := io.LimitReader(&repeated{block: random(1<<20, 1)}, o.Size)
		return timed(func() error {
			_, err := n.PutReader(ctx, o.Object, source, o.Size)
			return err
		})
	case "put array":
		return report{}, putOnes(ctx, n, o.Object, o.Size/4)
	case "get":
		return timed(func() error {
			v, err := n.Get(ctx, o.Object)
			if err != nil {
				return err
			}
			defer v.Release()
			if int64(len(v.Bytes())) != o.Size {
				err = fmt.Errorf("%d bytes", len(v.Bytes()))
			}
			return err
		})
	case "count":
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return report{Made: m.Mallocs}, nil
	case "delete":
		return timed(func() error { return n.Delete(ctx, o.Object) })
	case "reduce":
		return timed(func() error {
			_, err := n.Reduce(ctx, storenode.Reduce{Target: o.Object, Sources: o.Sources, Op: phalanx.Sum})
			return err
		})
	case "stat": // of an object whose owner is another node
		return o.repeat(n, away, func(id phalanx.ObjectID) error {
			_, err := n.Stat(ctx, id)
			if errors.Is(err, phalanx.ErrNotFound) {
				err = nil
			}
			return err
		})
	case "erase": // what never was: the tombstone is a change with a backup
		return o.repeat(n, away, func(id phalanx.ObjectID) error { return n.Delete(ctx, id) })
	case "erase own":
		return o.repeat(n, own, func(id phalanx.ObjectID) error { return n.Delete(ctx, id) })
	}
	return report{}, fmt.Errorf("there is no order %q", o.Do)
}

func timed(f func() error) (report, error) {
	began := time.Now()
	err := f()
	return report{Took: []time.Duration{time.Since(began)}}, err
}

// repeat times f on new ids that the filter lets through.
func (o order) repeat(n *cluster.Node, filter func(*cluster.Node, view.Shard) bool, f func(phalanx.ObjectID) error) (report, error) {
	var r report
	for i := 0; len(r.Took) < o.Times; i++ {
		id := phalanx.ObjectID(fmt.Sprintf("%s/%d", o.Object, i))
		v := n.View()
		if !filter(n, v.Shards[id.Shard(len(v.Shards))]) {
			continue
		}
		one, err := timed(func() error { return f(id) })
		if err != nil {
			return r, err
		}
		r.Took = append(r.Took, one.Took...)
	}
	return r, nil
}

func own(n *cluster.Node, s view.Shard) bool { return s.Owner == n.ID() }

// away lets a shard through that this node has no copy of, if others could: with
// two nodes each has one of each.
func away(n *cluster.Node, s view.Shard) bool {
	return s.Owner != n.ID() && (s.Backup != n.ID() || len(n.View().Members) < 3)
}

// settle waits until there are k members, and a backup for each shard if it is
// more than one.
func settle(n *cluster.Node, k int) error {
	var v view.View
	if !poll.Holds(func() bool {
		v = n.View()
		return len(v.Members) == k && !slices.ContainsFunc(v.Shards, func(s view.Shard) bool { return s.Next != "" || s.Backup == "" && k > 1 })
	}) {
		return fmt.Errorf("the view has not settled: %+v", v)
	}
	return nil
}

// repeated reads the same block again and again.
type repeated struct {
	block []byte
	at    int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.block[r.at:])
	r.at = (r.at + n) % len(r.block)
	return n, nil
}

func putOnes(ctx context.Context, n *cluster.Node, id phalanx.ObjectID, elements int64) error {
	ones := make([]float32, elements)
	for i := range ones {
		ones[i] = 1
	}
	_, err := cluster.PutArray(ctx, n, id, ones)
	return err
}
