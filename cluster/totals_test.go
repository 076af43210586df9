package cluster_test

import (
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
)

// The totals of a node do not fall when a peer goes, nor when the node joins again.
func TestTotalsNeverFall(t *testing.T) {
	nodes := start(t, 3)
	ctx := within(t)
	victim := nodes[1]
	data := random(3<<20, 1)
	if _, err := victim.Put(ctx, "sent", data); err != nil {
		t.Fatal(err)
	}
	if _, err := nodes[2].Put(ctx, "received", data); err != nil {
		t.Fatal(err)
	}
	get := func(n *cluster.Node, id phalanx.ObjectID) {
		v, err := n.Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		v.Release()
	}
	get(nodes[2], "sent")
	get(victim, "received")
	before := victim.Status()
	if before.BytesSent < 3<<20 || before.BytesReceived < 3<<20 || before.Requests == 0 {
		t.Fatalf("it has sent %d bytes and %d requests, and received %d bytes", before.BytesSent, before.Requests, before.BytesReceived)
	}
	check := func(after string) {
		t.Helper()
		if s := victim.Status(); s.BytesSent < before.BytesSent || s.BytesReceived < before.BytesReceived || s.Requests < before.Requests {
			t.Errorf("%s: sent %d bytes (before %d), received %d (%d), %d requests (%d)", after, s.BytesSent, before.BytesSent, s.BytesReceived, before.BytesReceived,
				s.Requests, before.Requests)
		}
	}
	victim.BreakData(nodes[2].ID()) // as when it leaves
	check("a peer has gone")
	events := victim.Events(ctx)
	nodes[0].Oust(victim.ID())
	for e := range events {
		if _, ok := e.(actors.NodeRejoined); ok {
			break
		}
	}
	check("it has joined again")
}
