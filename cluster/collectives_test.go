package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/poll"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
)

func TestGatherErrors(t *testing.T) {
	nodes := start(t, 2)
	put(t, nodes[0], "a", []byte("a"))
	put(t, nodes[0], "gone", []byte("b"))
	if err := nodes[0].Delete(within(t), "gone"); err != nil {
		t.Fatal(err)
	}
	long := func() context.Context { return within(t) }
	brief := func() context.Context {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		t.Cleanup(cancel)
		return ctx
	}
	canceled := func() context.Context {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return ctx
	}
	for name, c := range map[string]struct {
		ctx     func() context.Context
		sources []phalanx.ObjectID
		num     int
		kind    phalanx.Kind
		names   []string
	}{
		"none":          {long, nil, 0, phalanx.ErrInvalid, []string{"no sources"}},
		"too many":      {long, []phalanx.ObjectID{"a"}, 2, phalanx.ErrInvalid, []string{"Num is 2", "give 1 to 1"}},
		"a bad id":      {long, []phalanx.ObjectID{"a", ""}, 0, phalanx.ErrInvalid, []string{"empty"}},
		"twice":         {long, []phalanx.ObjectID{"a", "a"}, 0, phalanx.ErrInvalid, []string{`"a"`, "twice"}},
		"one is gone":   {long, []phalanx.ObjectID{"never", "gone", "a"}, 3, phalanx.ErrDeleted, []string{`"gone"`}},
		"one is late":   {brief, []phalanx.ObjectID{"a", "never"}, 0, phalanx.ErrDeadline, []string{`"never"`}},
		"nobody's left": {canceled, []phalanx.ObjectID{"a", "b"}, 0, phalanx.ErrCanceled, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := nodes[1].Gather(c.ctx(), c.sources, c.num)
			refused(t, name, err, c.kind, append(c.names, "gather")...)
			if g.Views != nil {
				t.Errorf("there are views: %v", g.Views)
			}
		})
	}
	g, err := nodes[1].Gather(within(t), []phalanx.ObjectID{"gone", "a"}, 1) // one is enough
	if err != nil || len(g.In) != 1 || g.Views[0] != nil || string(g.Views[1].Bytes()) != "a" {
		t.Fatalf("%+v, %v", g, err)
	}
	for _, v := range g.Views {
		v.Release()
	}
	empty(t, nodes, "a")
}

// A source that is here first is first in the answer, wherever it stands in the request.
func TestGatherOrder(t *testing.T) {
	nodes := start(t, 2)
	data := bytes.Repeat([]byte("a"), 100_000) // not inline
	put(t, nodes[0], "a", data)
	done := make(chan storenode.Gathered, 1)
	go func() {
		g, err := nodes[1].Gather(within(t), []phalanx.ObjectID{"b", "a"}, 0)
		if err != nil {
			t.Error(err)
		}
		done <- g
	}()
	poll.Until(t, "n2 has all of a", func() bool {
		st, err := nodes[0].Stat(within(t), "a")
		return err == nil && slices.ContainsFunc(st.Holders, func(h directory.HolderStat) bool { return h.Node == nodes[1].ID() && h.Complete })
	})
	put(t, nodes[0], "b", data)
	g := <-done
	if !slices.Equal(g.In, []phalanx.ObjectID{"a", "b"}) {
		t.Errorf("in the order %q", g.In)
	}
	for _, v := range g.Views {
		v.Release()
	}
}

// Every node gathers at the same time, from all.
func TestAllGather(t *testing.T) {
	nodes := start(t, 4)
	var ids []phalanx.ObjectID
	var data [][]byte // made before: that keeps a core busy for longer than all the rest
	for i := range nodes {
		ids, data = append(ids, phalanx.ObjectID(fmt.Sprint("part/", i))), append(data, random(1<<20, uint64(i)))
	}
	var group sync.WaitGroup
	for i, n := range nodes {
		group.Go(func() {
			if _, err := n.Put(within(t), ids[i], data[i]); err != nil {
				t.Error(err)
			}
		})
		group.Go(func() {
			views, err := n.AllGather(within(t), ids)
			if err != nil {
				t.Error(err)
				return
			}
			for j, v := range views {
				if !bytes.Equal(v.Bytes(), data[j]) {
					t.Errorf("%s has other bytes of %s", n.ID(), ids[j])
				}
				v.Release()
			}
		})
	}
	group.Wait()
	empty(t, nodes, ids...)
}

