package storenode

import (
	"testing"

	"github.com/phalanx-go/phalanx/protocol/directory"
)

// A copy that was announced after leave to evict it was asked for is not the one that the owner
// has forgotten with the leave: the owner hears that it is gone. What was announced before is.
func TestTheLeaveOfACopyThatWasAnnounced(t *testing.T) {
	for _, after := range []bool{false, true} {
		g, pool, table := evicting(t, 3*one+spare)
		c := small(t, table, "o0", 30, false)
		c.again.Store(true)
		table.budget.Force(2 * one)
		ended := wait(pool, one)
		a := <-g.asked
		if after {
			c.again.Store(true)
		}
		a.deliver("owner", directory.Result{})
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		g.handled()
		var told []asked
		for len(g.asked) > 0 {
			told = append(told, <-g.asked)
		}
		if len(told) > 0 != after || after && told[0].body != (directory.Drop{Gen: first}) {
			t.Errorf("announced after: %v: it told %+v", after, told)
		}
	}
}
