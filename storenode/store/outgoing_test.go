package store

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/pace"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// Two objects whose shards are in the same epoch are sent under leases of the same
// number. The connection to the receiver of one breaks for good; that of the other
// begins anew, which is no sign of the first.
func TestABrokenStreamIsReportedWhateverItsLeaseIsCalled(t *testing.T) {
	storeBubble(t, func(t *testing.T, e *Env, d *scripted) {
		flow := func(id phalanx.ObjectID, to phalanx.NodeID) *outflow {
			c := e.Table.lookup(id)
			if c == nil {
				c = arriving(t, e.Pool, e.Table, id, first, 10)
			}
			return e.outgoing.begin(e, to, c, dataplane.Request{Object: id, Lease: 1<<32 + 1})
		}
		x := flow("x", "r")
		e.outgoing.end(e, x, true)
		y := flow("y", "q")
		again := flow("z", "p") // its receiver comes back before the sender sees the break
		back := flow("z", "p")
		e.outgoing.end(e, again, true)
		time.Sleep(2 * pace.Grace) // of the bubble's time
		synctest.Wait()
		if failed := d.failed(); len(failed) != 1 || failed[0] != "x" {
			t.Errorf("broken are the streams of %v, says the sender, want that of x", failed)
		}
		e.outgoing.end(e, y, false)
		e.outgoing.end(e, back, false)
		if len(e.outgoing.leases) > 0 {
			t.Errorf("%d leases are remembered", len(e.outgoing.leases))
		}
	})
}

// failed returns the objects of the leases that were reported as broken.
func (d *scripted) failed() (ids []phalanx.ObjectID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.reports {
		if _, ok := r.Body.(directory.Failed); ok {
			ids = append(ids, r.Object)
		}
	}
	return ids
}
