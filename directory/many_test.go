package directory_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/directory"
	core "github.com/phalanx-go/phalanx/protocol/directory"
)

// An owner that tells watches is not silent, and has more time for a request.
func TestAnOwnerThatTellsWatchesIsNotSilent(t *testing.T) {
	bubble(t, func(c *directory.Client, w *wire) {
		c.Learn(owned(1, "a"))
		c.Watch("w", 6, func(core.Readiness) {})
		c.Request("x", 7, core.Stat{}, func(phalanx.NodeID, core.Result) {})
		told := make(chan *phalanx.Error, 10)
		c.Impatient(7, func(err *phalanx.Error) { told <- err })
		for v := uint64(1); v <= 10; v++ {
			c.Ready("a", core.Readiness{To: "me", Num: 6, Object: "w", Version: 1<<32 + v})
			pass(time.Second)
		}
		if len(told) > 0 {
			t.Errorf("told of %v", <-told)
		}
		pass(6 * time.Second) // not for ever
		if len(told) == 0 {
			t.Error("a request that is not answered for 16 s was not told of")
		}
	})
}

// However many requests are open, their owner gets them in portions: when they are
// repeated, and when the shard moves.
func TestManyOpenRequestsDoNotFloodTheirOwner(t *testing.T) {
	const n, portion = 5000, 1000
	bubble(t, func(c *directory.Client, w *wire) {
		for num := uint64(1); num <= n; num++ {
			c.Request("x", num, core.Stat{}, func(phalanx.NodeID, core.Result) {})
		}
		for view, owner := range []phalanx.NodeID{"a", "b"} {
			before := len(w.all())
			c.Learn(owned(uint64(view+1), owner))
			pass(time.Second)
			at, times := map[time.Duration]int{}, map[uint64]int{}
			for _, s := range w.all()[before:] {
				at[s.at]++
				times[s.v.(core.Request).Num]++
				if s.to != owner {
					t.Fatalf("sent to %v", s.to)
				}
			}
			for when, sent := range at {
				if sent > portion {
					t.Errorf("%d were sent to %s at %v", sent, owner, when)
				}
			}
			for num := uint64(1); num <= n; num++ {
				if times[num] < 2 {
					t.Fatalf("request %d was sent %d times to %s", num, times[num], owner)
				}
			}
		}
	})
}

// nowhere takes everything.
type nowhere struct{}

func (nowhere) Send(phalanx.NodeID, int, any) error { return nil }

// BenchmarkRequest asks and is answered, while ever more other requests wait at their
// owner and are repeated now and then.
func BenchmarkRequest(b *testing.B) {
	for _, open := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(open), func(b *testing.B) {
			start := time.Now()
			c := directory.NewClient("me", nowhere{}, func() time.Duration { return time.Since(start) }, func() time.Duration { return 0 })
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan struct{})
			go func() { c.Run(ctx); close(done) }()
			c.Learn(owned(1, "a"))
			ignore := func(phalanx.NodeID, core.Result) {}
			for range open {
				num := c.Nums(1)
				c.Request("x", num, core.Locate{Wait: true}, ignore)
				c.Impatient(num, func(*phalanx.Error) {})
				c.Replied("a", core.Reply{To: "me", Num: num, Object: "x", Result: core.Result{Waiting: true}})
			}
			for b.Loop() {
				num := c.Nums(1)
				c.Request("y", num, core.Stat{}, ignore)
				c.Replied("a", core.Reply{To: "me", Num: num, Object: "y"})
			}
			b.StopTimer()
			cancel()
			<-done
		})
	}
}