// allReduced has n take part in r, and returns what it got: three zeros with an error.
func allReduced(t *testing.T, n *cluster.Node, r storenode.Reduce) ([]int64, storenode.ReduceResult) {
	t.Helper()
	v, res, err := n.AllReduce(within(t), r)
	if err != nil {
		t.Error(err)
		return make([]int64, 3), res
	}
	defer v.Release()
	a, err := cluster.ArrayOf[int64](v)
	if err != nil {
		t.Error(err)
		return make([]int64, 3), res
	}
	return slices.Clone(a.Values()), res
}

// The node that began an allreduce dies. Another that asked for the same takes it
// over.
func TestAllReduceIsTakenOver(t *testing.T) {
	t.Parallel() // it mostly waits
	nodes := start(t, 4)
	put := func(id phalanx.ObjectID, n *cluster.Node) {
		t.Helper()
		if _, err := cluster.PutArray(within(t), n, id, []int64{1, 2, 3}); err != nil {
			t.Fatal(err)
		}
	}
	r := storenode.Reduce{Target: "sum", Sources: []phalanx.ObjectID{"a", "b"}, Op: phalanx.Sum}
	put("a", nodes[0])
	first := make(chan error, 1)
	go func() {
		v, _, err := nodes[3].AllReduce(within(t), r)
		if v != nil {
			v.Release()
		}
		first <- err
	}()
	eventually(t, "begun", func() bool { return nodes[3].Status().Reduces == 1 })
	var group sync.WaitGroup
	for _, n := range nodes[:3] {
		group.Go(func() {
			if values, res := allReduced(t, n, r); len(res.In) != 2 || values[2] != 6 {
				t.Errorf("%v, %+v", values, res)
			}
		})
	}
	eventually(t, "followed", func() bool { return nodes[0].Status().Reduces+nodes[1].Status().Reduces+nodes[2].Status().Reduces == 3 })
	leaveSoon(t, nodes[3])
	if err := <-first; !errors.Is(err, phalanx.ErrClosed) && !errors.Is(err, phalanx.ErrUnavailable) {
		t.Errorf("the call at the node that left ended with %v", err)
	}
	put("b", nodes[1])
	group.Wait()
	empty(t, nodes[:3], "a", "b", "sum")
}

// Of nodes with small arrays the one with the first source makes the target, and
// the others wait for it. They make it themselves if that node does not take part,
// and do not take what was made of another request for it.
func TestSmallAllReduceIsLed(t *testing.T) {
	nodes := start(t, 3)
	r := storenode.Reduce{Sources: []phalanx.ObjectID{"a", "b", "c"}, Op: phalanx.Sum}
	for i, id := range r.Sources {
		if _, err := cluster.PutArray(within(t), nodes[i], id, []int64{int64(i), 1 << i}); err != nil {
			t.Fatal(err)
		}
	}
	for target, by := range map[phalanx.ObjectID][]*cluster.Node{"all": nodes, "not the first": nodes[1:], "one": nodes[2:]} {
		var group sync.WaitGroup
		for _, n := range by {
			group.Go(func() {
				r := r
				r.Target = target
				if values, res := allReduced(t, n, r); len(res.In) != 3 || res.Object != target || values[0] != 3 || values[1] != 7 {
					t.Errorf("%s at %s: %v, %+v", target, n.ID(), values, res)
				}
			})
		}
		group.Wait()
	}
	r.Target, r.Op = "all", phalanx.Max
	for _, n := range nodes {
		v, _, err := n.AllReduce(within(t), r)
		refused(t, "another request", err, phalanx.ErrExists, `"all"`)
		if v != nil {
			t.Errorf("%s has a view", n.ID())
		}
	}
	empty(t, nodes, "a", "b", "c", "all", "not the first", "one")
}

// Two callers on the node that leads do not hold each other up until a message is repeated, after 200 ms.
func TestSmallAllReduceIsLedByOneCaller(t *testing.T) {
	nodes := start(t, 2)
	slow := 0
	for round := range 20 {
		id := func(what int) phalanx.ObjectID { return phalanx.ObjectID(fmt.Sprint(round, "/", what)) }
		r := storenode.Reduce{Target: id(4), Sources: []phalanx.ObjectID{id(0), id(1), id(2), id(3)}, Op: phalanx.Sum}
		begin := time.Now()
		var group sync.WaitGroup
		for i, source := range r.Sources {
			group.Go(func() {
				if _, err := cluster.PutArray(within(t), nodes[i/2], source, []int64{1 << i}); err != nil {
					t.Error(err)
				}
				if values, _ := allReduced(t, nodes[i/2], r); values[0] != 15 {
					t.Errorf("%v", values)
				}
			})
		}
		group.Wait()
		if time.Since(begin) > 150*time.Millisecond {
			slow++
		}
		empty(t, nodes, append(r.Sources, r.Target)...)
	}
	if slow > 3 {
		t.Errorf("%d of 20 take more than 150 ms", slow)
	}
}
