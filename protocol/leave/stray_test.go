package leave

import (
	"testing"
	"time"
)

// Where the last member that stayed is removed since it hangs, the node waits until it joins again.
func TestTheLastMemberThatStaysHangs(t *testing.T) {
	for name, c := range map[string]struct {
		deadline time.Duration
		lost     Lost
		view     func(v *Viewed)
		want     time.Duration // after which it has left
	}{
		"it was removed":                  {time.Minute, Lost{}, func(v *Viewed) { v.Others, v.Stay, v.Left = 0, 0, v.Number }, strayFor},
		"another one leaves as well":      {time.Minute, Lost{}, func(v *Viewed) { v.Others, v.Stay, v.Member = 1, 0, false }, 0},
		"less time is left":               {time.Second, Lost{}, func(v *Viewed) { v.Others, v.Stay, v.Left = 0, 0, v.Number }, time.Second},
		"its process is known to be gone": {time.Minute, Lost{Gone: 1}, func(v *Viewed) { v.Others, v.Stay, v.Left = 0, 0, v.Number }, 0},
		"it leaves, and is then removed":  {time.Minute, Lost{}, func(v *Viewed) { v.Stay = 0 }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			h := begin(t, c.deadline, 1)
			h.learn(func(v *Viewed) { v.Marked, v.Shards, v.Stay, v.Others = true, 0, 1, 1 })
			h.step(c.lost)
			h.learn(c.view)
			if c.want < 0 {
				h.learn(func(v *Viewed) { v.Others = 0 })
				c.want = 0
			}
			if at, ok := h.core.Due(); h.ended == nil && (!ok || at > h.now+c.want) {
				t.Errorf("it looks again at %v, %v", at, ok)
			}
			for h.ended == nil && h.now < c.deadline {
				h.tick(100 * time.Millisecond)
			}
			if h.ended != (Left{Alone: true}) || h.now != c.want {
				t.Errorf("after %v: %#v, want it to have left after %v", h.now, h.ended, c.want)
			}
		})
	}
}

// A member that joins again takes what is handed over.
func TestTheLastMemberThatStaysJoinsAgain(t *testing.T) {
	h := begin(t, time.Minute, 1)
	h.learn(func(v *Viewed) { v.Marked, v.Shards, v.Stay, v.Others = true, 0, 1, 1 })
	h.learn(func(v *Viewed) { v.Others, v.Stay, v.Left = 0, 0, v.Number })
	h.tick(strayFor - time.Millisecond)
	h.learn(func(v *Viewed) { v.Others, v.Stay = 1, 1 })
	h.tick(strayFor)
	if h.ended != nil {
		t.Fatalf("it has ended: %#v", h.ended)
	}
}

// A node that has begun its cluster anew is alone in it at first. It awaits the others, and hands over to them.
func TestOthersEnterTheClusterThatWasBegunAnew(t *testing.T) {
	for _, enter := range []bool{false, true} {
		h := &here{t: t, core: New(Config{Deadline: time.Minute, Awaits: AwaitFor, AtOnce: 2}), view: Viewed{Number: 1, Member: true}}
		h.step(h.view)
		h.step(Start{})
		h.learn(func(v *Viewed) { v.Marked = true })
		if at, ok := h.core.Due(); !ok || at > AwaitFor {
			t.Errorf("it looks again at %v, %v", at, ok)
		}
		h.tick(AwaitFor - time.Millisecond)
		if h.ended != nil {
			t.Fatalf("it has ended: %#v", h.ended)
		}
		if enter {
			h.learn(func(v *Viewed) { v.Others, v.Stay, v.Shards = 1, 1, 1 })
		}
		h.tick(time.Millisecond)
		if alone := h.ended == (Left{Alone: true}); alone == enter || enter && h.ended != nil {
			t.Errorf("the others enter (%v): it has ended: %#v", enter, h.ended)
		}
	}
}
