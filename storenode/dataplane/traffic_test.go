package dataplane

import (
	"fmt"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// The totals include peers that came and went; the node keeps nothing else of them.
func TestTrafficOfManyPeersThatWent(t *testing.T) {
	var w town
	a := w.node(t, "a#1", nil)
	const peers = 1000
	for i := range peers {
		id := phalanx.NodeID(fmt.Sprintf("p%d#1", i))
		p := a.peer(id)
		p.countSent(10)
		a.ClosePeer(id)
		p.countReceived(1) // of a stream that is still ending
	}
	if sent, received := a.Traffic(); sent != 10*peers || received != peers {
		t.Errorf("%d bytes were sent and %d received", sent, received)
	}
	if left := len(a.Stats()); left != 0 {
		t.Errorf("%d peers are left", left)
	}
}
