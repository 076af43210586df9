package directory_test

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/directory"
	core "github.com/phalanx-go/phalanx/protocol/directory"
)

// How late this node is counts as it is when somebody becomes impatient.
func TestLatenessCountsAsItIs(t *testing.T) {
	bubble(t, func(c *directory.Client, w *wire) {
		c.Learn(owned(1, "a"))
		w.late = 2 * time.Second
		c.Request("x", 7, core.Locate{Wait: true}, nil)
		pass(60 * time.Millisecond) // one repeat
		c.Replied("a", core.Reply{To: "me", Num: 7, Object: "x", Epoch: 1, Result: core.Result{Waiting: true}})
		began := 60 * time.Millisecond
		pass(2900 * time.Millisecond)
		w.late = 0
		var at time.Duration
		c.Impatient(7, func(*phalanx.Error) {
			if at == 0 {
				at = time.Since(w.start)
			}
		})
		pass(3 * time.Second)
		if at > began+3*time.Second+50*time.Millisecond {
			t.Errorf("told at %v", at)
		}
	})
}
