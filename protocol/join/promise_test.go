package join

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A node promises nothing before it has heard of every seed, if only that one does not answer; and
// then it keeps its promise, whoever else could have it.
func TestAPromise(t *testing.T) {
	c := New(Config{Self: "c#1", Seeds: []string{"a", "b", "c"}})
	asked := map[string]uint64{}
	step := func(now time.Duration, ev Event) {
		for _, e := range c.Step(now, ev) {
			if a, ok := e.(Ask); ok {
				asked[a.Seed] = a.Num
			}
		}
	}
	answers := func(now time.Duration, seed string, from phalanx.NodeID) {
		step(now, Answered{Seed: seed, Num: asked[seed], Answer: Answer{From: from}})
	}
	step(0, Start{})
	answers(0, "b", "b#1")
	answers(0, "c", "c#1")
	step(1900*time.Millisecond, Asked{By: Answer{From: "b#1"}, At: "b"})
	if c.promise != "" {
		t.Errorf("before it has heard of a it promises %s", c.promise)
	}
	step(2*time.Second, Answered{Seed: "a", Num: asked["a"], Err: errSilent})
	answers(2*time.Second, "b", "b#1")
	answers(2*time.Second, "c", "c#1")
	if c.promise != "b#1" {
		t.Fatalf("it promises %q", c.promise)
	}
	step(3*time.Second, Asked{By: Answer{From: "a#1"}, At: "a"})
	answers(3*time.Second, "a", "a#1")
	if best := c.best(); best != "a#1" || c.promise != "b#1" {
		t.Errorf("it promises %s as well, the best is %s", c.promise, best)
	}
}
