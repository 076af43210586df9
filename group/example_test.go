package group_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/group"
)

// pair returns a group of two members, one on each of two nodes, and how both leave.
func pair(ctx context.Context) (a, b *group.Group, leave func()) {
	var nodes []*cluster.Node
	leave = func() {
		for _, n := range nodes {
			if err := n.Leave(ctx); err != nil {
				log.Fatal(err)
			}
		}
	}
	for _, name := range []string{"a", "b"} {
		cfg := config(name)
		if len(nodes) > 0 {
			cfg.Seeds = []string{nodes[0].ControlAddr()}
		}
		n, err := cluster.Join(ctx, cfg)
		if err != nil {
			log.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	other := make(chan *group.Group)
	form := func(n *cluster.Node) *group.Group {
		g, err := group.Form(ctx, n, "train", []group.Member{{Node: nodes[0].ID()}, {Node: nodes[1].ID()}})
		if err != nil {
			log.Fatal(err)
		}
		return g
	}
	go func() { other <- form(nodes[1]) }()
	return form(nodes[0]), <-other, leave
}

// A member runs two functions. The other one revokes the group: both end, and Wait says why.
func ExampleGroup_Go() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	g, other, leave := pair(ctx)
	defer leave()

	g.Go(func(ctx context.Context) error {
		view, err := g.Get(ctx, "gradient") // nobody puts it
		if err == nil {
			view.Release()
		}
		return err
	})
	g.Go(func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if err := other.Revoke(ctx, "there is a better plan"); err != nil {
		log.Fatal(err)
	}
	err := g.Wait()
	var by *group.RevokedError
	if errors.As(err, &by) && errors.Is(err, phalanx.ErrRevoked) {
		fmt.Printf("member %d has revoked it: %s\n", by.Rank, by.Reason)
	}
	// Output: member 1 has revoked it: there is a better plan
}

// Prefetch has the nodes of all members fetch an object; Watch tells when they have it.
func ExampleGroup_Prefetch() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	g, _, leave := pair(ctx)
	defer leave()

	if _, err := g.Put(ctx, "model", make([]byte, 1<<20)); err != nil {
		log.Fatal(err)
	}
	if err := g.Prefetch(ctx, "model"); err != nil {
		log.Fatal(err)
	}
	err := g.Watch(ctx, "model", func(at cluster.Locations) bool {
		if len(at.Complete) < 2 {
			return true // it is called again when that changes
		}
		fmt.Println(len(at.Complete), "nodes have it")
		return false
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 2 nodes have it
}
