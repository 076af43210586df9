package directory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/directory"
	core "github.com/phalanx-go/phalanx/protocol/directory"
)

const patience = 15 * time.Minute // more than a request that binds has

var gen = phalanx.Generation{Epoch: 1, Seq: 1}

// What waits at its owner goes on for as long as that says so, and then as long
// as what was never asked before.
func TestARequestThatWaitsGoesOn(t *testing.T) {
	for _, body := range []core.Body{core.Locate{Wait: true}, core.AwaitCopies{Gen: gen, Copies: 2}, core.Begin{}, core.PutInline{}} {
		t.Run(fmt.Sprintf("%T", body), func(t *testing.T) {
			bubble(t, func(c *directory.Client, w *wire) {
				c.Learn(owned(1, "a"))
				var last core.Result
				c.Request("x", 7, body, func(_ phalanx.NodeID, r core.Result) { last = r })
				for at := time.Duration(0); at < patience; at += time.Second {
					c.Replied("a", core.Reply{To: "me", Num: 7, Object: "x", Result: core.Result{Waiting: true}})
					pass(time.Second)
				}
				_, at := w.requests(7)
				if end := time.Since(w.start) - at[len(at)-1]; end > 2*time.Second {
					t.Errorf("it was repeated last %v ago", end)
				}
				c.Replied("a", core.Reply{To: "me", Num: 7, Object: "x", Result: core.Result{Gen: gen}})
				if last.Gen != gen {
					t.Errorf("after %v it is answered with %+v", patience, last)
				}
			})
		})
	}
}

// What somebody waits for is asked for until the owner speaks again, if it does no
// harm to do so late.
func TestARequestOutlastsASilentOwner(t *testing.T) {
	for _, body := range []core.Body{core.Locate{Wait: true}, core.Evict{Gen: gen}, core.Final{Gen: gen}, core.PutInline{Gen: gen}, core.Stat{}} {
		t.Run(fmt.Sprintf("%T", body), func(t *testing.T) {
			bubble(t, func(c *directory.Client, w *wire) {
				c.Learn(owned(1, "a"))
				var answers []core.Result
				c.Request("x", 7, body, func(_ phalanx.NodeID, r core.Result) { answers = append(answers, r) })
				pass(patience)
				c.Replied("a", core.Reply{To: "me", Num: 7, Object: "x", Result: core.Result{Gen: gen}})
				if len(answers) != 1 || answers[0].Gen != gen {
					t.Errorf("answered with %+v", answers)
				}
			})
		})
	}
}

// What would bind anew is given up in time, and whoever waits for it is told. What
// it may have bound already is released.
func TestWhatBindsIsGivenUp(t *testing.T) {
	for _, body := range []core.Body{core.Begin{}, core.PutInline{}, core.Delete{}} {
		t.Run(fmt.Sprintf("%T", body), func(t *testing.T) {
			bubble(t, func(c *directory.Client, w *wire) {
				c.Learn(owned(1, "a"))
				answers := make(chan core.Result, 10)
				c.Request("x", 7, body, func(owner phalanx.NodeID, r core.Result) {
					if owner != "a" {
						t.Errorf("%q has not answered", owner)
					}
					answers <- r
				})
				pass(patience)
				if len(answers) != 1 {
					t.Fatalf("delivered %d times", len(answers))
				}
				if r := <-answers; r.Kind != phalanx.ErrUnavailable || r.Text == "" {
					t.Errorf("it ended with %+v", r)
				}
				if _, at := w.requests(7); at[len(at)-1] > 11*time.Minute {
					t.Errorf("it was repeated after %v", at[len(at)-1])
				}
				released := false
				for _, s := range w.all() {
					r, _ := s.v.(core.Request)
					b, ok := r.Body.(core.Cancel)
					released = released || ok && b.Num == 7
				}
				if _, deletes := body.(core.Delete); released == deletes {
					t.Errorf("released: %v", released)
				}
			})
		})
	}
}
