package cluster_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Two of three voters die, and two of the other nodes are told at once to form the cluster
// anew: one does, and the other one says who. All objects of which there are enough copies are
// there, and every node has told it.
func TestRecoverAtTwoNodes(t *testing.T) {
	nodes := start(t, 5)
	steady(t, nodes)
	for i := range 30 {
		id := phalanx.ObjectID(fmt.Sprint("before/", i))
		if _, err := nodes[i%5].Put(within(t), id, bytes.Repeat([]byte{byte(i)}, 1000*(i+1)), cluster.WithCopies(3)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := nodes[4].Recover(within(t), cluster.RecoverOptions{Force: true}); !errors.Is(err, phalanx.ErrRefused) {
		t.Errorf("while the majority lives: %v", err)
	}
	left := nodes[2:]
	formed := make(chan actors.ViewFormed, 3)
	for _, n := range left {
		s := n.System().EventStream.Subscribe(func(e any) {
			if e, ok := e.(actors.ViewFormed); ok {
				formed <- e
			}
		})
		defer n.System().EventStream.Unsubscribe(s)
	}
	die(nodes[:2]...)
	missing := majorityLost(t, left, nodes[:2])
	var wg sync.WaitGroup
	results, errs := make([]cluster.Recovered, 2), make([]error, 2)
	for i := range 2 {
		wg.Go(func() { results[i], errs[i] = left[i].Recover(within(t), cluster.RecoverOptions{}) })
	}
	wg.Wait()
	did := slices.Index(errs, nil)
	if did < 0 || !errors.Is(errs[1-did], phalanx.ErrRefused) {
		t.Fatalf("it ended with %v", errs)
	}
	if r := results[did]; !slices.Equal(r.Missing, missing) || len(r.Members) != 3 || left[did].Status().Unready != nil {
		t.Errorf("%+v, ready %v", r, left[did].Status().Unready)
	}
	for range left {
		select {
		case e := <-formed:
			if e.By != left[did].ID() || e.View < results[did].View || !slices.Equal(e.Missing, missing) {
				t.Errorf("%+v", e)
			}
		case <-within(t).Done():
			t.Fatal("a node does not tell that the cluster was formed anew")
		}
	}
	for i := range 30 {
		n := left[i%3]
		v, err := n.Get(within(t), phalanx.ObjectID(fmt.Sprint("before/", i)))
		if err != nil {
			t.Errorf("%s: %v", n.ID(), err)
			continue
		}
		if !bytes.Equal(v.Bytes(), bytes.Repeat([]byte{byte(i)}, 1000*(i+1))) {
			t.Errorf("%s has other bytes of object %d", n.ID(), i)
		}
		v.Release()
	}
}

// majorityLost waits until all that are left tell that the majority of the voters is lost, and
// returns who of the dead is in their view. The first to die may be removed before the second
// one has died; where both are, the majority was never lost.
func majorityLost(t *testing.T, left, dead []*cluster.Node) []phalanx.NodeID {
	t.Helper()
	of := func(n *cluster.Node) (missing []phalanx.NodeID) {
		for _, d := range dead {
			if slices.ContainsFunc(n.View().Members, func(m view.Member) bool { return m.ID == d.ID() }) {
				missing = append(missing, d.ID())
			}
		}
		return missing
	}
	eventually(t, "the majority is lost", func() bool {
		lost := true
		for _, n := range left {
			if len(of(n)) == 0 {
				t.Skip("the cluster has removed one node before the other one died")
			}
			lost = lost && n.Status().MajorityLost
		}
		return lost
	})
	newest := slices.MaxFunc(left, func(a, b *cluster.Node) int { return cmp.Compare(a.View().Number, b.View().Number) })
	return of(newest)
}

// One node of three is not enough without force, and with it goes on alone.
func TestRecoverAlone(t *testing.T) {
	nodes := start(t, 3)
	steady(t, nodes)
	last := nodes[2]
	die(nodes[:2]...)
	eventually(t, "the majority is lost", func() bool { return last.Status().MajorityLost })
	if _, err := last.Recover(within(t), cluster.RecoverOptions{}); !errors.Is(err, phalanx.ErrUnavailable) {
		t.Errorf("without force: %v", err)
	}
	short, cancel := context.WithTimeout(within(t), time.Millisecond)
	defer cancel()
	if _, err := last.Recover(short, cluster.RecoverOptions{}); !errors.Is(err, phalanx.ErrDeadline) {
		t.Errorf("within a millisecond: %v", err)
	}
	gone, cancel := context.WithCancel(within(t))
	cancel()
	if _, err := last.Recover(gone, cluster.RecoverOptions{}); !errors.Is(err, phalanx.ErrCanceled) {
		t.Errorf("the caller has gone: %v", err)
	}
	if r, err := last.Recover(within(t), cluster.RecoverOptions{Force: true}); err != nil || len(r.Members) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := last.Put(within(t), "x", []byte("x")); err != nil {
		t.Error(err)
	}
}

// A node that is about to leave does not form the cluster anew, which could end with it. If it
// could not leave, it does.
func TestRecoverWhileItLeaves(t *testing.T) {
	nodes := start(t, 4) // beside one that lives the last one does not end
	steady(t, nodes)
	last := nodes[3]
	die(nodes[:2]...)
	eventually(t, "the majority is lost", func() bool { return last.Status().MajorityLost })
	ctx, cancel := context.WithCancel(within(t))
	left := make(chan error, 1)
	go func() { left <- last.Leave(ctx) }()
	eventually(t, "refused", func() bool {
		_, err := last.Recover(within(t), cluster.RecoverOptions{}) // without force it does not succeed before either
		return errors.Is(err, phalanx.ErrClosed)
	})
	cancel()
	if err := <-left; !errors.Is(err, phalanx.ErrCanceled) {
		t.Errorf("leave: %v", err)
	}
	if r, err := last.Recover(within(t), cluster.RecoverOptions{Force: true}); err != nil || len(r.Members) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}
