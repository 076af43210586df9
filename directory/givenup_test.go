package directory_test

import (
	"slices"
	"testing"
	"time"

	core "github.com/phalanx-go/phalanx/protocol/directory"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/directory"
)

func TestWhatIsGrantedLateIsGivenBack(t *testing.T) {
	bubble(t, func(c *directory.Client, w *wire) {
		cancels := func() (n int) {
			for _, s := range w.all() {
				if r, ok := s.v.(core.Request); ok && r.Body == (core.Cancel{Num: 7}) {
					n++
				}
			}
			return n
		}
		c.Learn(owned(1, "a"))
		c.Request("x", 7, core.Locate{Wait: true}, func(phalanx.NodeID, core.Result) { t.Error("a request that was given up is answered") })
		c.Forget(7)
		c.Learn(owned(2, "b"))
		c.Replied("b", core.Reply{To: "me", Num: 7, Object: "x", Result: core.Result{State: core.Deleted, Kind: phalanx.ErrDeleted}})
		c.Replied("b", core.Reply{To: "me", Num: 8, Object: "x", Result: core.Result{State: core.Begun, Lease: 1}})
		pass(50 * time.Millisecond)
		if n := cancels(); n != 0 {
			t.Fatalf("%d cancels, and nothing was granted", n)
		}
		c.Replied("b", core.Reply{To: "me", Num: 7, Object: "x", Result: core.Result{State: core.Begun, Lease: 2, Sender: "s"}})
		pass(50 * time.Millisecond)
		if cancels() == 0 {
			t.Fatal("a lease for a request that was given up is kept")
		}
	})
}

// The late copy of a Locate that was answered without a lease keeps no place in a queue.
func TestWhatIsGrantedToWhatWasAnsweredIsGivenBack(t *testing.T) {
	bubble(t, func(c *directory.Client, w *wire) {
		c.Learn(owned(1, "a"))
		answers := 0
		c.Request("x", 7, core.Locate{Wait: true}, func(phalanx.NodeID, core.Result) { answers++ })
		c.Replied("a", core.Reply{To: "me", Num: 7, Object: "x", Result: core.Result{State: core.Deleted, Kind: phalanx.ErrDeleted}})
		c.Replied("a", core.Reply{To: "me", Num: 7, Object: "x", Result: core.Result{Waiting: true}})
		pass(50 * time.Millisecond)
		if answers != 1 || !slices.ContainsFunc(w.all(), func(s sent) bool {
			r, ok := s.v.(core.Request)
			return ok && r.Body == (core.Cancel{Num: 7})
		}) {
			t.Fatalf("answered %d times, and asked %v", answers, w.all())
		}
	})
}

// The watches of a reduce that ends are not requests that were given up.
func TestWatchesThatEndAreNotGivenUp(t *testing.T) {
	const num = 1 << 30 // the client numbers its own requests from 1
	bubble(t, func(c *directory.Client, w *wire) {
		c.Learn(owned(1, "a"))
		c.Request("x", num, core.Locate{Wait: true}, func(phalanx.NodeID, core.Result) {})
		for i := range uint64(2000) {
			c.Watch("x", num+1+i, func(core.Readiness) {})
		}
		c.Forget(num)
		for i := range uint64(2000) {
			c.Forget(num + 1 + i)
			c.Forget(0)
		}
		c.Learn(owned(2, "b"))
		c.Replied("b", core.Reply{To: "me", Num: num, Object: "x", Result: core.Result{State: core.Begun, Waiting: true}})
		pass(time.Second)
		for _, s := range w.all() {
			if r, ok := s.v.(core.Request); ok && r.Body == (core.Cancel{Num: num}) {
				return
			}
		}
		t.Error("a place in a queue is kept for a request that was given up")
	})
}

// An answer to an earlier life of this node, whose numbers were the same, is not believed.
func TestAnAnswerToAnEarlierLife(t *testing.T) {
	bubble(t, func(c *directory.Client, _ *wire) {
		c.Learn(owned(1, "a"))
		answers := 0
		c.Request("x", 7, core.Locate{}, func(phalanx.NodeID, core.Result) { answers++ })
		c.Replied("a", core.Reply{To: "me-before", Num: 7, Object: "x", Result: core.Result{State: core.Begun}})
		if answers != 0 {
			t.Error("it is believed")
		}
		c.Replied("a", core.Reply{To: "me", Num: 7, Object: "x", Result: core.Result{State: core.Begun}})
		if answers != 1 {
			t.Errorf("the request is answered %d times", answers)
		}
	})
}
