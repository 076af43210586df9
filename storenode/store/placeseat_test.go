package store

import (
	"testing"

	"github.com/phalanx-go/phalanx/internal/poll"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// A parent that takes nothing is held up itself. The stream waits for it, but not for longer than the place
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
	poll.Until(t, "no stream runs any more", func() bool { return attended() == 0 })
	for _, s := range unread {
		s.Close()
	}
}
