package store

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// A parent that takes nothing is held up itself, and is waited for; but not for longer than the place
// runs. However often it asks, only two of its streams need no seat.
func TestUnreadEdgesEndWithTheirPlace(t *testing.T) {
	b := newBench(t, 2*benchSize+benchRoom)
	key := placeKey{Target: "sum", Reduce: first, Place: 1}
	attended := func() int {
		b.places.mu.Lock()
		defer b.places.mu.Unlock()
		return b.places.attended[key]
	}
	var unread []*dataplane.Stream
	for range 5 {
		s := b.pull(t, 0)
		same(t, s, 0, dataplane.PieceSize)
		unread = append(unread, s)
	}
	if n := attended(); n != parents {
		t.Errorf("%d streams need no seat", n)
	}
	b.places.Order(b.self, reduce.Stop{Target: "sum", Reduce: first, Attempt: 1, Place: 1, Gen: label})
	for deadline := time.Now().Add(20 * time.Second); attended() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d streams still run", attended())
		}
	}
	for _, s := range unread {
		s.Close()
	}
}
