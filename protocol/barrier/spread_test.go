package barrier_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// What has fired is told to a new manager in parts, each when the one before has come, also if
// messages are lost, or come twice.
func TestWhatHasFiredIsToldInParts(t *testing.T) {
	const n, part = 300, 500
	c := newCluster(t, 3)
	for i, id := range c.view.Members {
		c.cores[id] = barrier.NewCore(barrier.CoreConfig{Part: part, Attempts: uint64(i) << 20})
		c.learn(id)
		c.step(id, barrier.Leased{Until: 2 * time.Hour})
	}
	for i := range n {
		for h := range 1 + i%2 { // from one node, or from two
			c.named(c.view.Members[h], fmt.Sprint("many/", i), barrier.Config{Max: 1, Late: barrier.CatchUp}, fmt.Sprint("h", h))
		}
		c.settle()
	}
	c.jump(11 * time.Second)
	c.jump(time.Second)
	told, known, lost := 0, map[uint64]bool{}, 0
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		switch m := m.(type) {
		case barrier.Over:
			told++
			weight := 0
			for _, crowd := range m.Crowds {
				weight += 12 * len(crowd.Digests)
				for _, d := range crowd.Digests {
					known[d] = true
				}
			}
			if weight > part {
				t.Errorf("a part has %d bytes", weight)
			}
			c.queue = append(c.queue, flying{from, to, m}) // twice
			lost++
			return lost%3 == 0
		case barrier.OverKnown:
			lost++
			return lost%4 == 0
		}
		return false
	}
	late := phalanx.MakeNodeID("late", 100)
	c.add(late)
	for range 30 {
		c.pass(time.Second)
	}
	if told < n*12/part/2 || len(known) < n/2 {
		t.Errorf("%d barriers in %d messages", len(known), told)
	}
}
