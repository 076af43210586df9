package faults

import (
	"testing"

	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/bed"
)

// Only the link between a sender and its receiver fails. Both stay members, and
// the receiver goes on from another sender.
func TestBroadcastOverALinkThatFails(t *testing.T) {
	needsWide(t)
	for _, c := range []struct {
		name string
		of   func(from, to int) []bed.Cut
	}{
		{"drop", func(from, to int) []bed.Cut { return bed.Between(from, to) }},
		{"reset", func(from, to int) []bed.Cut { return bed.Refuse(bed.Between(from, to)) }},
		{"drop one way", func(from, to int) []bed.Cut { return bed.From(from, to) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			nodes := start(t, 6)
			id := fresh("link")
			must(t, tell(nodes[1], order{Do: "put", Object: id, Size: large}))
			var gets []call
			for _, p := range nodes {
				gets = append(gets, tell(p, order{Do: "get", Object: id, Size: large}))
			}
			above, below := middle(t, nodes, nodes, nodes[1], id)
			sender := above.id(t)
			cuts := c.of(above.host, below.host)
			t.Cleanup(func() { do(t, shared.Heal(cuts...)) })
			do(t, shared.Cut(cuts...))
			expect(t, below, func(e actors.SenderLost) bool { return e.Object == id && e.Sender == sender })
			expect(t, below, func(e actors.TransferResumed) bool { return e.Object == id && e.Sender != sender })
			must(t, gets...)
			do(t, shared.Heal(cuts...))
			nobodyElse(t, nodes)
			settle(t, nodes)
			level(t, nodes, id)
		})
	}
}
