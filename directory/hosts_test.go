package directory_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phalanx-go/phalanx"
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

// The bytes that come from the node's own shard are copied: who gets them may change them.
func TestBytesOfTheOwnShardAreCopied(t *testing.T) {
	for _, owner := range []phalanx.NodeID{"me", "a"} {
		bubble(t, func(c *directory.Client, w *wire) {
			c.Learn(owned(1, owner))
			var got []byte
			c.Request("x", 7, core.Locate{}, func(_ phalanx.NodeID, r core.Result) { got = r.Inline })
			kept := []byte("bytes")
			c.Replied(owner, core.Reply{To: "me", Num: 7, Object: "x", Epoch: 1, Result: core.Result{Inline: kept}})
			if len(got) != 5 || (&got[0] == &kept[0]) != (owner == "a") {
				t.Errorf("of %s: %q", owner, got)
			}
		})
	}
}

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

// Holdings tell of what was reported before they were listed, and not of what is reported
// meanwhile.
func TestHoldingsSayBeforeWhatTheyWereListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{start: time.Now()}
		next := uint64(7)
		r := directory.NewReporter("me", w, func() time.Duration { return time.Since(w.start) }, func() uint64 { return next }, func(of []bool) [][]core.Holding {
			next++ // somebody reports
			return make([][]core.Holding, len(of))
		})
		r.Learn(owned(1, "a"))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { r.Run(ctx); close(done) }()
		pass(time.Millisecond)
		cancel()
		<-done
		if len(w.sent) != 1 || w.sent[0].v.(core.Holdings).Before != 7 {
			t.Errorf("%+v", w.sent)
		}
	})
}
