package store

import (
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// A root that ends before it is told to, as its node is fenced, leaves the target
// as it is if that is whole: it is a copy like any other.
func TestARootThatEndsLeavesTheTargetReadable(t *testing.T) {
	for _, whole := range []bool{true, false} {
		pool := dataplane.NewPool(dataplane.NewBudget(1 << 20))
		env := &Env{Self: "n#1", Table: NewTable(pool.Budget()), Pool: pool, Directory: mute{}}
		hub := NewPlaces(env, nil)
		c := arriving(t, pool, env.Table, "x", first, 8)
		if _, err := c.buffer.Write(make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		c.buffer.Retain()
		p := &place{env: env, hub: hub, key: placeKey{Target: "x"}, root: c}
		p.out = &output{place: p, sink: sink{buffer: c.buffer}, room: &handover[sink]{release: sink.release}, cancel: func() {}}
		if whole {
			env.Table.finish(c, phalanx.Meta{Size: 8}, phalanx.Digest{1}, true)
		}
		p.release(false)
		if there := env.Table.lookup("x") == c; there != whole {
			t.Errorf("whole: %v, and the table has it: %v", whole, there)
		}
		if err := c.buffer.Err(); (err == nil) != whole {
			t.Errorf("whole: %v, and who reads it is told %v", whole, err)
		}
	}
}
