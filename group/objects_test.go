package group_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/group"
	"github.com/phalanx-go/phalanx/storenode"
)

// What is known of objects, and copies at the members' nodes: not at those of others.
func TestObjectsInAGroup(t *testing.T) {
	nodes := start(t, 4)
	g := form(t, "g", nodes[:3])[1]
	ctx := within(t)
	if _, err := g.Put(ctx, "x/1", make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if st, err := g.Stat(ctx, "x/1"); err != nil || st.Meta.Size != 1<<20 {
		t.Errorf("%+v, %v", st, err)
	}
	_, err := g.Stat(ctx, "x/2")
	is(t, err, phalanx.ErrNotFound)
	if all, err := g.List(ctx, "x/"); err != nil || len(all) != 1 || all[0].Object != "x/1" {
		t.Errorf("%+v, %v", all, err)
	}
	if err := g.Prefetch(ctx, "x/1"); err != nil {
		t.Fatal(err)
	}
	for i, n := range nodes {
		if has := n.Status().Complete; has != 1 && i < 3 || has != 0 && i == 3 {
			t.Errorf("node %d has %d complete copies", i, has)
		}
	}
	if err := g.Prefetch(ctx, "x/1", nodes[3].ID()); err != nil || nodes[3].Status().Complete != 1 {
		t.Errorf("%v", err)
	}
	seen := []phalanx.NodeID{}
	if err := g.Watch(ctx, "x/1", func(at cluster.Locations) bool {
		seen = at.Complete
		return len(seen) < 4
	}); err != nil || len(seen) != 4 {
		t.Errorf("%v, %v", seen, err)
	}
	soon, cancel := context.WithTimeout(ctx, 20*ms)
	defer cancel()
	is(t, g.Watch(soon, "x/1", func(cluster.Locations) bool { return true }), phalanx.ErrDeadline)
}

// Prefetch and Watch end with a revoke, at every member, and nothing is told after it.
func TestRevokeEndsPrefetchAndWatch(t *testing.T) {
	groups := form(t, "g", start(t, 3))
	ctx := within(t)
	ends, watching := make(chan error, 6), make(chan struct{}, 3)
	for _, g := range groups {
		go func() { ends <- g.Prefetch(ctx, "never") }()
		go func() {
			first := true
			ends <- g.Watch(ctx, "never", func(cluster.Locations) bool {
				if g.IsRevoked() {
					t.Error("it is told of a change after the revoke")
				}
				if first {
					first = false
					watching <- struct{}{}
				}
				return true
			})
		}()
	}
	for range groups {
		<-watching
	}
	select {
	case err := <-ends:
		t.Fatalf("one has ended before: %v", err)
	default:
	}
	if err := groups[2].Revoke(ctx, "plan B"); err != nil {
		t.Fatal(err)
	}
	for range cap(ends) {
		err := <-ends
		is(t, err, phalanx.ErrRevoked)
		var r *group.RevokedError
		if !errors.As(err, &r) || r.Rank != 2 || r.Reason != "plan B" {
			t.Error(err)
		}
	}
	for _, g := range groups {
		is(t, g.Prefetch(ctx, "never"), phalanx.ErrRevoked)
		is(t, g.Watch(ctx, "never", func(cluster.Locations) bool { return true }), phalanx.ErrRevoked)
		_, err := g.List(ctx, "")
		is(t, err, phalanx.ErrRevoked)
		_, err = g.Stat(ctx, "never")
		is(t, err, phalanx.ErrRevoked)
	}
}

// A Prefetch ends when a node that it needs is gone with its member, and only then; after
// Acknowledge it goes to those who are left.
func TestPrefetchWithoutAMember(t *testing.T) {
	nodes := start(t, 3)
	ctx := within(t)
	dies, err := cluster.Join(ctx, config("dies", nodes[0].ControlAddr()))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "all are there", func() bool { return len(nodes[0].View().Members) == 4 })
	of := append(slices.Clone(nodes), dies)
	groups := form(t, "g", of)
	if err := groups[1].Close(); err != nil { // its node stays, and can have copies
		t.Fatal(err)
	}
	g := groups[0]
	eventually(t, "it is known", func() bool { return slices.Equal(g.Failed(), []int{1}) })
	if _, err := g.Put(ctx, "x", make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := g.Prefetch(ctx, "x"); err != nil {
		t.Errorf("a node that is there can have a copy: %v", err)
	}
	all, others := make(chan error, 1), make(chan error, 1)
	go func() { all <- g.Prefetch(ctx, "late") }()
	go func() { others <- g.Prefetch(ctx, "late", nodes[0].ID(), nodes[2].ID()) }()
	dies.Close()
	err = <-all
	is(t, err, phalanx.ErrFailed)
	var m *group.MemberError
	if !errors.As(err, &m) || !slices.Equal(m.Ranks, []int{3}) {
		t.Error(err)
	}
	is(t, g.Prefetch(ctx, "x"), phalanx.ErrFailed)
	is(t, g.Prefetch(ctx, "x", nodes[0].ID(), dies.ID()), phalanx.ErrFailed)
	if _, err := g.Put(ctx, "late", make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := <-others; err != nil {
		t.Errorf("it did not need that member: %v", err)
	}
	g.Acknowledge()
	if err := g.Prefetch(ctx, "late"); err != nil {
		t.Error(err)
	}
	soon, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	is(t, g.Prefetch(soon, "x", dies.ID()), phalanx.ErrInvalid) // it is no member of the cluster
}

// A Prefetch ends with ErrFailed when a node goes whose member had left the group before.
func TestPrefetchOfANodeThatGoesAfterItsMember(t *testing.T) {
	nodes := start(t, 2)
	ctx := within(t)
	dies, err := cluster.Join(ctx, config("dies", nodes[0].ControlAddr()))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "all are there", func() bool { return len(nodes[0].View().Members) == 3 })
	groups := form(t, "g", append(slices.Clone(nodes), dies))
	if err := groups[2].Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is known", func() bool { return slices.Equal(groups[0].Failed(), []int{2}) })
	ended := make(chan error, 1)
	go func() { ended <- groups[0].Prefetch(ctx, "never") }()
	eventually(t, "its node fetches the object", func() bool { return len(ended) > 0 || dies.Status().Fetching > 0 })
	select {
	case err := <-ended:
		t.Fatalf("its node is there: %v", err)
	default:
	}
	dies.Close()
	is(t, <-ended, phalanx.ErrFailed)
}

// An actor has nodes fetch an object in its group, until that is revoked.
func TestPrefetchByAnActor(t *testing.T) {
	nodes := start(t, 2)
	hands := hire(t, nodes)
	for _, h := range hands {
		h.send(&group.FormGroup{Name: "g", Members: on(nodes), Rank: -1})
	}
	a, b := next[*group.Formed](hands[0]).Group, next[*group.Formed](hands[1]).Group
	if _, err := a.Put(within(t), "x", make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	hands[0].send(&group.Do{Group: a, Request: &storenode.Prefetch{Object: "x"}})
	if p := next[*storenode.Prefetched](hands[0]); p.Err != nil || p.Object != "x" || nodes[1].Status().Complete != 1 {
		t.Errorf("%+v", p)
	}
	hands[0].send(&group.Do{Group: a, Request: &storenode.Prefetch{Object: "x", Nodes: []phalanx.NodeID{"nobody#1"}}})
	is(t, next[*storenode.Prefetched](hands[0]).Err, phalanx.ErrInvalid)
	if err := b.Revoke(within(t), "enough"); err != nil {
		t.Fatal(err)
	}
	next[*group.Interrupted](hands[0])
	hands[0].send(&group.Do{Group: a, Request: &storenode.Prefetch{Object: "x"}})
	is(t, next[*storenode.Prefetched](hands[0]).Err, phalanx.ErrRevoked)
}
