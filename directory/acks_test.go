package directory_test

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/directory"
	core "github.com/phalanx-go/phalanx/protocol/directory"
)

// Requests that are repeated go out before what watches acknowledge: somebody may wait for
// them.
func TestRequestsGoOutBeforeAcknowledgements(t *testing.T) {
	bubble(t, func(c *directory.Client, w *wire) {
		c.Learn(owned(1, "a"))
		c.Request("x", 7, core.Stat{}, nil) // again after 50 ms
		c.Watch("y", 8, func(core.Readiness) {})
		pass(30 * time.Millisecond)
		c.Ready("a", core.Readiness{To: "me", Num: 8, Object: "y", Version: 1<<32 | 1}) // acknowledged after 20 ms
		before := len(w.all())
		pass(20 * time.Millisecond)
		out := w.all()[before:]
		if len(out) != 2 || out[0].at != out[1].at {
			t.Fatalf("%+v", out)
		}
		if r, ok := out[0].v.(core.Request); !ok || r.Num != 7 {
			t.Errorf("%T goes out first", out[0].v)
		}
	})
}
